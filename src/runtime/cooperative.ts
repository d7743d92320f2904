/**
 * Work that can be done in turns, so that a long piece of it stops nobody: where it `yield`s it may be interrupted, which is to
 * be after a millisecond of work at most.
 *
 * All such work in a process waits in one line. Between two turns the event loop goes round once, however many wait.
 */
import { Deferred, type MaybePromise } from "./maybe-promise.ts";

export type CooperativeTask<T> = Generator<undefined, T, undefined>;

/** Does all of it at once. */
export function runNow<T>(work: CooperativeTask<T>): T {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
  }
}

/** Does it in turns where it may be long, else at once. Throws now what fails at once. */
export function runCooperatively<T>(work: CooperativeTask<T>, mayBeLong: boolean): MaybePromise<T> {
  return mayBeLong ? runInSlices(work) : runNow(work);
}

/** How many items, each a message or a part of one, may be worked on between two interruptions. */
export const itemsPerSlice = 64;

interface Waiting {
  /** Works until this moment, by `performance.now()`. Returns whether there is more to do. */
  go(until: number): boolean;
}

/** How long a turn is, in milliseconds. */
const turnMs = 2;

const line: Waiting[] = [];
let isGoing = false;

/**
 * Does it in turns. It begins at once where nothing waits in line and this round of the event loop has time left for such work: all
 * of what begins so in a round takes a turn at most.
 */
export function runInSlices<T>(work: CooperativeTask<T>): Deferred<T> {
  const done = new Deferred<T>();
  const go = (until: number): boolean => {
    let turn: IteratorResult<undefined, T>;
    try {
      do turn = work.next();
      while (!turn.done && performance.now() < until);
    } catch (error) {
      done.reject(error);
      return false;
    }
    if (turn.done) done.resolve(turn.value);
    return !turn.done;
  };
  if (line.length > 0 || goesAtOnce(go)) stand({ go });
  return done;
}

/** Stands in line. */
function stand(waiting: Waiting): void {
  line.push(waiting);
  if (isGoing) return;
  isGoing = true;
  setImmediate(goOn);
}

/** How long work has been done at once in this round, in milliseconds. */
let spentMs = 0;
let isRoundEndAwaited = false;

/** Does as much as may be done at once. Returns whether there is more to do. */
function goesAtOnce(go: Waiting["go"]): boolean {
  if (spentMs >= turnMs) return true;
  awaitRoundEnd();
  const begunAt = performance.now();
  const isMore = go(begunAt + turnMs - spentMs);
  spentMs += performance.now() - begunAt;
  return isMore;
}

/** Whether a turn's work may be done at once, which whoever asks does: all that this round has time for. */
export function tryTakeSlice(): boolean {
  if (line.length > 0 || spentMs >= turnMs) return false;
  awaitRoundEnd();
  spentMs = turnMs;
  return true;
}

function awaitRoundEnd(): void {
  if (isRoundEndAwaited) return;
  isRoundEndAwaited = true;
  setImmediate(endRound);
}

function endRound(): void {
  spentMs = 0;
  isRoundEndAwaited = false;
}

/** Is there when it is its turn, in a later round: for work that waits in between. It is to do about a turn's work then. */
export function nextSlice(): Deferred<void> {
  const turn = new Deferred<void>();
  stand({
    go: () => {
      turn.resolve();
      return false;
    },
  });
  return turn;
}

function goOn(): void {
  const first = line.shift();
  try {
    if (first?.go(performance.now() + turnMs)) line.push(first);
  } finally {
    if (line.length > 0) setImmediate(goOn);
    else isGoing = false;
  }
}
