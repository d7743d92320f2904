/**
 * Runs several pieces of work as one, a few at a time. The first failure stops the others, and is thrown when all of them have
 * ended, so that nothing runs on after the answer.
 */

/** allOf returns the results in the order of the items. `stop` makes running work fail. */
export async function allOf<T, R>(
  items: readonly T[],
  atOnce: number,
  work: (item: T) => Promise<R>,
  stop: () => void,
): Promise<R[]> {
  const results: R[] = [];
  const waiting = items.entries();
  let failure: { readonly error: unknown } | undefined;
  const workThrough = async () => {
    for (const [i, item] of waiting) {
      try {
        results[i] = await work(item);
      } catch (error) {
        if (!failure) stop();
        failure ??= { error };
      }
      if (failure) return;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, workThrough));
  if (failure) throw failure.error;
  return results;
}

/** A Pull is the outcome of asking a stream for one item. */
type Pull<T> = { readonly stream: AsyncIterator<T> } & (
  | { readonly result: IteratorResult<T> }
  | { readonly error: unknown }
);

/**
 * interleave merges streams: yields their items as they arrive. Each stream is one item ahead at most, so that a slow reader slows all of
 * them, and takes turns with the others. `atOnce` streams are open at a time; the end of one opens the next. `stop` makes the open streams
 * fail, and is called where the merged stream ends before they do.
 */
export async function* interleave<T>(
  streams: Iterable<AsyncIterable<T>>,
  atOnce: number,
  stop: () => void,
): AsyncGenerator<T, void> {
  const open = new Set<AsyncIterator<T>>();
  const pulls: Pull<T>[] = [];
  let wake = () => {};
  const take = (pull: Pull<T>) => {
    pulls.push(pull);
    wake();
  };
  const pullFrom = (stream: AsyncIterator<T>) =>
    void stream.next().then(
      (result) => take({ stream, result }),
      (error: unknown) => take({ stream, error }),
    );
  const waiting = streams[Symbol.iterator]();
  const openNext = () => {
    const next = waiting.next();
    if (next.done) return;
    const stream = next.value[Symbol.asyncIterator]();
    open.add(stream);
    pullFrom(stream);
  };
  for (let i = 0; i < atOnce; i++) openNext();
  try {
    while (open.size > 0) {
      const pull = pulls.shift();
      if (!pull) await new Promise<void>((resolve) => (wake = resolve));
      else if ("error" in pull) throw pull.error;
      else if (pull.result.done) {
        open.delete(pull.stream);
        openNext();
      } else {
        yield pull.result.value;
        pullFrom(pull.stream);
      }
    }
  } finally {
    if (open.size > 0) stop();
    await Promise.allSettled([...open].map((stream) => stream.return?.()));
  }
}
