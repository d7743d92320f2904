/**
 * PushStream is a stream whose source calls its consumer for each item. However many stages a stream has, an item passes them all
 * in plain calls, and only the source waits.
 *
 * A consumer may return a promise, and gets no further item before it resolves: this is the back-pressure. A consumer that throws
 * gets no more items, and the stages before it fail with `stopPulling`. A PushStream is an async iterable too, and `forEach` takes
 * any async iterable.
 *
 * Each stage waits for the end of the stream by a plain promise. An async function would keep its frame for as long, and with
 * thousands of streams those frames would be most of their memory.
 */

/** Take consumes an item. It throws to take no more. */
export type Take<T> = (item: T) => Promise<void> | undefined;

/** Run is the source: it calls `take` for each item. It rejects with its own error, or with what `take` threw. */
type Run<T> = (take: Take<T>) => Promise<void>;

/** stopPulling is the error that a consumer throws to stop a stream, and that the stages before it fail with. */
export const stopPulling = new Error("the consumer takes no more items");

class PushStream<T> implements AsyncIterable<T> {
  readonly run: Run<T>;

  constructor(run: Run<T>) {
    this.run = run;
  }

  [Symbol.asyncIterator](): AsyncGenerator<T, void> {
    return iterated(this.run);
  }
}

/** pushStream returns a stream. Each iteration of it calls `run` once more. */
export function pushStream<T>(run: Run<T>): AsyncIterable<T> {
  return new PushStream(run);
}

/** forEach calls `take` for each item. Resolves at the end of the stream; rejects with its error, or with what `take` threw. */
export function forEach<T>(items: AsyncIterable<T>, take: Take<T>): Promise<void> {
  let left: { readonly error: unknown } | undefined;
  const leave = (error: unknown): never => {
    left ??= { error };
    throw stopPulling;
  };
  const takeNext = (item: T) => {
    try {
      return take(item)?.catch(leave);
    } catch (error) {
      return leave(error);
    }
  };
  const running = items instanceof PushStream ? (items.run as Run<T>)(takeNext) : iterate(items, takeNext);
  // A source that was stopped may still end without an error.
  return running.then(
    () => {
      if (left) throw left.error;
    },
    (error: unknown) => {
      throw left ? left.error : error;
    },
  );
}

/** onEnd passes items on, and calls `ended` once: with the stream's error, or with nothing where it ended or was stopped. */
export function onEnd<T>(
  items: AsyncIterable<T>,
  ended: (failure?: unknown) => void,
  passing?: (item: T) => void,
): AsyncIterable<T> {
  return pushStream((take) => {
    const passed = (item: T) => {
      passing?.(item);
      return take(item);
    };
    return forEach(items, passing ? passed : take).then(
      () => ended(),
      (error: unknown) => {
        ended(error === stopPulling ? undefined : error);
        throw error;
      },
    );
  });
}

/** onlyOnce returns a function that does its work the first time only: that a stream is over may be noticed in several places. */
export function onlyOnce(work: () => void): () => void {
  let isDone = false;
  return () => {
    if (isDone) return;
    isDone = true;
    work();
  };
}

/** failAfter rejects with `error` once the last item is taken. */
export async function failAfter(taken: Promise<void> | undefined, error: unknown): Promise<never> {
  await taken;
  throw error;
}

async function iterate<T>(items: AsyncIterable<T>, take: Take<T>): Promise<void> {
  for await (const item of items) {
    const taken = take(item);
    if (taken) await taken;
  }
}

/** iterated makes an async generator of a source: the source waits until each item has been asked for. */
async function* iterated<T>(run: Run<T>): AsyncGenerator<T, void> {
  let next: { readonly item: T } | undefined;
  let isOver = false;
  let wake = () => {};
  let goOn = () => {};
  let leave: (why: Error) => void = () => {};
  const running = run((item) => {
    next = { item };
    wake();
    return new Promise((resolve, reject) => {
      goOn = resolve;
      leave = reject;
    });
  }).finally(() => {
    isOver = true;
    wake();
  });
  running.catch(() => {}); // Its error is thrown below.
  try {
    for (;;) {
      if (next) {
        const { item } = next;
        next = undefined;
        yield item;
        goOn();
      } else if (isOver) break;
      else {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    }
  } finally {
    leave(stopPulling);
    await running.catch((error: unknown) => {
      if (error !== stopPulling) throw error;
    });
  }
}
