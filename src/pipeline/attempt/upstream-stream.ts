/**
 * UpstreamStream is the stream of one attempt, between its upstream and its reader. It passes frames on while there is a reader,
 * and is drained to its usage when the caller has disconnected (`drains.ts`). Drained frames are discarded at once.
 *
 * It is a class because thousands exist at once, and closures would take several times the memory.
 */
import type { AnswerRoom, Frames } from "../../call/call.ts";
import type { AttemptRecord } from "../../call/call-record.ts";
import { cancelled } from "../../call/refusals.ts";
import type { AttemptRooms } from "../../providers/contract.ts";
import { CallerAbort, type Signal } from "../../runtime/caller-abort.ts";
import { forEach, pushStream, stopPulling, type Take } from "../../runtime/push-stream.ts";
import type { Pace } from "../../targets/pace.ts";
import type { Wire } from "../../wire/wire.ts";
import type { AttemptMeter } from "../charge/meter.ts";
import { billRefused } from "./billed-refusal.ts";
import type { CallStreams, ReadStream } from "./call-streams.ts";

export interface UpstreamStreamInit {
  readonly call: CallStreams;
  /** Fires when the attempt's answer is no longer awaited. */
  readonly signal: Signal;
  readonly meter: AttemptMeter;
  readonly record: AttemptRecord;
  readonly pace: Pace;
  /** isEmbedded is whether the model runs in this process: it stops at once, and bills nothing for what it did not generate. */
  readonly isEmbedded: boolean;
  /** reasons is whether the model reasons; undefined: unknown, and what its target reported before decides. */
  readonly reasons: boolean | undefined;
  /** Returns the most output tokens that the attempt may have. */
  readonly maxOutput: () => number;
  /** isRetold is whether the stream is translated: the events of another API may tell at its end all that it has said. */
  readonly isRetold: boolean;
}

type Batch = readonly Wire[];

/** A frame up to this length holds a word. What it says is counted, and not how it is said. In bytes. */
const wordBytes = 1024;
/** longBytes is the length from which on the text of a translated stream is counted against memory, in bytes. */
const longBytes = 64 * 1024;
/** retoldTimes is how many copies of its text a translated stream is counted for: several events at its end repeat all of it. */
const retoldTimes = 2;
/** The most that is drained, in bytes of the frames' payload: as much as the largest frame may have. */
const maxBytes = 16 * 1024 * 1024;
/**
 * A model's start-up time is no reasoning, and is not counted as such. It is taken as the time to the head of the answer, within
 * these bounds, in milliseconds.
 */
const [shortestStartMs, longestStartMs] = [200, 1_000];
/** A stream whose reader took a larger share of its time than this says nothing about the speed of its target. */
const maxReaderShare = 0.1;

export class UpstreamStream implements ReadStream {
  /** Fires when the upstream request is to be aborted. */
  readonly signal = new CallerAbort();
  readonly #init: UpstreamStreamInit;
  #state: "new" | "taken" | "draining" | "over" = "new";
  #take: Take<Batch> | undefined;
  /** Ends the reader's stream. */
  #end: Pick<PromiseWithResolvers<void>, "resolve" | "reject"> | undefined;
  /** Lets the upstream continue while it waits for the reader. */
  #resume: (() => void) | undefined;
  /** readerMs is how long the upstream has waited for the reader. */
  #readerMs = 0;
  /** contentAt is when the first content came, by `performance.now()`; 0 until then. */
  #contentAt = 0;
  #drainingSince = 0;
  #bytes = 0;
  #drainTimer: NodeJS.Timeout | undefined;
  /** Opens the memory that the stream's answer is counted against. Unset: it is not counted. */
  rooms: Pick<AttemptRooms, "openAnswer"> | undefined;
  #room: AnswerRoom | undefined;
  /** #beyondWords is the sum of what each frame has had beyond `wordBytes`, in bytes. */
  #beyondWords = 0;

  constructor(init: UpstreamStreamInit) {
    this.#init = init;
    if (init.signal.aborted) this.abort();
    else init.signal.addEventListener("abort", this.#onAbort, { once: true });
  }

  /** The signal of a part also fires where another part of its call has failed; then the caller is still connected. */
  readonly #onAbort = () => {
    if (this.#init.call.caller.aborted) this.leave();
    else this.abort();
  };

  /** Returns the frames for the reader. */
  through<F extends Frames>(frames: F): F {
    return pushStream<Batch>((take) => {
      const end = Promise.withResolvers<void>();
      this.#take = take;
      this.#end = end;
      if (this.#state === "new") this.#state = "taken";
      this.#init.call.readingBegan(this);
      forEach(frames, this.#pass).then(
        () => this.#ended(end.resolve),
        (error: unknown) => {
          billRefused(this.#init.meter, error);
          this.#ended(() => end.reject(error));
        },
      );
      return end.promise;
    }) as AsyncIterable<Batch> as F;
  }

  /** Notes that the caller disconnected: drains the stream if content has arrived, and aborts its request if not. */
  leave(): void {
    if (this.#state === "taken" && this.#mayDrain()) this.#drain(cancelled());
    else if (this.#state === "taken" || this.#state === "new") this.abort();
  }

  /**
   * Notes that a time-out of the caller's own has passed, which counts as disconnecting. Returns whether the stream is drained;
   * its reader then fails with `why` at once.
   */
  readonly late = (why: Error): boolean => {
    if (this.#state === "taken" && this.#mayDrain()) this.#drain(why);
    return this.#state === "draining";
  };

  /** Aborts the upstream request, and drains nothing. */
  abort(): void {
    this.#init.signal.removeEventListener("abort", this.#onAbort);
    this.signal.abort();
    this.#resume?.();
  }

  cut(): void {
    if (this.#state !== "draining") return;
    this.#drained();
    this.abort();
  }

  readonly #pass = (batch: Batch): Promise<void> | undefined => {
    const { meter } = this.#init;
    meter.came();
    const hadContent = this.#contentAt !== 0;
    if (this.#contentAt === 0 && meter.hasContent()) this.#noteContent();
    const holding = this.#take && this.#hold(batch);
    return holding ? this.#passHeld(batch, holding, hadContent) : this.#handOver(batch);
  };

  /**
   * Hands a batch over once there is memory for it. Where none comes the stream fails, but behind the first content the batch still reaches
   * the caller, who is charged for all that the meter has counted.
   */
  async #passHeld(batch: Batch, holding: Promise<void>, hadContent: boolean): Promise<void> {
    let failure: unknown;
    await this.#untilTaken(
      holding.catch((error: unknown) => {
        failure = error;
      }),
    );
    if (this.signal.aborted) throw cancelled();
    if (failure !== undefined && !hadContent) throw failure;
    await this.#handOver(batch);
    if (failure !== undefined) throw failure;
  }

  /** #hold takes memory for the text of a translated stream. Returns undefined where there is nothing to wait for. */
  #hold(batch: Batch): Promise<void> | undefined {
    const { meter, isRetold } = this.#init;
    if (!isRetold) return undefined;
    for (const frame of batch) this.#beyondWords += Math.max(0, frame.bytes().length - wordBytes);
    const bytes = Math.max(meter.outputBytes, this.#beyondWords);
    if (bytes <= longBytes) return undefined;
    this.#room ??= this.rooms?.openAnswer();
    return this.#room?.hold(retoldTimes * bytes);
  }

  #handOver(batch: Batch): Promise<void> | undefined {
    if (!this.#take) return this.#discard(batch);
    let taken: Promise<void> | undefined;
    try {
      taken = this.#take(batch);
    } catch (error) {
      return this.#untaken(error);
    }
    return taken && this.#untilTaken(taken);
  }

  /** Discards a batch. Throws when draining is over, because a source need not heed the signal. */
  #discard(batch: Batch): Promise<void> | undefined {
    let bytes = 0;
    for (const frame of batch) bytes += frame.bytes().length;
    this.#bytes += bytes;
    if (this.#bytes > maxBytes) this.cut();
    if (this.#state !== "draining") throw stopPulling;
    const paced = this.#init.call.drains.paced(bytes);
    return paced && this.#untilCut(paced);
  }

  /** Waits for the shared rate, but no longer than the drain lasts. */
  #untilCut(paced: Promise<void>): Promise<void> {
    return new Promise((resolve) => {
      this.#resume = resolve;
      void paced.then(resolve);
    });
  }

  /** Waits for the reader, but no longer than there is one. */
  #untilTaken(taken: Promise<void>): Promise<void> {
    const from = performance.now();
    return new Promise((resolve, reject) => {
      const resume = () => {
        if (this.#resume === resume) this.#resume = undefined;
        this.#readerMs += performance.now() - from;
        resolve();
      };
      this.#resume = resume;
      taken.then(resume, (error: unknown) => {
        if (this.#resume === resume) this.#resume = undefined;
        try {
          resolve(this.#untaken(error));
        } catch (left) {
          reject(left);
        }
      });
      if (!this.#take) resume();
    });
  }

  /**
   * Handles a reader that stopped. Either the caller has disconnected, and its signal fires now or in a moment, or a step on the
   * way failed, and the call says so (`CallStreams.failed`). Throws `error` unless the stream is drained.
   */
  #untaken(error: unknown): undefined {
    if (this.#state === "taken" && this.#mayDrain()) this.#drain(error);
    if (this.#state === "draining") return;
    if (this.#state !== "over") {
      this.#state = "over";
      this.#take = undefined;
      this.abort();
    }
    throw error;
  }

  #mayDrain(): boolean {
    const { meter, call, isEmbedded } = this.#init;
    return meter.hasContent() && !meter.isPaidByInput && !isEmbedded && call.drains.lastsMs() > 0;
  }

  #drain(why: unknown): void {
    const { call } = this.#init;
    this.#state = "draining";
    this.#drainingSince = performance.now();
    this.#drainTimer = setTimeout(() => this.cut(), call.drains.lastsMs());
    call.drainBegan(this);
    const end = this.#end;
    this.#take = this.#end = undefined;
    this.#resume?.();
    this.#room?.release();
    end?.reject(why);
  }

  #drained(): void {
    const ms = Math.round(performance.now() - this.#drainingSince);
    this.#state = "over";
    clearTimeout(this.#drainTimer);
    this.#init.call.drainEnded(this, ms);
  }

  /** Handles the end of the upstream's answer. */
  #ended(endReader: () => void): void {
    const { signal, call } = this.#init;
    signal.removeEventListener("abort", this.#onAbort);
    this.#observePace();
    call.readingEnded(this);
    if (this.#state === "draining") this.#drained();
    this.#state = "over";
    this.#take = this.#end = undefined;
    endReader();
  }

  /** Notes the first content, and reports the reasoning that may have come before it: it counts where no usage is reported. */
  #noteContent(): void {
    const { meter, record, pace, reasons, maxOutput } = this.#init;
    this.#contentAt = performance.now();
    if (!(reasons ?? pace.hasReasoned())) return;
    const ms = Math.max(0, this.#contentAt - startOf(record));
    meter.reasoned(Math.round((ms / 1000) * pace.tokensPerSecond()), maxOutput());
  }

  #observePace(): void {
    const { meter, record, pace } = this.#init;
    const usage = meter.usageAtEnd();
    if (!usage) return;
    const ms = performance.now() - startOf(record);
    // A slow reader slows its upstream down, so that the time says nothing about the model.
    if (this.#readerMs <= ms * maxReaderShare) pace.observed(usage.output, ms, usage.reasoning > 0);
    else if (usage.reasoning > 0) pace.observed(0, 0, true);
  }
}

/** startOf returns when the model began to generate, by `performance.now()`. */
function startOf({ sentAt, queuedMs, firstByteMs = 0 }: AttemptRecord): number {
  return sentAt + queuedMs + Math.max(shortestStartMs, Math.min(firstByteMs, longestStartMs));
}
