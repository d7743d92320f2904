/**
 * Exchange is one request to an upstream and its answer.
 *
 * The answer's bytes are handed on as they come. While the reader is busy reading stops after `highWaterBytes`, so a
 * slow caller slows its upstream and fills no memory. The exchange breaks off at once when the signal fires, also
 * while it waits for a connection, and when a bound passes. Long bounds are kept by the connection's deadlines, which
 * are cheap but coarse; short ones have a timer of their own.
 */
import { cancelled, type Refusal, upstreamFailed } from "../../call/refusals.ts";
import type { PhaseTimeouts, ReplyFields, ReplyHandler, SentRequest } from "../../http1/client/index.ts";
import type { Signal } from "../../runtime/caller-abort.ts";
import type { Deferred } from "../../runtime/maybe-promise.ts";
import { stopPulling } from "../../runtime/push-stream.ts";
import { type Body, type Reader, UpstreamReply } from "./reply.ts";
import { type Bound, type Bounds, leftOf, type Timeouts, timedOut } from "./timeouts.ts";

const highWaterBytes = 64 * 1024;
const releaseTimeoutMs = 1000;

/** ReplyListener is told what becomes of a reply that is waited for. */
export interface ReplyListener {
  /** Called when a bound of the caller's has passed. Returns true if the reply is to be read on nevertheless. */
  readonly late?: ((why: Error) => boolean) | undefined;
  /**
   * Called when the reply has broken off, or its upstream has taken too long, while its reader is busy with what came before: one that waits
   * for memory waits in vain.
   */
  readonly broken?: ((why: Error) => void) | undefined;
}

export class Exchange implements ReplyHandler, Body {
  /** The pending reply, until its head is there. It is not kept while the body lasts. */
  #reply: Deferred<UpstreamReply> | undefined;
  readonly #signal: Signal;
  readonly #listener: ReplyListener;
  readonly #bounds: Bounds;
  /** The upstream's own bounds. */
  readonly #timeouts: Timeouts;
  /** Fires when the next part is late, where the connection's deadlines do not see to that. */
  #next: NodeJS.Timeout | undefined;
  readonly #end: NodeJS.Timeout | undefined;
  #request: SentRequest | undefined;
  #chunks: Buffer[] = [];
  #bytes = 0;
  #ended = false;
  #failure: Refusal | undefined;
  /** Set once the body has no reader any more. */
  #released: NodeJS.Timeout | undefined;
  /** The reader of the body, until it ends. */
  #reader: Reader | undefined;
  /** isBusy is whether the reader has not taken what it was given. */
  #isBusy = false;

  constructor(
    reply: Deferred<UpstreamReply>,
    signal: Signal,
    bounds: Bounds,
    timeouts: Timeouts,
    listener: ReplyListener,
  ) {
    this.#reply = reply;
    this.#signal = signal;
    this.#listener = listener;
    this.#bounds = bounds;
    this.#timeouts = timeouts;
    signal.addEventListener("abort", this.#onAbort, { once: true });
    this.#expect("connectMs");
    if (bounds.totalMs) this.#end = setTimeout(this.#onTimeout, leftOf(bounds.totalMs), "totalMs", bounds.totalMs);
    if (signal.aborted) this.#onAbort();
  }

  /** isCancelled is whether it failed before it was sent: its caller may leave while it waits for a turn or a connection. */
  get isCancelled(): boolean {
    return this.#failure !== undefined;
  }

  readonly #onAbort = () => this.#leave(cancelled());

  readonly #onTimeout = (part: keyof Timeouts, bound: Bound) => {
    // A reader that does not read keeps the upstream from sending more.
    if (part === "idleMs" && this.#request?.isPaused) return;
    const why = timedOut(part, bound);
    if (bound.isCallers && this.#listener.late?.(why)) return;
    this.#leave(why);
    if (!bound.isCallers) this.#noteBroken(why);
  };

  /** Breaks the exchange off. */
  #leave(why: Refusal): void {
    this.#request?.abort();
    this.#fail(why);
  }

  #expect(part: keyof Timeouts): void {
    clearTimeout(this.#next);
    const bound = this.#bounds[part];
    this.#next = bound && setTimeout(this.#onTimeout, bound.ms, part, bound);
  }

  onSent(request: SentRequest): void {
    this.#request = request;
    this.#expect("firstByteMs");
  }

  onHead(status: number, headers: ReplyFields): void {
    this.#expect("idleMs");
    const reply = this.#reply;
    this.#reply = undefined;
    reply?.resolve(new UpstreamReply(status, headers, this));
  }

  onBody(pieces: Buffer[]): void {
    if (this.#released) return;
    this.#next?.refresh();
    if (this.#chunks.length === 0) this.#chunks = pieces;
    else this.#chunks.push(...pieces);
    for (const { length } of pieces) this.#bytes += length;
    if (this.#bytes >= highWaterBytes) this.#request?.pause();
    this.#goOnIfIdle();
  }

  onEnd(): void {
    this.#request = undefined;
    this.#ended = true;
    clearTimeout(this.#released);
    this.#letGo();
    this.#goOnIfIdle();
  }

  onError(error: Error): void {
    this.#breakOff(refusalOf(error));
  }

  /** onReset does not fail the exchange: its reader may still read what came before. It tells the listener, in case that reader waits for memory. */
  onReset(error: Error): void {
    this.#noteBroken(refusalOf(error));
  }

  onTimeout(part: keyof PhaseTimeouts): void {
    this.#breakOff(timedOut(part, { ms: this.#timeouts[part], isCallers: false }));
  }

  #breakOff(why: Refusal): void {
    this.#fail(why);
    this.#noteBroken(why);
  }

  #noteBroken(why: Refusal): void {
    if (this.#reader && this.#isBusy) this.#listener.broken?.(why);
  }

  #fail(refusal: Refusal): void {
    if (this.#ended || this.#failure) return;
    this.#failure = refusal;
    this.#request = undefined;
    clearTimeout(this.#released);
    this.#letGo();
    const reply = this.#reply;
    this.#reply = undefined;
    reply?.reject(refusal);
    this.#goOnIfIdle();
  }

  #letGo(): void {
    this.#signal.removeEventListener("abort", this.#onAbort);
    clearTimeout(this.#next);
    clearTimeout(this.#end);
    this.#next = undefined;
  }

  read(reader: Reader): void {
    this.#reader = reader;
    this.#goOn();
  }

  leave(): void {
    this.#finish(stopPulling);
  }

  lifeless(since: number): void {
    const bound = this.#bounds.idleMs ?? { ms: this.#timeouts.idleMs, isCallers: false };
    if (performance.now() - since >= bound.ms) this.#onTimeout("idleMs", bound);
  }

  #goOnIfIdle(): void {
    if (this.#reader && !this.#isBusy) this.#goOn();
  }

  readonly #goOn = (): void => {
    const reader = this.#reader;
    if (!reader) return;
    this.#isBusy = true; // More may come meanwhile.
    try {
      // Bytes before a failure still reach the caller.
      while (this.#chunks.length > 0) {
        const taken = reader.take(this.#take());
        if (!taken) continue;
        taken.then(this.#goOn, this.#finish);
        return;
      }
      this.#isBusy = false;
      if (this.#failure) this.#finish(this.#failure);
      else if (this.#ended) this.#finish();
    } catch (error) {
      this.#finish(error);
    }
  };

  readonly #finish = (failure?: unknown): void => {
    const reader = this.#reader;
    this.#reader = undefined;
    this.#release();
    if (failure === undefined) reader?.resolve();
    else reader?.reject(failure);
  };

  /**
   * Reads the remaining bytes and discards them, for a short while: a stream is read to its last event, which may
   * come before the last bytes, and a connection that is broken off cannot be used again.
   */
  #release(): void {
    if (this.#ended || this.#failure) return;
    this.#released = setTimeout(this.#onAbort, releaseTimeoutMs);
    this.#take();
  }

  #take(): Buffer[] {
    const chunks = this.#chunks;
    this.#chunks = [];
    this.#bytes = 0;
    if (this.#request?.isPaused) {
      this.#next?.refresh();
      this.#request.resume();
    }
    return chunks;
  }
}

const unreachable: ReadonlySet<unknown> = new Set(["ECONNREFUSED", "ENOTFOUND", "EHOSTUNREACH"]);

function refusalOf(error: Error & { code?: string }): Refusal {
  return upstreamFailed(unreachable.has(error.code) ? "it cannot be reached" : "the connection to it broke", error);
}
