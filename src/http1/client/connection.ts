/**
 * One connection to an HTTP/1.1 server: one request at a time and its reply, for as long as both sides keep it.
 *
 * A reply is read strictly (RFC 9112): one that an intermediary could read in another way breaks the connection off. Its bytes
 * are handed on as they come, all that one read of the socket brought together.
 */
import type { Socket } from "node:net";
import type { Deadlines, Timed } from "../../runtime/time/deadlines.ts";
import { ChunkedDecoder } from "../chunked.ts";
import { isReset } from "../node-internals.ts";
import { type Body, writeMessage } from "../write-message.ts";
import type { Connector } from "./connector.ts";
import { ClosedError, type PhaseTimeouts, type ReplyHandler, type SentRequest } from "./contract.ts";
import { announcesBody, checkInterim, defaultKeepMs, type Framing, framingOf, hasNoBody, malformed } from "./reply.ts";
import { ReplyHeads } from "./reply-heads.ts";
import { reusableForMs } from "./reuse.ts";
import { mayWriteNow } from "./write-turns.ts";

export interface ConnectionOptions {
  readonly connect: Connector;
  readonly timeouts: PhaseTimeouts;
  readonly deadlines: Deadlines;
  /** Called when the connection can take another request. */
  readonly onIdle: (connection: Connection) => void;
  readonly onClosed: (connection: Connection) => void;
  /** remembersHeads is whether a head that comes again is known by its bytes, and not read again. */
  readonly remembersHeads: boolean;
}

/** A request that is ready to be sent. */
export interface WrittenRequest {
  /** Latin-1. */
  readonly head: string;
  readonly body: Body | undefined;
  readonly handler: ReplyHandler;
}

/** State is what a connection is doing. */
type State =
  | { readonly kind: "connecting"; readonly request: WrittenRequest }
  | { readonly kind: "idle" }
  | Exchange
  | { readonly kind: "closed" };

/** A request that has been sent, and its reply as far as it has come. */
interface Exchange {
  readonly kind: "exchanging";
  readonly handler: ReplyHandler;
  /** The beginning of a head that has not come whole. */
  head: Buffer;
  /** framing is how the body ends. Undefined until the head has come. */
  framing: Framing | undefined;
  /** interimReplies is how many interim replies have come. */
  interimReplies: number;
  /**
   * keptMs and the members below decide whether the connection may be reused (`Ending`). The head itself is not kept while the body lasts.
   */
  keptMs: number;
  isBodyInDoubt: boolean;
  isEarly: boolean;
}

const empty = Buffer.alloc(0);
const idle: State = { kind: "idle" };
const closed: State = { kind: "closed" };

/** Connection carries one exchange at a time. Its owner is the pool. */
export class Connection implements SentRequest, Timed {
  readonly #socket: Socket;
  readonly #options: ConnectionOptions;
  readonly #isEncrypted: boolean;
  readonly #heads: ReplyHeads;
  #state: State;
  /** deadline is when the phase takes too long, or the server no longer keeps the connection, by `performance.now()`. */
  deadline = Number.POSITIVE_INFINITY;

  /** Connects, and then sends the request. */
  constructor(options: ConnectionOptions, request: WrittenRequest) {
    this.#options = options;
    this.#heads = new ReplyHeads(options.remembersHeads);
    this.#state = { kind: "connecting", request };
    const { socket, connected } = options.connect(this.#onData);
    this.#socket = socket;
    this.#isEncrypted = connected === "secureConnect";
    // A server that sends something before it is asked is found out: the socket is read once more first.
    socket.once(connected, () => setImmediate(setImmediate, this.#onConnected));
    socket.once("end", () => this.#fail(new ClosedError("it closed the connection")));
    socket.on("error", (error) => this.#fail(error));
    socket.once("close", () => this.#fail(new ClosedError("the connection was closed")));
    this.#expect("connectMs");
    options.deadlines.watch(this);
  }

  /** Sends another request. The connection must be idle. */
  send({ head, body, handler }: WrittenRequest): void {
    this.#state = {
      kind: "exchanging",
      handler,
      head: empty,
      framing: undefined,
      interimReplies: 0,
      keptMs: 0,
      isBodyInDoubt: false,
      isEarly: false,
    };
    this.#expect("firstByteMs");
    handler.onSent(this);
    writeMessage(this.#socket, head, body);
  }

  /** Reports that the server still keeps the idle connection at this moment. */
  isKeptAt(now: number): boolean {
    return now < this.deadline;
  }

  /** Reports that all that was sent has gone out. For an encrypted connection that is known at the end of a turn. */
  get isWritten(): boolean {
    return this.#socket.writableLength === 0;
  }

  get isPaused(): boolean {
    return this.#socket.isPaused();
  }

  /** The system does not report a reset of a connection that nobody reads, so it is asked at each look at the deadlines. */
  pause(): void {
    this.#socket.pause();
    this.deadline = performance.now();
  }

  resume(): void {
    this.#expect("idleMs");
    this.#socket.resume();
  }

  /** Closes the connection. The handler is not called any more. */
  abort(): void {
    this.#close();
  }

  onDeadline(): void {
    const state = this.#state;
    if (state.kind === "exchanging" && state.framing !== undefined && this.isPaused) {
      if (isReset(this.#socket)) state.handler.onReset?.(new ClosedError("the connection was reset"));
      return;
    }
    this.#close();
    if (state.kind === "connecting") state.request.handler.onTimeout("connectMs");
    if (state.kind === "exchanging") state.handler.onTimeout(state.framing === undefined ? "firstByteMs" : "idleMs");
  }

  #expect(phase: keyof PhaseTimeouts, now = performance.now()): void {
    this.deadline = now + this.#options.timeouts[phase];
  }

  readonly #onConnected = (): void => {
    if (this.#state.kind !== "connecting") return;
    const { request } = this.#state;
    // The connection of a cancelled request serves another.
    if (request.handler.isCancelled) this.#becomeIdle(performance.now(), defaultKeepMs);
    else if (mayWriteNow(request.body)) this.send(request);
    else setImmediate(this.#onConnected);
  };

  readonly #onData = (bytes: Buffer): void => {
    const state = this.#state;
    if (state.kind === "connecting") this.#fail(malformed("it came before anything was asked"));
    else if (state.kind !== "exchanging")
      this.#close(); // It answers what was not asked.
    else {
      try {
        this.#read(state, bytes, performance.now());
      } catch (error) {
        this.#fail(error as Error);
      }
    }
  };

  #read(exchange: Exchange, bytes: Buffer, now: number): void {
    const rest = exchange.framing === undefined ? this.#readHead(exchange, bytes, now) : bytes;
    if (rest && (rest.length > 0 || exchange.framing === 0)) this.#readBody(exchange, rest, now);
  }

  /** Returns what came behind the head; undefined while the head is not complete. */
  #readHead(exchange: Exchange, bytes: Buffer, now: number): Buffer | undefined {
    const all = exchange.head.length === 0 ? bytes : Buffer.concat([exchange.head, bytes]);
    const beginning = this.#heads.read(all);
    exchange.head = beginning ? empty : all;
    if (!beginning) return undefined;
    const { head, length, from } = beginning;
    const rest = all.subarray(from);
    if (!this.isWritten) this.#noteEarly(exchange);
    if (head.status < 200) {
      checkInterim(head, ++exchange.interimReplies);
      return rest.length > 0 ? this.#readHead(exchange, rest, now) : undefined;
    }
    exchange.keptMs = head.keptMs;
    exchange.isBodyInDoubt = hasNoBody(head.status) && announcesBody(head);
    exchange.framing = framingOf(head, length);
    this.#expect("idleMs", now);
    exchange.handler.onHead(head.status, head.fields);
    return rest;
  }

  /**
   * Notes that the reply began before its request was written. What is encrypted counts as written at the end of the turn, and
   * no sooner: until then a quick reply is not early.
   */
  #noteEarly(exchange: Exchange): void {
    if (!this.#isEncrypted) exchange.isEarly = true;
    else setImmediate(() => (exchange.isEarly ||= this.#state === exchange && !this.isWritten));
  }

  #readBody(exchange: Exchange, bytes: Buffer, now: number): void {
    if (this.#state !== exchange) return; // The handler of the head has aborted.
    this.#expect("idleMs", now);
    const { framing, handler } = exchange;
    if (framing === "close") handler.onBody([bytes]);
    else if (framing instanceof ChunkedDecoder) this.#readChunks(exchange, framing, bytes, now);
    else this.#readCounted(exchange, framing as number, bytes, now);
  }

  #readCounted(exchange: Exchange, left: number, bytes: Buffer, now: number): void {
    const hasMore = bytes.length > left;
    const piece = hasMore ? bytes.subarray(0, left) : bytes;
    exchange.framing = left - piece.length;
    if (piece.length > 0) exchange.handler.onBody([piece]);
    if (exchange.framing === 0) this.#finish(exchange, hasMore, now);
  }

  #readChunks(exchange: Exchange, chunks: ChunkedDecoder, bytes: Buffer, now: number): void {
    const pieces: Buffer[] = [];
    let taken: number;
    try {
      taken = chunks.decode(bytes, pieces);
    } finally {
      // What came before a fault is the caller's.
      if (pieces.length > 0) exchange.handler.onBody(pieces);
    }
    if (chunks.isComplete) this.#finish(exchange, taken < bytes.length, now);
  }

  #finish(exchange: Exchange, hasMore: boolean, now: number): void {
    if (this.#state !== exchange) return; // The handler of the body has aborted.
    const { keptMs, isBodyInDoubt, isEarly } = exchange;
    const isWriting = !this.isWritten && !this.#isEncrypted;
    const forMs = reusableForMs({ keptMs, isBodyInDoubt, isEarly, hasMore, isWriting });
    if (forMs > 0) this.#becomeIdle(now, forMs);
    else this.#close();
    exchange.handler.onEnd();
  }

  #becomeIdle(now: number, forMs: number): void {
    this.#state = idle;
    this.deadline = now + forMs;
    if (this.isPaused) this.#socket.resume();
    this.#options.onIdle(this);
  }

  /** Closes the connection, which is gone or of no use. That completes a body whose end is the connection's end. */
  #fail(error: Error): void {
    const state = this.#state;
    this.#close();
    if (state.kind === "connecting") state.request.handler.onError(error);
    if (state.kind !== "exchanging") return;
    if (state.framing === "close" && error instanceof ClosedError) state.handler.onEnd();
    else state.handler.onError(error);
  }

  /** Leaves the pool at once, and not when the socket emits `close`: meanwhile it must not be given a request. */
  #close(): void {
    if (this.#state.kind === "closed") return;
    this.#state = closed;
    this.#options.deadlines.forget(this);
    this.#options.onClosed(this);
    this.#socket.destroy();
  }
}
