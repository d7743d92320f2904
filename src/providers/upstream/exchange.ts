/**
 * One request to an upstream and its answer.
 *
 * The answer's bytes are handed on as they come: while a taker is not done, reading stops after `highWaterBytes`, so a slow
 * caller slows its upstream and fills no memory. When the signal fires the exchange is broken off at once, also while it
 * still waits for a connection; and so it is when it takes longer than it may. What may take long is left to the
 * connection's deadlines, which cost nothing but are coarse; what may not has a timer of its own.
 */
import { cancelled, type Refusal, upstreamFailed } from "../../call/refusals.ts";
import type { PhaseTimeouts, ReplyFields, ReplyHandler, SentRequest } from "../../http1/client/index.ts";
import type { Signal } from "../../runtime/caller-abort.ts";
import type { Deferred } from "../../runtime/maybe-promise.ts";
import { stopPulling } from "../../runtime/push-stream.ts";
import { type Body, type Reader, UpstreamReply } from "./reply.ts";
import { type Bound, type Bounds, type Timeouts, timedOut } from "./timeouts.ts";

const highWaterBytes = 64 * 1024;
const releaseTimeoutMs = 1000;

export class Exchange implements ReplyHandler, Body {
  /** The reply that is waited for, until its head is there: what that says is not kept for as long as the body lasts. */
  #reply: Deferred<UpstreamReply> | undefined;
  readonly #signal: Signal;
  readonly #late: ((why: Error) => boolean) | undefined;
  readonly #bounds: Bounds;
  /** The upstream's own. */
  readonly #timeouts: Timeouts;
  /** Fires when what comes next does not, where the connection does not see to that. */
  #next: NodeJS.Timeout | undefined;
  readonly #end: NodeJS.Timeout | undefined;
  #request: SentRequest | undefined;
  #chunks: Buffer[] = [];
  #bytes = 0;
  #ended = false;
  #failure: Refusal | undefined;
  /** Set once nobody reads on. */
  #released: NodeJS.Timeout | undefined;
  /** Whoever takes the body, until it is over. */
  #reader: Reader | undefined;
  /** Whether the reader has not yet taken what it was given. */
  #isBusy = false;

  /** `late` is told of a bound of the caller's that has passed, and returns whether the answer is read on all the same. */
  constructor(
    reply: Deferred<UpstreamReply>,
    signal: Signal,
    bounds: Bounds,
    timeouts: Timeouts,
    late?: (why: Error) => boolean,
  ) {
    this.#reply = reply;
    this.#signal = signal;
    this.#late = late;
    this.#bounds = bounds;
    this.#timeouts = timeouts;
    signal.addEventListener("abort", this.#onAbort, { once: true });
    this.#expect("connectMs");
    if (bounds.totalMs) this.#end = setTimeout(this.#onTimeout, bounds.totalMs.ms, "totalMs", bounds.totalMs);
    if (signal.aborted) this.#onAbort();
  }

  /** Whether it has failed before it was sent: it may wait for its turn, or a connection, while its caller leaves. */
  get isCancelled(): boolean {
    return this.#failure !== undefined;
  }

  readonly #onAbort = () => this.#leave(cancelled());

  readonly #onTimeout = (part: keyof Timeouts, bound: Bound) => {
    // Who does not read on keeps the upstream from telling more.
    if (part === "idleMs" && this.#request?.isPaused) return;
    const why = timedOut(part, bound);
    if (!(bound.isCallers && this.#late?.(why))) this.#leave(why);
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
    this.#fail(refusalOf(error));
  }

  onTimeout(part: keyof PhaseTimeouts): void {
    this.#fail(timedOut(part, { ms: this.#timeouts[part], isCallers: false }));
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
    this.#isBusy = true; // More may come while it takes.
    try {
      // What came before a failure is the caller's.
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
   * A stream is read to its last event, which may come before the last bytes: they are waited for and thrown away,
   * for a connection that is broken off cannot be used again. Only a short while: they may never come.
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
