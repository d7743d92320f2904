/**
 * Spreads work over turns of the event loop: requests, and the beginnings and ends of HTTP/2 sessions. One read of a connection may bring
 * hundreds of requests, and hundreds of connections may come or end together; each is work before anything else runs. Only as many begin in
 * a turn as take some milliseconds. The others wait for later turns, and one that its client has given up by then never begins.
 *
 * Networks and connections are served in rotation: one that brings hundreds does not hold up another, which brings one.
 */
import { createRotation, type Origin } from "./rotation.ts";

/** Work is what begins in a turn. */
export interface Work {
  readonly begin: () => void;
  /** Reports that it need not begin any more. */
  readonly isOver: () => boolean;
  /** weight is how many others it counts for; default 1. */
  readonly weight?: number;
  readonly origin: Origin;
}

export interface Turns {
  /** Begins a piece of work in this turn or a later one, unless it is over by then. */
  begin(work: Work): void;
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
  /**
   * patienceMs is for how long connections that come go before all else, in milliseconds: until then a network begins no more than one, and
   * the next one as long after that.
   */
  readonly patienceMs: number;
}

/** requestTurns are the bounds of requests. */
export const requestTurns: TurnBounds = { most: 32, whileAccepting: 2, patienceMs: 0 };
/** otherWeight is what a request counts for that calls no model: pages are long, sign-ins take a database, and they need no key. */
export const otherWeight = 5;
/**
 * sessionTurns are the bounds of sessions. One takes Node as long as some requests. All connections of a network that come together are
 * accepted before more than one of its sessions begins, so that the last of them, which may be of HTTP/1.1, does not wait for the
 * sessions of the others.
 */
export const sessionTurns: TurnBounds = { most: 6, whileAccepting: 1, patienceMs: 250 };
/** sessionEndTurns are the bounds of sessions that end. One whose streams are open takes longer than a session that begins, and none waits for it. */
export const sessionEndTurns: TurnBounds = { most: 6, whileAccepting: 1, patienceMs: 250 };
/** socketCallTurns are the bounds of calls over WebSockets, which cost more than plain requests, and those of each connection come one by one. */
export const socketCallTurns: TurnBounds = { most: 6, whileAccepting: 1, patienceMs: 0 };

export function createTurns(bounds: TurnBounds): Turns {
  const line = createLine(bounds);
  /** begun is the weight of what began in this turn, and of what earlier ones began beyond their bounds. */
  let begun = 0;
  /** bound is how much this turn may begin. */
  let bound = bounds.most;
  let isTurning = false;
  const short = createShortTurns(bounds.patienceMs);

  const boundNow = () => (short.isNow() ? bounds.whileAccepting : bounds.most);

  function turn(): void {
    begun = Math.max(0, begun - bound);
    isTurning = false;
    bound = boundNow();
    try {
      while (begun < bound) {
        const work = line.take(short.isPatient());
        if (!work) break;
        if (!work.isOver()) beginNow(work);
      }
    } finally {
      short.endTurn();
      if (begun > 0 || !line.isEmpty() || short.isNow()) endTurn();
    }
  }

  function beginNow({ begin, weight = 1 }: Work): void {
    begun += weight;
    begin();
  }

  function endTurn(): void {
    if (isTurning) return;
    isTurning = true;
    setImmediate(turn);
  }

  return {
    begin(work) {
      const mayBegin = line.isEmpty() && begun < boundNow();
      line.add(work);
      const next = mayBegin ? line.take(short.isPatient()) : undefined;
      endTurn();
      if (next) beginNow(next);
    },
    accepted() {
      short.accepted();
      endTurn();
    },
  };
}

/** createShortTurns tells whether turns are short: that in which a connection came, and the next, whose work may begin before its connection. */
function createShortTurns(patienceMs: number) {
  /** left is how many turns are still short. */
  let left = 0;
  /** since is since when turns have been short, by `performance.now()`. */
  let since = 0;
  return {
    accepted(): void {
      if (left === 0) since = performance.now();
      left = 2;
    },
    endTurn(): void {
      if (left > 0) left--;
    },
    isNow: () => left > 0,
    /** Reports whether connections go before all else. */
    isPatient: () => left > 0 && performance.now() - since < patienceMs,
  };
}

/** createLine keeps what waits. While turns are patient, only that may be taken whose network has begun nothing lately. */
function createLine({ patienceMs }: TurnBounds) {
  const waiting = createRotation<Work>();
  const begunBy = createBegunLately(patienceMs);
  const always = () => true;
  const isFirst = (network: string) => !begunBy.has(network);
  return {
    isEmpty: waiting.isEmpty,
    add: (work: Work) => waiting.add(work.origin, work),
    take(isPatient: boolean): Work | undefined {
      const next = waiting.take(isPatient ? isFirst : always);
      if (next && isPatient) begunBy.add(next.origin.network);
      return next;
    },
  };
}

/** createBegunLately remembers which networks have begun something within so many milliseconds. */
function createBegunLately(ms: number) {
  /** When each did so last, by `performance.now()`, the longest ago first. */
  const begunAt = new Map<string, number>();
  return {
    add(network: string): void {
      if (ms === 0) return;
      const now = performance.now();
      begunAt.delete(network);
      begunAt.set(network, now);
      for (const [other, at] of begunAt) {
        if (now - at < ms) break;
        begunAt.delete(other);
      }
    },
    has: (network: string) => performance.now() - (begunAt.get(network) ?? Number.NEGATIVE_INFINITY) < ms,
  };
}
