/**
 * Cooperative tasks: long synchronous work that is done in time slices, so that it does not block the event loop. A task may be
 * interrupted wherever it `yield`s, and yields after at most a millisecond of work.
 *
 * All tasks of a process wait in one queue. Between two slices the event loop goes round once, however many tasks wait.
 */
import { Deferred, type MaybePromise } from "./maybe-promise.ts";

export type CooperativeTask<T> = Generator<undefined, T, undefined>;

/** runNow runs a task to its end, without interruption. */
export function runNow<T>(work: CooperativeTask<T>): T {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
  }
}

/** runUntil does a task's work as long as it is wanted. It looks whether it is at each `yield`. */
export function* runUntil(work: CooperativeTask<void>, isOver: () => boolean): CooperativeTask<void> {
  while (!isOver() && !work.next().done) yield;
}

/** runCooperatively runs a task in slices where it may be long, and otherwise to its end at once. Throws at once in that case. */
export function runCooperatively<T>(work: CooperativeTask<T>, mayBeLong: boolean): MaybePromise<T> {
  return mayBeLong ? runInSlices(work) : runNow(work);
}

/** itemsPerSlice is how many items, each a message or a part of one, a task may process between two `yield`s. */
export const itemsPerSlice = 64;

/** endsSlice reports whether a task has to yield at this place of a list, counted from 0. */
export function endsSlice(place: number): boolean {
  return place % itemsPerSlice === itemsPerSlice - 1;
}

interface Queued {
  /** Works until this moment, by `performance.now()`. Returns whether there is more to do. */
  run(until: number): boolean;
}

/** The length of a slice, in milliseconds. */
const sliceMs = 2;

const queue: Queued[] = [];
let isScheduled = false;

/**
 * runInSlices runs a task in slices. It begins at once if nothing is queued and this round of the event loop has time left: all tasks that
 * begin so in one round take one slice together.
 */
export function runInSlices<T>(work: CooperativeTask<T>): Deferred<T> {
  const done = new Deferred<T>();
  const run = (until: number): boolean => {
    let step: IteratorResult<undefined, T>;
    try {
      do step = work.next();
      while (!step.done && performance.now() < until);
    } catch (error) {
      done.reject(error);
      return false;
    }
    if (step.done) done.resolve(step.value);
    return !step.done;
  };
  if (queue.length > 0 || runAtOnce(run)) enqueue({ run });
  return done;
}

function enqueue(queued: Queued): void {
  queue.push(queued);
  if (isScheduled) return;
  isScheduled = true;
  setImmediate(runNext);
}

/** spentMs is how many milliseconds of this round tasks have taken that began at once. */
let spentMs = 0;
let isRoundEndAwaited = false;

/** runAtOnce runs as much of a task as this round has time for. Returns whether there is more to do. */
function runAtOnce(run: Queued["run"]): boolean {
  if (spentMs >= sliceMs) return true;
  awaitRoundEnd();
  const begunAt = performance.now();
  const isMore = run(begunAt + sliceMs - spentMs);
  spentMs += performance.now() - begunAt;
  return isMore;
}

/** tryTakeSlice takes the whole slice of this round for work that its caller does at once. Returns whether the slice was free. */
export function tryTakeSlice(): boolean {
  if (queue.length > 0 || spentMs >= sliceMs) return false;
  awaitRoundEnd();
  spentMs = sliceMs;
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

/** nextSlice resolves when the caller's turn in the queue comes, in a later round. The caller may then work for about a slice. */
export function nextSlice(): Deferred<void> {
  const slice = new Deferred<void>();
  enqueue({
    run: () => {
      slice.resolve();
      return false;
    },
  });
  return slice;
}

function runNext(): void {
  const first = queue.shift();
  try {
    if (first?.run(performance.now() + sliceMs)) queue.push(first);
  } finally {
    if (queue.length > 0) setImmediate(runNext);
    else isScheduled = false;
  }
}
