/**
 * What the steps of a call ask of an AbortSignal, which is one, too. Node's own, with controller and listener, costs a call
 * more than finding out where it goes.
 */

/** Says that nobody waits any more. */
export interface Signal {
  readonly aborted: boolean;
  addEventListener(type: "abort", listener: () => void, options?: { readonly once: true }): void;
  removeEventListener(type: "abort", listener: () => void): void;
}

/** A signal, and what fires it. Each listener is called once; one that is added after the signal fired never is. */
export class CallerAbort implements Signal {
  aborted = false;
  /** Made anew with each: a list that grows in place keeps room for sixteen more. */
  #listeners: readonly (() => void)[] = [];

  addEventListener(_: "abort", listener: () => void): void {
    this.#listeners = [...this.#listeners, listener];
  }

  removeEventListener(_: "abort", listener: () => void): void {
    const at = this.#listeners.indexOf(listener);
    if (at !== -1) this.#listeners = this.#listeners.toSpliced(at, 1);
  }

  abort(): void {
    if (this.aborted) return;
    this.aborted = true;
    const listeners = this.#listeners;
    this.#listeners = [];
    for (const listener of listeners) listener();
  }
}

/** Returns the signal for what takes nothing but an AbortSignal. */
export function abortSignalOf(signal: Signal): AbortSignal {
  if (signal instanceof AbortSignal) return signal;
  const controller = new AbortController();
  if (signal.aborted) controller.abort();
  else signal.addEventListener("abort", () => controller.abort());
  return controller.signal;
}
