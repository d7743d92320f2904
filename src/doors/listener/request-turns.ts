/**
 * Spreads requests over turns of the event loop. One read of a connection may bring hundreds, and each is work before anything
 * else runs. Only as many begin in a turn as take some milliseconds. The others wait for later turns, and one that its client has
 * cancelled by then never begins.
 */

/** BeginRequest calls `begin` in this turn or a later one, unless the request is over by then. */
export type BeginRequest = (begin: () => void, isOver: () => boolean) => void;

/** The most requests that begin in one turn. */
const maxPerTurn = 32;

export function createRequestTurns(): BeginRequest {
  let begun = 0;
  let waiting: { readonly begin: () => void; readonly isOver: () => boolean }[] = [];
  let isTurning = false;

  function turn(): void {
    begun = 0;
    isTurning = false;
    let at = 0;
    for (; at < waiting.length && begun < maxPerTurn; at++) {
      const { begin, isOver } = waiting[at] as (typeof waiting)[number];
      if (isOver()) continue;
      begun++;
      begin();
    }
    waiting = waiting.slice(at);
    if (begun > 0 || waiting.length > 0) endTurn();
  }

  function endTurn(): void {
    if (isTurning) return;
    isTurning = true;
    setImmediate(turn);
  }

  return (begin, isOver) => {
    if (begun < maxPerTurn && waiting.length === 0) {
      begun++;
      endTurn();
      begin();
    } else waiting.push({ begin, isOver });
  };
}
