/**
 * Several pieces of work as one, of which only a few run at once. The first to fail stops the others, and is told when
 * all have ended: nothing runs on behind an answer.
 */

/** Returns the results in the order of the items. `stop` makes the work that runs fail. */
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

/** What a stream says to one question for more. */
type Turn<T> = { readonly stream: AsyncIterator<T> } & (
  | { readonly result: IteratorResult<T> }
  | { readonly error: unknown }
);

/**
 * Yields what the streams bring, as it comes. Each is one step ahead at most, so that a slow reader slows them all, and
 * after each step it lets the others have their turn. A stream is opened when one before it has ended. `stop` makes
 * those that are open fail; it is called where the end is not theirs.
 */
export async function* interleave<T>(
  streams: Iterable<AsyncIterable<T>>,
  atOnce: number,
  stop: () => void,
): AsyncGenerator<T, void> {
  const open = new Set<AsyncIterator<T>>();
  const turns: Turn<T>[] = [];
  let wake = () => {};
  const take = (turn: Turn<T>) => {
    turns.push(turn);
    wake();
  };
  const step = (stream: AsyncIterator<T>) =>
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
    step(stream);
  };
  for (let i = 0; i < atOnce; i++) openNext();
  try {
    while (open.size > 0) {
      const turn = turns.shift();
      if (!turn) await new Promise<void>((resolve) => (wake = resolve));
      else if ("error" in turn) throw turn.error;
      else if (turn.result.done) {
        open.delete(turn.stream);
        openNext();
      } else {
        yield turn.result.value;
        step(turn.stream);
      }
    }
  } finally {
    if (open.size > 0) stop();
    await Promise.allSettled([...open].map((stream) => stream.return?.()));
  }
}
