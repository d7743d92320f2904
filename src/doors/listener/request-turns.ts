/**
 * Spreads requests over turns of the event loop: one read of a connection may bring hundreds, and each is work before the next
 * can be looked at. So many begin at once as take some milliseconds; the others begin in the turns that follow, and one whose
 * client has taken it back meanwhile never does.
 */

/** How requests begin, and what has fewer of them begin in a turn. */
export interface RequestTurns {
  /** Begins a request in this turn or a later one, unless it is over by then. */
  begin(begin: () => void, isOver: () => boolean): void;
  /**
   * Reports that a connection was accepted in this turn. Node accepts one a turn, however many wait: while some come, turns are
   * kept short. A thousand that come at once, to a process that is busy with those before, would else wait for many seconds.
   */
  accepted(): void;
}

/** How many begin in one turn, and while connections come. */
const mostPerTurn = 32;
const mostWhileAccepting = 2;

export function createRequestTurns(): RequestTurns {
  let begun = 0;
  let waiting: { readonly begin: () => void; readonly isOver: () => boolean }[] = [];
  let isTurning = false;
  /** How many more turns are short: the one in which a connection came, and the next, whose begin may be before the next comes. */
  let shortTurns = 0;

  const most = () => (shortTurns > 0 ? mostWhileAccepting : mostPerTurn);

  function turn(): void {
    begun = 0;
    isTurning = false;
    const limit = most();
    if (shortTurns > 0) shortTurns--;
    let at = 0;
    for (; at < waiting.length && begun < limit; at++) {
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
      if (begun < most() && waiting.length === 0) {
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
