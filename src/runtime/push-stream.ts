/**
 * What comes bit by bit and goes through many hands: a flow hands each item over by a plain call, so that only its source
 * waits for anything, however many hands there are.
 *
 * Who takes an item may return a promise, and no other comes before that resolves: this is the back-pressure. Who throws
 * takes no more, and those before it hear only that they were left. A flow is an iterable for whoever would rather ask, and
 * `each` takes any iterable.
 *
 * For its end each hand waits from the beginning, in thousands of streams at once: by a plain promise, and not in an async
 * function, whose frame would be most of a stream's memory.
 */

/** Takes an item. Throws to take no more. */
export type Take<T> = (item: T) => Promise<void> | undefined;

/** Hands over items until there are no more. Rejects with what it fails by, or with `noMore`. */
type Run<T> = (take: Take<T>) => Promise<void>;

/** What whoever takes items throws that wants no more, and what the hands before it are told. */
export const stopPulling = new Error("nobody takes more");

class PushStream<T> implements AsyncIterable<T> {
  readonly run: Run<T>;

  constructor(run: Run<T>) {
    this.run = run;
  }

  [Symbol.asyncIterator](): AsyncGenerator<T, void> {
    return iterated(this.run);
  }
}

/** Each iteration of what is returned runs it once more. */
export function pushStream<T>(run: Run<T>): AsyncIterable<T> {
  return new PushStream(run);
}

/** Takes one item after another. Resolves when there are no more; rejects with what failed, or with what `take` threw. */
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
  // A source may end well though it was left.
  return running.then(
    () => {
      if (left) throw left.error;
    },
    (error: unknown) => {
      throw left ? left.error : error;
    },
  );
}

/** Hands items on, and tells once how that ended: with nothing where nobody took more. */
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

/** Fails when what was handed over has been taken. */
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

/** Yields what is handed over, when it is asked for. */
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
  running.catch(() => {}); // It is told below.
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
