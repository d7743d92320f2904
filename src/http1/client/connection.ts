/**
 * One connection to a server of HTTP/1.1: one request at a time and its answer, as long as both sides keep it.
 *
 * An answer is read strictly (RFC 9112): what cannot be told apart from what an intermediary would read otherwise breaks the
 * connection off. Its bytes are handed on as they come, all that one read of the socket has brought together.
 */
import type { Socket } from "node:net";
import type { Deadlines } from "../../runtime/deadlines.ts";
import { ChunkedDecoder } from "../chunked.ts";
import { type Body, writeMessage } from "../write-message.ts";
import { ClosedError, type PhaseTimeouts, type ReplyHandler, type SentRequest } from "./contract.ts";
import {
  announcesBody,
  checkInterim,
  type Framing,
  framingOf,
  hasNoBody,
  notUnderstood,
  usuallyKeptMs,
} from "./reply.ts";
import { ReplyHeads } from "./reply-heads.ts";
import { reusableForMs } from "./reuse.ts";

/** Connects to the server, and has what it sends called back with. */
export type Open = (onData: (bytes: Buffer) => void) => {
  readonly socket: Socket;
  /** The event that says that it is connected. */
  readonly connected: "connect" | "secureConnect";
};

export interface ConnectionOptions {
  readonly open: Open;
  readonly timeouts: PhaseTimeouts;
  readonly deadlines: Deadlines;
  /** Told when it can take a request again. */
  readonly onIdle: (connection: Connection) => void;
  readonly onClosed: (connection: Connection) => void;
  /** Whether a head that comes again is known by its bytes, and not read again. */
  readonly remembersHeads: boolean;
}

const empty = Buffer.alloc(0);

export class Connection implements SentRequest {
  readonly #socket: Socket;
  readonly #options: ConnectionOptions;
  readonly #heads: ReplyHeads;
  #replies: ReplyHandler | undefined;
  #isConnected = false;
  /** What is sent as soon as there is a connection. */
  #waiting: (() => void) | undefined;
  /** The beginning of a head. */
  #held: Buffer = empty;
  /** Undefined while the head has not come. */
  #framing: Framing | undefined;
  /** What its head says of an answer's end (`Ending`): the head is not kept for as long as its body lasts. */
  #keptMs = usuallyKeptMs;
  #isBodyInDoubt = false;
  #isEarly = false;
  readonly #isEncrypted: boolean;
  /** How many interim answers have come before it. */
  #interim = 0;
  /** When what is waited for is late, or the server no longer keeps it, by `performance.now()`. */
  deadline = Number.POSITIVE_INFINITY;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#heads = new ReplyHeads(options.remembersHeads);
    const { socket, connected } = options.open(this.#onData);
    this.#socket = socket;
    this.#isEncrypted = connected === "secureConnect";
    // A server that sends something before it is asked is found out: the socket is read once more first.
    socket.once(connected, () => setImmediate(setImmediate, this.#begin));
    socket.once("end", () => this.#leave(new ClosedError("it closed the connection")));
    socket.on("error", (error) => this.#leave(error));
    socket.once("close", () => this.#leave(new ClosedError("the connection was closed")));
    options.deadlines.watch(this);
  }

  /** Sends a request, whose head is text of one byte a character; once more only after it was told to be idle. */
  send(head: string, body: Body | undefined, replies: ReplyHandler): void {
    this.#replies = replies;
    this.#framing = undefined;
    this.#isEarly = false;
    this.#interim = 0;
    if (this.#isConnected) return void this.#write(head, body, replies);
    this.#expect("connectMs");
    this.#waiting = () => this.#write(head, body, replies);
  }

  readonly #begin = (): void => {
    this.#isConnected = true;
    this.#waiting?.();
  };

  #write(head: string, body: Body | undefined, replies: ReplyHandler): void {
    this.#waiting = undefined;
    // Its caller may have left while the connection was made, which is as good for another.
    if (replies.isCancelled) return void this.#becomeIdle(performance.now(), this.#keptMs);
    this.#expect("firstByteMs");
    replies.onSent(this);
    writeMessage(this.#socket, head, body);
  }

  /** Whether its server still keeps it at this moment, while nothing runs. */
  isKeptAt(now: number): boolean {
    return now < this.deadline;
  }

  /** Whether all has gone out that was sent. Of an encrypted connection that is known at the end of a turn. */
  get isWritten(): boolean {
    return this.#socket.writableLength === 0;
  }

  get isPaused(): boolean {
    return this.#socket.isPaused();
  }

  pause(): void {
    this.#socket.pause();
  }

  /** What is read on from here has all its time. */
  resume(): void {
    this.#expect("idleMs");
    this.#socket.resume();
  }

  /** Breaks off what runs, which is told nothing more. */
  abort(): void {
    this.#replies = undefined;
    this.#letGo();
  }

  /** Has been told by the deadlines. */
  onDeadline(): void {
    const replies = this.#replies;
    // Who does not read on keeps the server from telling more.
    if (replies && this.#framing !== undefined && this.isPaused) return void this.#expect("idleMs");
    this.abort();
    if (replies)
      replies.onTimeout(this.#isConnected ? (this.#framing === undefined ? "firstByteMs" : "idleMs") : "connectMs");
  }

  #expect(part: keyof PhaseTimeouts, now = performance.now()): void {
    this.deadline = now + this.#options.timeouts[part];
  }

  readonly #onData = (bytes: Buffer): void => {
    if (!this.#replies) return void this.#letGo(); // It answers what nobody asked.
    if (!this.#isConnected) return void this.#leave(notUnderstood("it came before anything was asked"));
    try {
      this.#take(bytes, performance.now());
    } catch (error) {
      this.#leave(error as Error);
    }
  };

  #take(bytes: Buffer, now: number): void {
    const rest = this.#framing === undefined ? this.#readHead(bytes, now) : bytes;
    if (rest && (rest.length > 0 || this.#framing === 0)) this.#readBody(rest, now);
  }

  /** Returns what came behind the head; undefined while that is not whole. */
  #readHead(bytes: Buffer, now: number): Buffer | undefined {
    const all = this.#held.length === 0 ? bytes : Buffer.concat([this.#held, bytes]);
    const beginning = this.#heads.read(all);
    this.#held = beginning ? empty : all;
    if (!beginning) return undefined;
    const { head, length, from } = beginning;
    const rest = all.subarray(from);
    if (!this.isWritten) this.#noteEarly();
    if (head.status < 200) {
      checkInterim(head, ++this.#interim);
      return rest.length > 0 ? this.#readHead(rest, now) : undefined;
    }
    this.#keptMs = head.keptMs;
    this.#isBodyInDoubt = hasNoBody(head.status) && announcesBody(head);
    this.#framing = framingOf(head, length);
    this.#expect("idleMs", now);
    this.#replies?.onHead(head.status, head.fields);
    return rest;
  }

  /** What is encrypted counts as written at the end of the turn, and no sooner: until then a quick answer is no early one. */
  #noteEarly(): void {
    const replies = this.#replies;
    if (!this.#isEncrypted) this.#isEarly = true;
    else setImmediate(() => (this.#isEarly ||= this.#replies === replies && !this.isWritten));
  }

  #readBody(bytes: Buffer, now: number): void {
    this.#expect("idleMs", now);
    const framing = this.#framing as Framing;
    if (framing === "close") return void this.#replies?.onBody([bytes]);
    if (framing instanceof ChunkedDecoder) return void this.#readChunks(framing, bytes, now);
    const isMore = bytes.length > framing;
    const piece = isMore ? bytes.subarray(0, framing) : bytes;
    this.#framing = framing - piece.length;
    if (piece.length > 0) this.#replies?.onBody([piece]);
    if (this.#framing === 0) this.#finish(isMore, now);
  }

  #readChunks(chunks: ChunkedDecoder, bytes: Buffer, now: number): void {
    const pieces: Buffer[] = [];
    let taken: number;
    try {
      taken = chunks.decode(bytes, pieces);
    } finally {
      // What came before a fault is the caller's.
      if (pieces.length > 0) this.#replies?.onBody(pieces);
    }
    if (chunks.isComplete) this.#finish(taken < bytes.length, now);
  }

  #finish(isMoreBehind: boolean, now: number): void {
    const replies = this.#replies;
    const [keptMs, isBodyInDoubt, isEarly] = [this.#keptMs, this.#isBodyInDoubt, this.#isEarly];
    const isWriting = !this.isWritten && !this.#isEncrypted;
    const ms = reusableForMs({ keptMs, isBodyInDoubt, isEarly, isMoreBehind, isWriting });
    if (replies && ms > 0) this.#becomeIdle(now, ms);
    else this.#letGo();
    this.#replies = undefined;
    replies?.onEnd();
  }

  #becomeIdle(now: number, forMs: number): void {
    this.#replies = undefined;
    this.#framing = undefined;
    this.deadline = now + forMs;
    if (this.isPaused) this.#socket.resume();
    this.#options.onIdle(this);
  }

  /** The connection is gone, or of no use: that ends a body that has no other end. */
  #leave(error: Error): void {
    const replies = this.#replies;
    this.#replies = undefined;
    this.#letGo();
    if (!replies) return;
    if (this.#framing === "close" && error instanceof ClosedError) replies.onEnd();
    else replies.onError(error);
  }

  /** At once, and not when the socket says so: nobody may be given it meanwhile. */
  #letGo(): void {
    this.#waiting = undefined;
    this.#options.deadlines.forget(this);
    this.#options.onClosed(this);
    this.#socket.destroy();
  }
}
