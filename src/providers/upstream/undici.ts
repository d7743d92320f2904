/**
 * The plain client of an upstream: undici's pool behind the contract of `http1/client`.
 *
 * undici connects, writes, parses and keeps connections alive; time-outs are kept here, so that both clients keep the same
 * ones. undici's parser decides what a well-formed reply is (`test/http1/conformance` lists where it differs).
 */
import { subscribe } from "node:diagnostics_channel";
import type { Socket } from "node:net";
import { type Dispatcher, Pool } from "undici";
import {
  type Body,
  ClosedError,
  type CreateUpstreamClient,
  checkPath,
  isReset,
  type PhaseTimeouts,
  type ReplyHandler,
  type SentRequest,
  type UpstreamRequest,
  writeFields,
} from "../../http1/client/index.ts";
import { lookupElsewhere } from "../../runtime/net/metadata-addresses.ts";
import { createDeadlines, type Deadlines, type Timed } from "../../runtime/time/deadlines.ts";
import { sendAtTurnEnd } from "../../runtime/turn-end.ts";

const maxHeaderBytes = 32_768;
/** maxInterimReplies is how many interim replies may precede a reply. */
const maxInterimReplies = 32;
/** undici's own connect time-out destroys the socket that is still connecting, after the exchange has timed out. */
const connectGraceMs = 2_000;
/** Longer bodies are iterated over: undici then closes a connection whose reply ends before its request is written. In bytes. */
const maxUniterated = 65_536;

/** createUndiciClient creates a client of the server at `origin` over undici. Connections are not limited in number. */
export const createUndiciClient: CreateUpstreamClient = (origin, timeouts) => {
  const connectTimeout = Number.isFinite(timeouts.connectMs) ? timeouts.connectMs + connectGraceMs : 0;
  const createPool = (keptMs: number, mostMs: number) =>
    new Pool(origin, {
      allowH2: false,
      pipelining: 1,
      maxHeaderSize: maxHeaderBytes,
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: keptMs,
      keepAliveTimeoutThreshold: 1_000,
      keepAliveMaxTimeout: mostMs,
      connectTimeout,
      connect: { lookup: lookupElsewhere },
    });
  let pool = createPool(4_000, 600_000);
  const deadlines = createDeadlines();
  const linesOf = createLinesReader();
  let closing: Promise<void> | undefined;
  return {
    send(request, handler) {
      const options = dispatchOptions(request, linesOf);
      const exchange = new UndiciExchange(handler, timeouts, deadlines);
      // By the end of the turn connections that the server closed meanwhile are known, and are not used.
      sendAtTurnEnd(() => {
        if (handler.isCancelled) exchange.cancel();
        else pool.dispatch(options, exchange);
      });
    },
    close() {
      closing ??= new Promise<void>(sendAtTurnEnd).then(() => {
        const closed = pool;
        // For calls that still send. Its connections end a millisecond after their replies, and a pool without any needs no close.
        pool = createPool(1, 1);
        return closed.close();
      });
      return closing;
    },
  };
};

type ReadLines = (lines: string) => readonly string[];

function dispatchOptions({ method, path, common, fields, body }: UpstreamRequest, linesOf: ReadLines) {
  checkPath(path);
  writeFields(fields); // Throws for a forbidden value.
  const headers: string[] = common ? [...linesOf(common)] : [];
  for (const name in fields) headers.push(name, fields[name] as string);
  if (body === undefined) return { method, path, headers };
  const length = Buffer.isBuffer(body) ? body.length : body.reduce((sum, piece) => sum + piece.length, 0);
  headers.push("content-length", `${length}`);
  return { method, path, headers, body: sendable(body, length) } satisfies Dispatcher.DispatchOptions;
}

function sendable(body: Body, length: number): Buffer {
  if (length <= maxUniterated) return Buffer.isBuffer(body) ? body : Buffer.concat(body, length);
  // undici documents iterables, which its types leave out.
  return (Buffer.isBuffer(body) ? [body] : body) as unknown as Buffer;
}

/** maxKnownLines is how many different texts of common lines are remembered. */
const maxKnownLines = 16;

/** createLinesReader returns a function that reads header lines as names and values in turn. It remembers the latest texts. */
function createLinesReader(): ReadLines {
  const known = new Map<string, readonly string[]>();
  return (lines) => {
    const found = known.get(lines);
    if (found) return found;
    const read = lines
      .split("\r\n")
      .filter((line) => line !== "")
      .flatMap((line) => {
        const colon = line.indexOf(":");
        return [line.slice(0, colon), line.slice(colon + 1).trim()];
      });
    if (known.size >= maxKnownLines) known.clear();
    known.set(lines, read);
    return read;
  };
}

/** starting is the exchange whose request undici begins in this turn. */
let starting: UndiciExchange | undefined;

// undici tells nobody else which connection a request is sent over.
subscribe("undici:client:sendHeaders", (message) => {
  if (starting) starting.socket = (message as { readonly socket: Socket }).socket;
  starting = undefined;
});

/** One request over undici: passes undici's events on, and keeps the time-outs. */
class UndiciExchange implements Dispatcher.DispatchHandler, SentRequest, Timed {
  /** Undefined once the exchange has ended: nothing is called any more. */
  #handler: ReplyHandler | undefined;
  readonly #timeouts: PhaseTimeouts;
  readonly #deadlines: Deadlines;
  #controller: Dispatcher.DispatchController | undefined;
  #phase: keyof PhaseTimeouts = "connectMs";
  #interimReplies = 0;
  isPaused = false;
  /** The connection that it is sent over, once that is known. */
  socket: Socket | undefined;
  /** deadline is when the phase takes too long, by `performance.now()`. */
  deadline = 0;

  constructor(handler: ReplyHandler, timeouts: PhaseTimeouts, deadlines: Deadlines) {
    this.#handler = handler;
    this.#timeouts = timeouts;
    this.#deadlines = deadlines;
    this.#begin("connectMs");
    deadlines.watch(this);
  }

  #begin(phase: keyof PhaseTimeouts): void {
    this.#phase = phase;
    this.deadline = performance.now() + this.#timeouts[phase];
  }

  /** Ends the exchange. Returns the handler, for its last call; undefined if the exchange has ended already. */
  #end(): ReplyHandler | undefined {
    const handler = this.#handler;
    this.#handler = undefined;
    this.#deadlines.forget(this);
    return handler;
  }

  /** Ends the exchange before it was sent. */
  cancel(): void {
    this.#end();
  }

  /** The system does not report a reset of a connection that nobody reads, so it is asked at each look at the deadlines. */
  pause(): void {
    this.isPaused = true;
    this.#controller?.pause();
    if (this.#phase === "idleMs") this.deadline = performance.now();
  }

  resume(): void {
    this.isPaused = false;
    this.#begin("idleMs");
    // undici's parser must not be entered from a callback of its own, be it of another connection.
    queueMicrotask(() => {
      if (!this.isPaused && this.#handler) this.#controller?.resume();
    });
  }

  abort(): void {
    this.#end();
    this.#controller?.abort(new Error("the exchange was broken off"));
  }

  onDeadline(): void {
    if (this.#phase === "idleMs" && this.isPaused) {
      if (this.socket && isReset(this.socket)) this.#handler?.onReset?.(new ClosedError("the connection was reset"));
      return;
    }
    const phase = this.#phase;
    const handler = this.#end();
    this.abort();
    if (!handler?.isCancelled) handler?.onTimeout(phase);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    const handler = this.#handler;
    if (!handler || handler.isCancelled) return void this.abort();
    this.#begin("firstByteMs");
    starting = this;
    handler.onSent(this);
  }

  onResponseStart(
    _: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ) {
    if (status < 200) return this.#checkInterim(status);
    this.#begin("idleMs");
    this.#handler?.onHead(status, headers);
  }

  #checkInterim(status: number): void {
    if (status !== 101 && ++this.#interimReplies <= maxInterimReplies) return;
    const handler = this.#end();
    this.abort();
    handler?.onError(new Error("the answer is not understood: an interim reply is unexpected"));
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#begin("idleMs");
    this.#handler?.onBody([chunk]);
  }

  onResponseEnd(): void {
    this.#end()?.onEnd();
  }

  onResponseError(_: Dispatcher.DispatchController | null, error: Error & { code?: string }): void {
    this.#end()?.onError(error.code === "UND_ERR_SOCKET" ? new ClosedError(error.message, { cause: error }) : error);
  }
}
