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
import { createThread, type ThreadOptions, TooLong } from "./thread.ts";
import { createTurns } from "./turns.ts";

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
  const { seats = 12, guests = 4, mostWaiting = 256, patience = 2000, ...threadOptions } = options;
  const turns = createTurns({ seats, guests, most: mostWaiting, patience, unseated: withdraw });
  const thread = createThread(threadOptions, () => {
    for (const part of turns.all()) part.forgotten();
  });
  let lastId = 0;
  let working = false;
  let again: NodeJS.Timeout | undefined;
  let closed: Promise<void> | undefined;
  let onEmpty = () => {};

  async function* perform(job: Job, signal: Signal): AsyncGenerator<Uint8Array, number> {
    if (signal.aborted) throw cancelled();
    if (closed) throw upstreamFailed("the gateway is shutting down");
    const part = new Part(++lastId, job, () => performance.now(), advance);
    const onAbort = () => {
      part.fail(cancelled(), { atOnce: true });
      leave(part);
    };
    if (!turns.add(part)) {
      throw upstreamRefused(503, { message: busy, param: undefined }, undefined, { "retry-after": "5" });
    }
    signal.addEventListener("abort", onAbort, { once: true });
    advance();
    try {
      return yield* part.take();
    } finally {
      signal.removeEventListener("abort", onAbort);
      leave(part);
    }
  }

  function leave(part: Part): void {
    turns.remove(part);
    withdraw(part);
    advance();
    if (turns.all().length === 0) onEmpty();
  }

  function withdraw(part: Part): void {
    if (part.begun) thread.drop(part.id);
    part.forgotten();
  }

  /** Sets the worker to work where it has nothing to do. */
  function advance(): void {
    if (working) return;
    working = true;
    void work();
  }

  async function work(): Promise<void> {
    clearTimeout(again);
    for (let part = turns.next(); part; part = turns.next()) await takeTurn(part);
    working = false;
    if (turns.crowded) again = setTimeout(advance, lookAgain).unref();
  }

  async function takeTurn(part: Part): Promise<void> {
    const job = part.begun ? {} : { job: part.job };
    part.begun = true;
    try {
      const answer = await thread.turn({ kind: "turn", id: part.id, ...job });
      // A part that was left meanwhile is not begun any more.
      if (part.begun) hear(part, answer);
    } catch (error) {
      if (error instanceof TooLong) refuse(part, upstreamTimeout());
      else if (++part.losses > 1) refuse(part, upstreamFailed("the speech worker died", error));
      else part.forgotten();
    }
  }

  function hear(part: Part, answer: FromWorker): void {
    if (answer.kind === "failed") {
      refuse(part, upstreamFailed("the text could not be spoken", new Error(answer.message)));
      return;
    }
    part.receive(answer.bytes);
    if (answer.samples === undefined) return;
    turns.remove(part);
    part.begun = false;
    part.end(answer.samples);
  }

  function refuse(part: Part, refusal: Error): void {
    turns.remove(part);
    part.begun = false;
    part.fail(refusal);
  }

  async function shut(): Promise<void> {
    if (turns.all().length > 0) {
      await new Promise<void>((resolve) => {
        onEmpty = resolve;
      });
    }
    clearTimeout(again);
    await thread.close();
  }

  return {
    perform,
    close() {
      closed ??= shut();
      return closed;
    },
  };
}
