/**
 * Lets other work of the process have its turn during long work, and ends it when the caller leaves.
 */
import { setImmediate } from "node:timers/promises";
import { cancelled } from "../../call/refusals.ts";
import type { Signal } from "../../runtime/caller-abort.ts";

/** How much work is done at a stretch: a few milliseconds of it. */
const workATurn = 16_384;

export class Pace {
  readonly #signal: Signal;
  #done = 0;

  constructor(signal: Signal) {
    this.#signal = signal;
  }

  /** Counts work, in characters or numbers gone through. Returns whether it is time to `rest`. */
  isDue(work: number): boolean {
    this.#done += work;
    return this.#done >= workATurn;
  }

  /** Throws a Refusal when the caller has left. */
  async rest(): Promise<void> {
    this.#done = 0;
    await setImmediate();
    if (this.#signal.aborted) throw cancelled();
  }
}
