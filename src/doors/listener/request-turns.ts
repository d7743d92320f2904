/**
 * Spreads requests over turns of the event loop. One read of a connection may bring hundreds, and each is work before anything
 * else runs. Only as many begin in a turn as take some milliseconds. The others wait for later turns, and one that its client has
 * cancelled by then never begins.
 */

export interface RequestTurns {
  /** Begins a request in this turn or a later one, unless it is over by then. */
  begin(begin: () => void, isOver: () => boolean): void;
  /**
   * Reports that a connection was accepted in this turn. Node accepts one connection a turn, however many wait. So turns are kept
   * short while connections come: else a thousand that come at once would wait for many seconds, each for a turn full of the
   * requests of those before.
   */
  accepted(): void;
}

/** The most requests that begin in one turn, and in one in which connections come. */
const maxPerTurn = 32;
const maxWhileAccepting = 2;

export function createRequestTurns(): RequestTurns {
  let begun = 0;
  let waiting: { readonly begin: () => void; readonly isOver: () => boolean }[] = [];
  let isTurning = false;
  /**
   * shortTurns is how many turns are still short: that in which a connection came, and the next, whose requests may begin before its
   * connection.
   */
  let shortTurns = 0;
  const maxNow = () => (shortTurns > 0 ? maxWhileAccepting : maxPerTurn);

  function turn(): void {
    begun = 0;
    isTurning = false;
    const max = maxNow();
    if (shortTurns > 0) shortTurns--;
    let at = 0;
    for (; at < waiting.length && begun < max; at++) {
      const { begin, isOver } = waiting[at] as (typeof waiting)[number];
      if (isOver()) continue;
      begun++;
      begin();
    }
    waiting = waiting.slice(at);
    if (begun > 0 || waiting.length > 0 || shortTurns > 0) endTurn();
  }

  function endTurn(): void {
    if (isTurning) return;
    isTurning = true;
    setImmediate(turn);
  }

  return {
    begin(begin, isOver) {
      if (begun < maxNow() && waiting.length === 0) {
        begun++;
        endTurn();
        begin();
      } else waiting.push({ begin, isOver });
    },
    accepted() {
      shortTurns = 2;
      endTurn();
    },
  };
}
