/**
 * One upstream over HTTP: a pool of connections, and POST with a body known in full.
 *
 * The answer's bytes are pulled: while nobody asks for more, reading from the upstream stops after
 * `highWaterBytes`, so a slow caller slows its upstream and fills no memory. When the signal fires the exchange is
 * broken off at once, also while it still waits for a connection.
 */
import { type Dispatcher, Pool } from "undici";
import { cancelled, type Refusal, upstreamFailed, upstreamTimeout } from "../errors.ts";

export interface Upstream {
  /** Sends a request below the base address. Resolves with the head. Throws a Refusal. */
  post(path: string, headers: Record<string, string>, body: Buffer, signal: AbortSignal): Promise<UpstreamReply>;
  close(): Promise<void>;
}

export interface UpstreamReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The body, as much at a time as has come. Throws a Refusal. Leaving the iteration ends the exchange. */
  readonly body: AsyncIterable<readonly Buffer[]>;
}

const highWaterBytes = 256 * 1024;
const connectTimeoutMs = 10_000;
const firstByteTimeoutMs = 600_000;
const idleTimeoutMs = 300_000;
const releaseTimeoutMs = 1000;

export function createUpstream(baseUrl: string): Upstream {
  const { origin, pathname } = new URL(baseUrl);
  const pool = new Pool(origin, {
    connectTimeout: connectTimeoutMs,
    headersTimeout: firstByteTimeoutMs,
    bodyTimeout: idleTimeoutMs,
  });
  const prefix = pathname.replace(/\/$/, "");
  return {
    post(path, headers, body, signal) {
      const exchange = new Exchange(signal);
      pool.dispatch({ method: "POST", path: `${prefix}${path}`, headers, body }, exchange);
      return exchange.reply;
    },
    close: () => pool.close(),
  };
}

/** One request and its answer, as undici tells of them. */
class Exchange implements Dispatcher.DispatchHandler {
  readonly reply: Promise<UpstreamReply>;
  readonly #signal: AbortSignal;
  #resolve!: (reply: UpstreamReply) => void;
  #reject!: (error: Error) => void;
  #controller: Dispatcher.DispatchController | undefined;
  #chunks: Buffer[] = [];
  #bytes = 0;
  #ended = false;
  #failure: Refusal | undefined;
  /** Set once nobody reads on. */
  #released: NodeJS.Timeout | undefined;
  /** Wakes the reader that waits for bytes. */
  #wake: (() => void) | undefined;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
    this.reply = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    signal.addEventListener("abort", this.#onAbort, { once: true });
    if (signal.aborted) this.#onAbort();
  }

  readonly #onAbort = () => {
    this.#fail(cancelled());
    this.#controller?.abort(new Error("the caller went away"));
  };

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // It may have waited for a connection while its caller left.
    if (this.#failure) controller.abort(this.#failure);
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: UpstreamReply["headers"]): void {
    if (status >= 200) this.#resolve({ status, headers, body: this.#body() });
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#released) return;
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    if (this.#bytes >= highWaterBytes) controller.pause();
    this.#wake?.();
  }

  onResponseEnd(): void {
    this.#ended = true;
    clearTimeout(this.#released);
    this.#signal.removeEventListener("abort", this.#onAbort);
    this.#wake?.();
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#fail(refusalOf(error));
  }

  #fail(refusal: Refusal): void {
    if (this.#ended || this.#failure) return;
    this.#failure = refusal;
    this.#signal.removeEventListener("abort", this.#onAbort);
    this.#reject(refusal);
    this.#wake?.();
  }

  async *#body(): AsyncGenerator<readonly Buffer[]> {
    try {
      for (;;) {
        if (this.#failure) throw this.#failure;
        if (this.#chunks.length > 0) yield this.#take();
        else if (this.#ended) return;
        else await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    } finally {
      this.#release();
    }
  }

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
    if (this.#controller?.paused) this.#controller.resume();
    return chunks;
  }
}

function refusalOf(error: Error & { code?: string }): Refusal {
  switch (error.code) {
    case "UND_ERR_HEADERS_TIMEOUT":
    case "UND_ERR_BODY_TIMEOUT":
      return upstreamTimeout();
    case "UND_ERR_CONNECT_TIMEOUT":
    case "ECONNREFUSED":
    case "ENOTFOUND":
    case "EHOSTUNREACH":
      return upstreamFailed("it cannot be reached", error);
  }
  return upstreamFailed("the connection to it broke", error);
}

/** Reads a body whole. Throws a Refusal where it is larger than `maxBytes`. */
export async function readWhole(body: UpstreamReply["body"], maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const batch of body) {
    for (const chunk of batch) {
      bytes += chunk.length;
      chunks.push(chunk);
    }
    if (bytes > maxBytes) throw upstreamFailed("its answer is too large");
  }
  return chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks);
}
