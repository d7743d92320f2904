/**
 * Performs jobs, many side by side, with one worker thread: each in turn makes a piece of its file. More than can wait
 * are refused.
 *
 * A worker that dies takes no request with it: all begin again and go on where they were. Only the request whose turn
 * it was fails if that happens twice, and at once if its turn took too long.
 */
import { cancelled, upstreamFailed, upstreamRefused, upstreamTimeout } from "../../call/refusals.ts";
import type { Signal } from "../../runtime/caller-abort.ts";
import type { Job } from "./job.ts";
import { Part } from "./part.ts";
import type { FromWorker } from "./protocol.ts";
import { createThread, type Thread, type ThreadOptions, TooLong } from "./thread.ts";
import { createTurns, type Turns } from "./turns.ts";

export interface StudioOptions extends ThreadOptions {
  /** How many jobs are worked on side by side, whatever comes anew. */
  readonly seats?: number;
  /** How many besides, which make way for new ones once they have been heard. */
  readonly guests?: number;
  /** How many wait for a seat, at most. */
  readonly mostWaiting?: number;
  /** After how many milliseconds without a reader a job makes way for one that waits. */
  readonly patience?: number;
}

export interface Studio {
  /** Returns the pieces of the job's file, then the length of the sound in samples. Throws a Refusal. */
  perform(job: Job, signal: Signal): AsyncGenerator<Uint8Array, number>;
  /** Waits for what runs, then ends the worker. */
  close(): Promise<void>;
}

/** How often those who wait for a seat look for one, in milliseconds. */
const lookAgain = 1000;

const busy = "The speech model is busy: too many requests wait already. Try again later.";

export function createStudio(options: StudioOptions = {}): Studio {
  return new OneWorkerStudio(options);
}

class OneWorkerStudio implements Studio {
  readonly #turns: Turns;
  readonly #thread: Thread;
  #lastId = 0;
  #isWorking = false;
  #again: NodeJS.Timeout | undefined;
  #closed: Promise<void> | undefined;
  #onEmpty = () => {};

  constructor({ seats = 12, guests = 4, mostWaiting = 256, patience = 2000, ...threadOptions }: StudioOptions) {
    const unseated = (part: Part) => this.#withdraw(part);
    this.#turns = createTurns({ seats, guests, most: mostWaiting, patience, unseated });
    this.#thread = createThread(threadOptions, () => {
      for (const part of this.#turns.all()) part.forgotten();
    });
  }

  async *perform(job: Job, signal: Signal): AsyncGenerator<Uint8Array, number> {
    if (signal.aborted) throw cancelled();
    if (this.#closed) throw upstreamFailed("the gateway is shutting down");
    const part = new Part(++this.#lastId, job, () => performance.now(), this.#advance);
    const onAbort = () => {
      part.fail(cancelled(), { atOnce: true });
      this.#leave(part);
    };
    if (!this.#turns.add(part)) {
      throw upstreamRefused(503, { message: busy, param: undefined }, undefined, { "retry-after": "5" });
    }
    signal.addEventListener("abort", onAbort, { once: true });
    this.#advance();
    try {
      return yield* part.take();
    } finally {
      signal.removeEventListener("abort", onAbort);
      this.#leave(part);
    }
  }

  close(): Promise<void> {
    this.#closed ??= this.#shut();
    return this.#closed;
  }

  #leave(part: Part): void {
    this.#turns.remove(part);
    this.#withdraw(part);
    this.#advance();
    if (this.#turns.all().length === 0) this.#onEmpty();
  }

  #withdraw(part: Part): void {
    if (part.begun) this.#thread.drop(part.id);
    part.forgotten();
  }

  /** Starts the worker's next turns unless it has one already. */
  readonly #advance = (): void => {
    if (this.#isWorking) return;
    this.#isWorking = true;
    void this.#work();
  };

  async #work(): Promise<void> {
    clearTimeout(this.#again);
    for (let part = this.#turns.next(); part; part = this.#turns.next()) await this.#takeTurn(part);
    this.#isWorking = false;
    if (this.#turns.crowded) this.#again = setTimeout(this.#advance, lookAgain).unref();
  }

  async #takeTurn(part: Part): Promise<void> {
    const job = part.begun ? {} : { job: part.job };
    part.begun = true;
    try {
      const answer = await this.#thread.turn({ kind: "turn", id: part.id, ...job });
      // A part that was left meanwhile is not begun any more.
      if (part.begun) this.#receive(part, answer);
    } catch (error) {
      if (error instanceof TooLong) this.#refuse(part, upstreamTimeout());
      else if (++part.losses > 1) this.#refuse(part, upstreamFailed("the speech worker died", error));
      else part.forgotten();
    }
  }

  #receive(part: Part, answer: FromWorker): void {
    if (answer.kind === "failed") {
      this.#refuse(part, upstreamFailed("the text could not be spoken", new Error(answer.message)));
      return;
    }
    part.receive(answer.bytes);
    if (answer.samples === undefined) return;
    this.#turns.remove(part);
    part.begun = false;
    part.end(answer.samples);
  }

  #refuse(part: Part, refusal: Error): void {
    this.#turns.remove(part);
    part.begun = false;
    part.fail(refusal);
  }

  async #shut(): Promise<void> {
    if (this.#turns.all().length > 0) {
      await new Promise<void>((resolve) => {
        this.#onEmpty = resolve;
      });
    }
    clearTimeout(this.#again);
    await this.#thread.close();
  }
}
