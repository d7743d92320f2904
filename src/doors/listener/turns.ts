/**
 * Spreads work over turns of the event loop: requests, and the beginnings and ends of HTTP/2 sessions. One read of a connection may bring
 * hundreds of requests, and hundreds of connections may come or end together; each is work before anything else runs. Only as many begin in
 * a turn as take some milliseconds. The others wait for later turns, and one that its client has given up by then never begins.
 */

export interface Turns {
  /** Begins a piece of work in this turn or a later one, unless it is over by then. */
  begin(begin: () => void, isOver: () => boolean): void;
  /**
   * Reports that a connection was accepted in this turn. Node accepts one connection a turn, however many wait. So turns are kept
   * short while connections come: else a thousand that come at once would wait for many seconds, each for a turn full of the
   * work of those before.
   */
  accepted(): void;
}

/** TurnBounds is how much begins in a turn. */
export interface TurnBounds {
  /** The most that begin in a turn. */
  readonly most: number;
  /** The most that begin in a turn in which connections come. */
  readonly whileAccepting: number;
  /** patienceMs is how long the first that waits lets connections go before it, in milliseconds: until then none begins while they come. */
  readonly patienceMs: number;
}

/** requestTurns are the bounds of requests. */
export const requestTurns: TurnBounds = { most: 32, whileAccepting: 2, patienceMs: 0 };
/**
 * sessionTurns are the bounds of sessions. One takes Node as long as some requests. All connections that come together are accepted before
 * any session begins, so that the last of them, which may be of HTTP/1.1, does not wait for the sessions of the others.
 */
export const sessionTurns: TurnBounds = { most: 6, whileAccepting: 1, patienceMs: 250 };
/** sessionEndTurns are the bounds of sessions that end. One whose streams are open takes as long as a session that begins. */
export const sessionEndTurns: TurnBounds = { most: 6, whileAccepting: 1, patienceMs: 0 };

interface Waiting {
  readonly begin: () => void;
  readonly isOver: () => boolean;
  /** since is when it came, by `performance.now()`. */
  readonly since: number;
}

export function createTurns({ most, whileAccepting, patienceMs }: TurnBounds): Turns {
  let begun = 0;
  let waiting: Waiting[] = [];
  let isTurning = false;
  /**
   * shortTurns is how many turns are still short: that in which a connection came, and the next, whose work may begin before its
   * connection.
   */
  let shortTurns = 0;

  function maxNow(): number {
    if (shortTurns === 0) return most;
    if (patienceMs === 0) return whileAccepting;
    const [first] = waiting;
    return first && performance.now() - first.since >= patienceMs ? whileAccepting : 0;
  }

  function turn(): void {
    begun = 0;
    isTurning = false;
    const max = maxNow();
    if (shortTurns > 0) shortTurns--;
    let at = 0;
    try {
      while (at < waiting.length && begun < max) {
        const { begin, isOver } = waiting[at++] as Waiting;
        if (isOver()) continue;
        begun++;
        begin();
      }
    } finally {
      waiting = waiting.slice(at);
      if (begun > 0 || waiting.length > 0 || shortTurns > 0) endTurn();
    }
  }

  function endTurn(): void {
    if (isTurning) return;
    isTurning = true;
    setImmediate(turn);
  }

  return {
    begin(begin, isOver) {
      if (waiting.length === 0 && begun < maxNow()) {
        begun++;
        endTurn();
        begin();
      } else waiting.push({ begin, isOver, since: performance.now() });
    },
    accepted() {
      shortTurns = 2;
      endTurn();
    },
  };
}
