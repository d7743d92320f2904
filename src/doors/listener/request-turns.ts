/**
 * Spreads requests over turns of the event loop: one read of a connection may bring hundreds, and each is work before the next
 * can be looked at. So many begin at once as take some milliseconds; the others begin in the turns that follow, and one whose
 * client has taken it back meanwhile never does.
 */

/** Begins a request, now or in a later turn, unless it is over by then. */
export type BeginRequest = (begin: () => void, isOver: () => boolean) => void;

/** How many begin in one turn. */
const mostPerTurn = 32;

export function createRequestTurns(): BeginRequest {
  let begun = 0;
  let waiting: { readonly begin: () => void; readonly isOver: () => boolean }[] = [];
  let isTurning = false;

  function turn(): void {
    begun = 0;
    isTurning = false;
    let at = 0;
    for (; at < waiting.length && begun < mostPerTurn; at++) {
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
    if (begun < mostPerTurn && waiting.length === 0) {
      begun++;
      endTurn();
      begin();
    } else waiting.push({ begin, isOver });
  };
}
