/**
 * SpeechScheduler runs many jobs side by side on one worker thread: each makes a piece of its file in turn. Requests
 * beyond the waiting limit are refused.
 *
 * A worker that dies fails no request: all jobs start again and skip what was handed over. Only the job whose turn it
 * was fails, on the second loss, or at once if its turn took too long.
 */
import { cancelled, upstreamFailed, upstreamRefused, upstreamTimeout } from "../../call/refusals.ts";
import type { Signal } from "../../runtime/caller-abort.ts";
import type { Job } from "./job.ts";
import type { FromWorker } from "./protocol.ts";
import { Recording } from "./recording.ts";
import { createThread, type Thread, type ThreadOptions, TurnTimeout } from "./thread.ts";
import { createTurns, type Turns } from "./turns.ts";

export interface SchedulerOptions extends ThreadOptions {
  /** Number of jobs that run side by side and keep their seat. */
  readonly seats?: number;
  /** Number of further jobs, which give up their seat to new ones after their first turns. */
  readonly guests?: number;
  /** The most jobs that wait for a seat. */
  readonly maxWaiting?: number;
  /** Milliseconds without a reader after which a job gives up its seat to one that waits. */
  readonly stallMs?: number;
}

export interface SpeechScheduler {
  /** Yields the pieces of the job's file. Returns the length of the audio in samples. Throws a Refusal. */
  perform(job: Job, signal: Signal): AsyncGenerator<Uint8Array, number>;
  /** Waits for running jobs, then ends the worker. */
  close(): Promise<void>;
}

/** Interval at which seats are checked while jobs wait, in milliseconds. */
const lookAgain = 1000;

const busy = "The speech model is busy: too many requests wait already. Try again later.";

export function createScheduler(options: SchedulerOptions = {}): SpeechScheduler {
  return new OneWorkerScheduler(options);
}

class OneWorkerScheduler implements SpeechScheduler {
  readonly #turns: Turns;
  readonly #thread: Thread;
  #lastId = 0;
  #isWorking = false;
  #again: NodeJS.Timeout | undefined;
  #closed: Promise<void> | undefined;
  #onEmpty = () => {};

  constructor({ seats = 12, guests = 4, maxWaiting = 256, stallMs = 2000, ...threadOptions }: SchedulerOptions) {
    const unseated = (recording: Recording) => this.#withdraw(recording);
    this.#turns = createTurns({ seats, guests, maxWaiting: maxWaiting, stallMs: stallMs, onUnseated: unseated });
    this.#thread = createThread(threadOptions, () => {
      for (const recording of this.#turns.all()) recording.restart();
    });
  }

  async *perform(job: Job, signal: Signal): AsyncGenerator<Uint8Array, number> {
    if (signal.aborted) throw cancelled();
    if (this.#closed) throw upstreamFailed("the gateway is shutting down");
    const recording = new Recording(++this.#lastId, job, () => performance.now(), this.#advance);
    const onAbort = () => {
      recording.fail(cancelled(), { atOnce: true });
      this.#leave(recording);
    };
    if (!this.#turns.add(recording)) {
      throw upstreamRefused(503, { message: busy, param: undefined }, undefined, { "retry-after": "5" });
    }
    signal.addEventListener("abort", onAbort, { once: true });
    this.#advance();
    try {
      return yield* recording.take();
    } finally {
      signal.removeEventListener("abort", onAbort);
      this.#leave(recording);
    }
  }

  close(): Promise<void> {
    this.#closed ??= this.#shut();
    return this.#closed;
  }

  #leave(recording: Recording): void {
    this.#turns.remove(recording);
    this.#withdraw(recording);
    this.#advance();
    if (this.#turns.all().length === 0) this.#onEmpty();
  }

  #withdraw(recording: Recording): void {
    if (recording.begun) this.#thread.drop(recording.id);
    recording.restart();
  }

  /** Starts the worker's next turns unless it is working. */
  readonly #advance = (): void => {
    if (this.#isWorking) return;
    this.#isWorking = true;
    void this.#work();
  };

  async #work(): Promise<void> {
    clearTimeout(this.#again);
    for (let recording = this.#turns.next(); recording; recording = this.#turns.next()) await this.#takeTurn(recording);
    this.#isWorking = false;
    if (this.#turns.crowded) this.#again = setTimeout(this.#advance, lookAgain).unref();
  }

  async #takeTurn(recording: Recording): Promise<void> {
    const job = recording.begun ? {} : { job: recording.job };
    recording.begun = true;
    try {
      const answer = await this.#thread.turn({ kind: "turn", id: recording.id, ...job });
      // A recording that was left meanwhile is not begun any more.
      if (recording.begun) this.#receive(recording, answer);
    } catch (error) {
      if (error instanceof TurnTimeout) this.#refuse(recording, upstreamTimeout());
      else if (++recording.losses > 1) this.#refuse(recording, upstreamFailed("the speech worker died", error));
      else recording.restart();
    }
  }

  #receive(recording: Recording, answer: FromWorker): void {
    if (answer.kind === "failed") {
      this.#refuse(recording, upstreamFailed("the text could not be spoken", new Error(answer.message)));
      return;
    }
    recording.receive(answer.bytes);
    if (answer.samples === undefined) return;
    this.#turns.remove(recording);
    recording.begun = false;
    recording.end(answer.samples);
  }

  #refuse(recording: Recording, refusal: Error): void {
    this.#turns.remove(recording);
    recording.begun = false;
    recording.fail(refusal);
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
