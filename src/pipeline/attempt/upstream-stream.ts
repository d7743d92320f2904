/**
 * The stream of one attempt, between its upstream and whoever takes it: passed on while somebody does, and read on to its usage
 * when its caller has left (`drain.ts`). What is read on is dropped at once.
 *
 * A class, for there are thousands at once.
 */
import type { Frames } from "../../call/call.ts";
import type { AttemptRecord } from "../../call/call-record.ts";
import { cancelled } from "../../call/refusals.ts";
import { CallerAbort, type Signal } from "../../runtime/caller-abort.ts";
import { forEach, pushStream, stopPulling, type Take } from "../../runtime/push-stream.ts";
import type { Pace } from "../../targets/pace.ts";
import type { Wire } from "../../wire/wire.ts";
import type { AttemptMeter } from "../charge/meter.ts";
import type { CallStreams } from "./drain.ts";

export interface UpstreamStreamInit {
  readonly call: CallStreams;
  /** Fires when nobody waits for the attempt any more. */
  readonly signal: Signal;
  readonly meter: AttemptMeter;
  readonly facts: AttemptRecord;
  readonly pace: Pace;
  /** Whether the model runs in this process: nobody sends a bill for what is not asked of it any more. */
  readonly isEmbedded: boolean;
  /** Whether the model reasons; undefined where what its target told before decides. */
  readonly reasons: boolean | undefined;
  /** Returns the most output that the attempt may have, in tokens. */
  readonly mostOutput: () => number;
}

type Batch = readonly Wire[];

/** How much is read on at most, in bytes of what frames say: as much as the largest frame. */
const mostBytes = 16 * 1024 * 1024;
/** What a model needs to begin with is no reasoning: the time to the head of its answer, but for what is odd, in milliseconds. */
const [shortestStartMs, longestStartMs] = [200, 1_000];
/** Which part of a stream's time its takers may take for it to tell how quick the target is. */
const mostWaited = 0.1;

export class UpstreamStream {
  /** Fires when the upstream is to be broken off. */
  readonly signal = new CallerAbort();
  readonly #init: UpstreamStreamInit;
  #state: "new" | "taken" | "draining" | "over" = "new";
  #take: Take<Batch> | undefined;
  /** Tells whoever takes how the stream ended. */
  #end: Pick<PromiseWithResolvers<void>, "resolve" | "reject"> | undefined;
  /** Lets the upstream go on while it waits for a taker. */
  #goOn: (() => void) | undefined;
  #waitedMs = 0;
  /** When the first content came, by `performance.now()`; 0 until then. */
  #contentAt = 0;
  #drainingSince = 0;
  #bytes = 0;
  #late: NodeJS.Timeout | undefined;

  constructor(init: UpstreamStreamInit) {
    this.#init = init;
    if (init.signal.aborted) this.abort();
    else init.signal.addEventListener("abort", this.#onAbort, { once: true });
  }

  /** The signal of a part fires, too, where another part of its call has failed: then nobody has left. */
  readonly #onAbort = () => {
    if (this.#init.call.caller.aborted) this.leave();
    else this.abort();
  };

  /** Returns the frames for whoever takes them. */
  through<F extends Frames>(frames: F): F {
    return pushStream<Batch>((take) => {
      const end = Promise.withResolvers<void>();
      this.#take = take;
      this.#end = end;
      if (this.#state === "new") this.#state = "taken";
      this.#init.call.readingBegan(this);
      forEach(frames, this.#pass).then(
        () => this.#ended(end.resolve),
        (error: unknown) => this.#ended(() => end.reject(error)),
      );
      return end.promise;
    }) as AsyncIterable<Batch> as F;
  }

  /** The caller takes no more: the stream is read on if content has come, and else broken off. */
  leave(): void {
    if (this.#state === "taken" && this.#mayDrain()) this.#drain(cancelled());
    else if (this.#state === "taken" || this.#state === "new") {
      this.#estimateReasoning();
      this.abort();
    }
  }

  /**
   * A bound that the caller set has passed: that is leaving in another way. Returns whether the stream is read on; its taker is
   * then told `why` at once.
   */
  readonly late = (why: Error): boolean => {
    if (this.#state === "taken" && this.#mayDrain()) this.#drain(why);
    return this.#state === "draining";
  };

  /** Breaks the upstream off, with nothing read on. */
  abort(): void {
    this.#init.signal.removeEventListener("abort", this.#onAbort);
    this.signal.abort();
    this.#goOn?.();
  }

  /** Ends its being read on, if it is. */
  cut(): void {
    if (this.#state !== "draining") return;
    this.#drained();
    this.abort();
  }

  readonly #pass = (batch: Batch): Promise<void> | undefined => {
    const { meter } = this.#init;
    meter.came();
    if (this.#contentAt === 0 && meter.hasContent()) this.#contentAt = performance.now();
    if (!this.#take) return this.#drop(batch);
    let taken: Promise<void> | undefined;
    try {
      taken = this.#take(batch);
    } catch (error) {
      return this.#untaken(error);
    }
    return taken && this.#until(taken);
  };

  /** Throws once nothing is read on: a source need not heed the signal. */
  #drop(batch: Batch): Promise<void> | undefined {
    let bytes = 0;
    for (const frame of batch) bytes += frame.bytes().length;
    this.#bytes += bytes;
    if (this.#bytes > mostBytes) this.cut();
    if (this.#state !== "draining") throw stopPulling;
    const paced = this.#init.call.drains.paced(bytes);
    return paced && this.#untilCut(paced);
  }

  /** Waits for what paces the reading on, but no longer than it lasts. */
  #untilCut(paced: Promise<void>): Promise<void> {
    return new Promise((resolve) => {
      this.#goOn = resolve;
      void paced.then(resolve);
    });
  }

  /** Waits for the taker, but no longer than there is one. */
  #until(taken: Promise<void>): Promise<void> {
    const from = performance.now();
    return new Promise((resolve, reject) => {
      const goOn = () => {
        if (this.#goOn === goOn) this.#goOn = undefined;
        this.#waitedMs += performance.now() - from;
        resolve();
      };
      this.#goOn = goOn;
      taken.then(goOn, (error: unknown) => {
        if (this.#goOn === goOn) this.#goOn = undefined;
        try {
          resolve(this.#untaken(error));
        } catch (left) {
          reject(left);
        }
      });
      if (!this.#take) goOn();
    });
  }

  /**
   * Whoever takes has stopped. Where the caller has left, its signal says so now or in a moment; where something failed on the
   * way, the call does (`failed`). Throws where nothing is read on.
   */
  #untaken(error: unknown): undefined {
    if (this.#state === "taken" && this.#mayDrain()) this.#drain(error);
    if (this.#state === "draining") return;
    if (this.#state !== "over") {
      this.#estimateReasoning();
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
    this.#late = setTimeout(() => this.cut(), call.drains.lastsMs());
    call.drainBegan(this);
    const end = this.#end;
    this.#take = this.#end = undefined;
    this.#goOn?.();
    end?.reject(why);
  }

  #drained(): void {
    const ms = Math.round(performance.now() - this.#drainingSince);
    this.#state = "over";
    clearTimeout(this.#late);
    this.#estimateReasoning();
    this.#init.call.drainEnded(this, ms);
  }

  /** The upstream tells no more. */
  #ended(tell: () => void): void {
    const { signal, call } = this.#init;
    signal.removeEventListener("abort", this.#onAbort);
    this.#observePace();
    call.readingEnded(this);
    if (this.#state === "draining") this.#drained();
    this.#state = "over";
    this.#take = this.#end = undefined;
    tell();
  }

  /** Says what may have been thought before the first content: it counts where no usage tells. */
  #estimateReasoning(): void {
    const { meter, facts, pace, reasons, mostOutput } = this.#init;
    if (this.#contentAt === 0 || !(reasons ?? pace.hasReasoned())) return;
    const ms = Math.max(0, this.#contentAt - startOf(facts));
    meter.reasoned(Math.round((ms / 1000) * pace.tokensPerSecond()), mostOutput());
  }

  #observePace(): void {
    const { meter, facts, pace } = this.#init;
    const usage = meter.usageAtEnd();
    if (!usage) return;
    const ms = performance.now() - startOf(facts);
    // A slow reader slows its upstream, which tells nothing of the model.
    if (this.#waitedMs <= ms * mostWaited) pace.observed(usage.output, ms, usage.reasoning > 0);
    else if (usage.reasoning > 0) pace.observed(0, 0, true);
  }
}

/** When the model began to put out tokens, by `performance.now()`. */
function startOf({ sentAt, queuedMs, firstByteMs = 0 }: AttemptRecord): number {
  return sentAt + queuedMs + Math.max(shortestStartMs, Math.min(firstByteMs, longestStartMs));
}
