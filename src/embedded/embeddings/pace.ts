/** Pace yields to other work during long work, and ends it when the caller disconnects. */
import { setImmediate } from "node:timers/promises";
import { cancelled } from "../../call/refusals.ts";
import type { Signal } from "../../runtime/caller-abort.ts";

/** Work between two yields: a few milliseconds. */
const workPerSlice = 16_384;

export class Pace {
  readonly #signal: Signal;
  #done = 0;

  constructor(signal: Signal) {
    this.#signal = signal;
  }

  /** Counts work, in characters or numbers. Returns true when `rest` is due. */
  isDue(work: number): boolean {
    this.#done += work;
    return this.#done >= workPerSlice;
  }

  /** Yields. Throws a Refusal when the caller has disconnected. */
  async rest(): Promise<void> {
    this.#done = 0;
    await setImmediate();
    if (this.#signal.aborted) throw cancelled();
  }
}
