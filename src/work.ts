/**
 * Work that can be done in turns, so that a long piece of it stops nobody: where it `yield`s it may be interrupted, which is to
 * be after a millisecond of work at most.
 *
 * All such work in a process waits in one line. Between two turns the event loop goes round once, however many wait.
 */
import { Later, type Soon } from "./soon.ts";

export type Work<T> = Generator<undefined, T, undefined>;

/** Does all of it at once. */
export function doNow<T>(work: Work<T>): T {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
  }
}

/** Does it in turns where it may be long, else at once. Throws now what fails at once. */
export function doSoon<T>(work: Work<T>, mayBeLong: boolean): Soon<T> {
  return mayBeLong ? doInTurns(work) : doNow(work);
}

/** How many items, each a message or a part of one, may be worked on between two interruptions. */
export const aTurn = 64;

interface Waiting {
  /** Does a turn. Returns whether there is more to do. */
  go(): boolean;
}

/** How long a turn is, in milliseconds. */
const turnMs = 2;

const line: Waiting[] = [];
let isGoing = false;

/** Does it in turns, beginning with the next round of the event loop. */
export function doInTurns<T>(work: Work<T>): Later<T> {
  const done = new Later<T>();
  const go = (): boolean => {
    const until = performance.now() + turnMs;
    let turn: IteratorResult<undefined, T>;
    try {
      do turn = work.next();
      while (!turn.done && performance.now() < until);
    } catch (error) {
      done.fail(error);
      return false;
    }
    if (turn.done) done.come(turn.value);
    return !turn.done;
  };
  line.push({ go });
  if (!isGoing) {
    isGoing = true;
    setImmediate(goOn);
  }
  return done;
}

const once: Work<undefined> = {
  next: () => ({ done: true, value: undefined }),
} as Work<undefined>;

/** Is there when it is its turn: for work that waits in between. It is to do about a turn's work then. */
export function nextTurn(): Later<void> {
  return doInTurns<void>(once);
}

let isTaken = false;

/** Whether a turn's work may be done at once: where nothing waits in line, and once in each round of the event loop. */
export function mayGoFirst(): boolean {
  if (isTaken || line.length > 0) return false;
  isTaken = true;
  setImmediate(() => {
    isTaken = false;
  });
  return true;
}

function goOn(): void {
  const first = line.shift();
  try {
    if (first?.go()) line.push(first);
  } finally {
    if (line.length > 0) setImmediate(goOn);
    else isGoing = false;
  }
}
