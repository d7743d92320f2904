/**
 * What is there already, or will be: who has it goes on at once. A call passes some twenty places where something may have to
 * be waited for and hardly ever has, and each wait for a promise costs turns of the microtask queue.
 *
 * What was begun by a plain call goes on by one: who waits for a `Later` is called as soon as it comes, and who waits for
 * that one then, however many there are. Async functions may wait for it as for a promise:
 * `isPromise(soon) ? await soon : soon`; elsewhere `andThen`, `thenOrCatch` and `catchError` go on.
 */
export type MaybePromise<T> = T | PromiseLike<T>;

type GoOn<T, R> = (value: T) => MaybePromise<R>;

/**
 * What will be there, or fail. Who waits is called by whoever says so, and what it throws is told to who waits for it. A failure
 * that nobody waits for is told to nobody.
 */
export class Deferred<T> implements PromiseLike<T> {
  #state: "awaited" | "there" | "failed" = "awaited";
  /** What came, or what it failed by. */
  #outcome: unknown;
  /** What this one makes of what it waits for; nothing: it passes it on. */
  #goOn: GoOn<never, unknown> | null | undefined;
  #failed: GoOn<never, unknown> | null | undefined;
  /** Those that wait for this one: mostly one. */
  #first: Deferred<unknown> | undefined;
  #others: Deferred<unknown>[] | undefined;

  /** Says that it is there. Only the first word counts. */
  resolve(value: T): void {
    this.#end("there", value);
  }

  /** Says that it will never be. */
  reject(error: unknown): void {
    this.#end("failed", error);
  }

  // biome-ignore lint/suspicious/noThenProperty: an async function asks for it.
  then<R = T, F = never>(goOn?: GoOn<T, R> | null, failed?: GoOn<unknown, F> | null): Deferred<R | F> {
    const next = new Deferred<R | F>();
    next.#goOn = goOn;
    next.#failed = failed;
    this.#tell(next as Deferred<unknown>);
    return next;
  }

  #tell(next: Deferred<unknown>): void {
    if (this.#state !== "awaited") next.#take(this.#state, this.#outcome);
    else if (this.#others) this.#others.push(next);
    else if (this.#first) this.#others = [next];
    else this.#first = next;
  }

  #end(state: "there" | "failed", outcome: unknown): void {
    if (this.#state !== "awaited") return;
    this.#state = state;
    this.#outcome = outcome;
    const [first, others] = [this.#first, this.#others];
    this.#first = this.#others = undefined;
    if (first) first.#take(state, outcome);
    if (others) for (const other of others) other.#take(state, outcome);
  }

  /** Takes what it has waited for. */
  #take(state: "there" | "failed", outcome: unknown): void {
    const work = state === "there" ? this.#goOn : this.#failed;
    this.#goOn = this.#failed = undefined;
    if (!work) this.#end(state, outcome);
    else {
      try {
        this.#become(work(outcome as never));
      } catch (error) {
        this.#end("failed", error);
      }
    }
  }

  #become(made: unknown): void {
    if (made instanceof Deferred) made.#tell(this as Deferred<unknown>);
    else if (made instanceof Promise) made.then(this.resolve.bind(this), this.reject.bind(this));
    else this.#end("there", made);
  }
}

/** Knows a `Later` and Node's own promises: what waits in another way is taken for what is there. */
export function isPromise<T>(soon: MaybePromise<T>): soon is PromiseLike<T> {
  return soon instanceof Deferred || soon instanceof Promise;
}

/** Goes on with what is there, now or later. Throws what `goOn` throws now. */
export function andThen<T, R>(soon: MaybePromise<T>, goOn: GoOn<T, R>): MaybePromise<R> {
  return isPromise(soon) ? soon.then(goOn) : goOn(soon);
}

/** Does work, and goes on with what it fails by, now or later. Throws what that throws now. */
export function catchError<T, F>(work: () => MaybePromise<T>, failed: GoOn<unknown, F>): MaybePromise<T | F> {
  try {
    const made = work();
    return isPromise(made) ? made.then<T, F>(undefined, failed) : made;
  } catch (error) {
    return failed(error);
  }
}

/** The same, and goes on with what comes of it; what that throws is not what the work failed by. */
export function thenOrCatch<T, R, F>(
  work: () => MaybePromise<T>,
  goOn: GoOn<T, R>,
  failed: GoOn<unknown, F>,
): MaybePromise<R | F> {
  let made: MaybePromise<T>;
  try {
    made = work();
  } catch (error) {
    return failed(error);
  }
  return isPromise(made) ? made.then<R, F>(goOn, failed) : goOn(made);
}
