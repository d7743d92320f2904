/**
 * `MaybePromise<T>` is a value or a promise of one. A call passes some twenty steps that may have to wait and hardly ever do;
 * a step that has its value at once avoids the microtasks of an `await`.
 *
 * Only the hot path uses it: `sequence` (`sequence.ts`) runs its steps, and `andThen`, `thenOrCatch` and `catchError` join two.
 * Other code awaits: an async function may `await` a MaybePromise like any value.
 */
export type MaybePromise<T> = T | PromiseLike<T>;

type Continue<T, R> = (value: T) => MaybePromise<R>;

/**
 * Deferred is a promise that is settled from outside and calls its continuations synchronously, when it is settled. What a
 * continuation throws rejects the Deferred that `then` returned for it. Unlike a Promise's, a rejection that is not handled is
 * ignored.
 */
export class Deferred<T> implements PromiseLike<T> {
  #state: "pending" | "resolved" | "rejected" = "pending";
  /** The value, or the error. */
  #outcome: unknown;
  /** The continuations of the Deferred that this one follows; without them it gets the same outcome. */
  #onResolved: Continue<never, unknown> | null | undefined;
  #onRejected: Continue<never, unknown> | null | undefined;
  /** The Deferreds that follow this one: mostly one. */
  #first: Deferred<unknown> | undefined;
  #others: Deferred<unknown>[] | undefined;

  /** Has no effect once the Deferred is settled; nor has `reject`. */
  resolve(value: T): void {
    this.#settle("resolved", value);
  }

  reject(error: unknown): void {
    this.#settle("rejected", error);
  }

  // biome-ignore lint/suspicious/noThenProperty: `await` calls it.
  then<R = T, F = never>(
    onResolved?: Continue<T, R> | null,
    onRejected?: Continue<unknown, F> | null,
  ): Deferred<R | F> {
    const next = new Deferred<R | F>();
    next.#onResolved = onResolved;
    next.#onRejected = onRejected;
    this.#addFollower(next as Deferred<unknown>);
    return next;
  }

  #addFollower(next: Deferred<unknown>): void {
    if (this.#state !== "pending") next.#follow(this.#state, this.#outcome);
    else if (this.#others) this.#others.push(next);
    else if (this.#first) this.#others = [next];
    else this.#first = next;
  }

  #settle(state: "resolved" | "rejected", outcome: unknown): void {
    if (this.#state !== "pending") return;
    this.#state = state;
    this.#outcome = outcome;
    const [first, others] = [this.#first, this.#others];
    this.#first = this.#others = undefined;
    if (first) first.#follow(state, outcome);
    if (others) for (const other of others) other.#follow(state, outcome);
  }

  /** Continues with the outcome of the Deferred that this one follows. */
  #follow(state: "resolved" | "rejected", outcome: unknown): void {
    const work = state === "resolved" ? this.#onResolved : this.#onRejected;
    this.#onResolved = this.#onRejected = undefined;
    if (!work) this.#settle(state, outcome);
    else {
      try {
        this.#become(work(outcome as never));
      } catch (error) {
        this.#settle("rejected", error);
      }
    }
  }

  #become(made: unknown): void {
    if (made instanceof Deferred) made.#addFollower(this as Deferred<unknown>);
    else if (made instanceof Promise) made.then(this.resolve.bind(this), this.reject.bind(this));
    else this.#settle("resolved", made);
  }
}

/** isPromise reports whether a value has to be waited for. It knows Deferreds and Node's own promises; any other thenable is a value. */
export function isPromise<T>(value: MaybePromise<T>): value is PromiseLike<T> {
  return value instanceof Deferred || value instanceof Promise;
}

/** andThen calls `onResolved` with the value, now or later, as `then` would. Throws what it throws now. */
export function andThen<T, R>(value: MaybePromise<T>, onResolved: Continue<T, R>): MaybePromise<R> {
  return isPromise(value) ? value.then(onResolved) : onResolved(value);
}

/** catchError runs `work`, and calls `onRejected` with its error, now or later, as `catch` would. Throws what that throws now. */
export function catchError<T, F>(work: () => MaybePromise<T>, onRejected: Continue<unknown, F>): MaybePromise<T | F> {
  try {
    const made = work();
    return isPromise(made) ? made.then<T, F>(undefined, onRejected) : made;
  } catch (error) {
    return onRejected(error);
  }
}

/** thenOrCatch runs `work`, and calls one of the two with its outcome, as `then(…, …)` would: an error of `onResolved` is not caught. */
export function thenOrCatch<T, R, F>(
  work: () => MaybePromise<T>,
  onResolved: Continue<T, R>,
  onRejected: Continue<unknown, F>,
): MaybePromise<R | F> {
  let made: MaybePromise<T>;
  try {
    made = work();
  } catch (error) {
    return onRejected(error);
  }
  return isPromise(made) ? made.then<R, F>(onResolved, onRejected) : onResolved(made);
}
