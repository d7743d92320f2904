/**
 * A client's connection for as long as its requests are plain (`request.ts`): they are answered one after another, each before the
 * next is looked at. With the first request that is not plain the connection is handed over to Node's server for good, with every
 * byte of it: nothing is decided here that Node's server would decide in another way.
 */
import { channel } from "node:diagnostics_channel";
import type { Socket } from "node:net";
import { discardInTurns } from "../../runtime/read-turns.ts";
import type { Timed } from "../../runtime/time/deadlines.ts";
import { BufferList } from "../buffer-list.ts";
import { flushWrites } from "../coalesce-writes.ts";
import { copyOf, readIntoSharedMemory } from "../read-buffer.ts";
import { PlainAnswer } from "./answer.ts";
import { IncomingBody } from "./incoming-body.ts";
import type { ServeOptions } from "./options.ts";
import { maxBufferedRequest, type PlainHead, plainRequest } from "./request.ts";
import { RequestHeads } from "./request-heads.ts";

/** Node's servers publish their requests here; so does this one. */
const requestStart = channel("http.server.request.start");

/** State is what a connection is doing. */
type State =
  | { readonly kind: "idle" }
  | Receiving
  | {
      readonly kind: "answering";
      readonly answer: PlainAnswer /** A long body that still comes. */;
      body: IncomingBody | undefined;
    }
  /** Its last answer is over, and the rest of a long body still comes. */
  | { readonly kind: "discarding"; readonly body: IncomingBody }
  /** It takes no more requests: it was closed, or handed over. */
  | { readonly kind: "ended" };

/** A short request whose body has not come whole. */
interface Receiving {
  readonly kind: "receiving";
  readonly head: PlainHead;
  readonly pieces: BufferList;
  /** until is when Node's server takes over waiting for the rest, by `performance.now()`. */
  readonly until: number;
}

const idle: State = { kind: "idle" };
const ended: State = { kind: "ended" };

/** receivingMs is how long the rest of a short body is waited for. */
const receivingMs = 1_000;
/** graceMs is how much longer a connection may be idle than `keep-alive` says. */
const graceMs = 1_000;
/** lingerMs is how long a client may take to notice that its connection has ended. */
const lingerMs = 1_000;

/** ServedConnection serves the plain requests of one client's connection. */
export class ServedConnection implements Timed {
  readonly #socket: Socket;
  readonly #options: ServeOptions;
  readonly #heads: RequestHeads;
  readonly #emitDataAgain: (() => void) | undefined;
  #state: State = idle;
  /** next is what has come behind the request that is being answered. */
  readonly #next = new BufferList();
  /** Reports that the port closes: the next answer is the last. */
  #isClosing = false;
  /** Until when the connection may be idle, by `performance.now()`. */
  #idleUntil: number;

  constructor(socket: Socket, options: ServeOptions) {
    this.#socket = socket;
    this.#options = options;
    this.#heads = new RequestHeads(options.remembersHeads);
    this.#idleUntil = this.#idleFromNow();
    options.deadlines.watch(this);
    socket.on("timeout", this.#onTimeout).on("data", this.#onData).on("end", this.#onEnd).on("error", ignore);
    socket.on("drain", this.#onDrain).on("close", this.#onClose);
    this.#emitDataAgain = readIntoSharedMemory(socket, this.#onRead);
  }

  /** A connection that receives or answers a request has none. */
  get deadline(): number {
    const state = this.#state;
    if (state.kind === "answering" || state.kind === "receiving") return Number.POSITIVE_INFINITY;
    return state.kind === "discarding" ? (state.body.until ?? this.#idleUntil) : this.#idleUntil;
  }

  /** Reports that the connection may be closed without a loss: nothing runs on it, and nothing of a request has come. */
  get isIdle(): boolean {
    const isBusy = this.#state.kind !== "idle" && this.#state.kind !== "ended";
    return !isBusy && this.#next.length === 0 && this.#socket.writableLength === 0;
  }

  /** Reports that no key has been admitted for what it does: a request's body still comes, or the rest of one that is over. */
  get isUnadmitted(): boolean {
    return this.#state.kind === "receiving" || this.#state.kind === "discarding";
  }

  /** Reports that a body still comes. */
  get isReceiving(): boolean {
    return this.#incomingBody() !== undefined;
  }

  #idleFromNow(): number {
    return performance.now() + this.#options.idleMs + graceMs;
  }

  /** Ends the connection: at once, or with the answer that is under way. */
  close(): void {
    const state = this.#state;
    this.#isClosing = true;
    if (state.kind === "answering") state.answer.isLast = true;
    else if (state.kind === "receiving") this.#handOver(state.pieces.take());
    else if (this.#next.length === 0) this.#finish();
  }

  /** Ends the connection, whatever runs on it. */
  cut(): void {
    this.#socket.destroy();
  }

  readonly #onRead = (memory: Buffer, length: number): void => {
    const body = this.#incomingBody();
    if (body?.isCopying) this.#addTo(body, memory.subarray(0, length));
    else this.#onData(copyOf(memory, length));
  };

  readonly #onData = (bytes: Buffer): void => {
    const body = this.#incomingBody();
    if (body) this.#addTo(body, bytes);
    else if (this.#state.kind === "receiving") this.#receive(this.#state, bytes);
    else if (this.#isOccupied()) this.#hold(bytes);
    else this.#begin(bytes);
  };

  /** Returns the long body that still comes. */
  #incomingBody(): IncomingBody | undefined {
    const state = this.#state;
    return state.kind === "answering" || state.kind === "discarding" ? state.body : undefined;
  }

  /** Reports that a request is to be answered, or an answer to be read by the client, before what comes now. */
  #isOccupied(): boolean {
    return this.#state.kind === "answering" || this.#next.length > 0 || this.#socket.writableNeedDrain;
  }

  #hold(bytes: Buffer): void {
    this.#next.add(bytes);
    if (this.#next.length > maxBufferedRequest) this.#socket.pause();
  }

  #begin(bytes: Buffer): void {
    const head = this.#heads.read(bytes);
    if (!head) this.#handOver(bytes);
    else if (head.to > maxBufferedRequest || head.to <= bytes.length) this.#serve(head, bytes);
    else {
      const pieces = new BufferList();
      pieces.add(bytes);
      this.#state = { kind: "receiving", head, pieces, until: performance.now() + receivingMs };
      this.#socket.setTimeout(receivingMs);
    }
  }

  #receive({ head, pieces, until }: Receiving, bytes: Buffer): void {
    pieces.add(bytes);
    const isWhole = pieces.length >= head.to;
    if (!isWhole && performance.now() < until) return;
    this.#state = idle;
    this.#socket.setTimeout(0);
    if (isWhole) this.#serve(head, pieces.take());
    else this.#handOver(pieces.take());
  }

  /** Answers a request whose head is complete, and its body, unless that is long. */
  #serve(head: PlainHead, bytes: Buffer): void {
    const body = head.to > maxBufferedRequest ? new IncomingBody(head.to - head.from, this.#socket) : undefined;
    const request = plainRequest(head, body ?? bytes.subarray(head.from, head.to), this.#socket);
    const reply = this.#options.serve(request);
    if (!reply) return void this.#handOver(bytes);
    const answer = new PlainAnswer(this.#socket, this.#options.keepAlive, this.#onAnswered);
    answer.isLast = this.#isClosing;
    this.#state = { kind: "answering", answer, body };
    if (requestStart.hasSubscribers) requestStart.publish({ request, response: answer, socket: this.#socket });
    if (body) this.#addTo(body, bytes.subarray(head.from));
    else if (bytes.length > head.to) this.#hold(bytes.subarray(head.to));
    reply(answer);
    if (body?.isUndecided) this.#socket.pause();
  }

  /** Adds bytes to a long body. What comes behind it waits for its answer. */
  #addTo(body: IncomingBody, bytes: Buffer): void {
    const taken = body.add(bytes);
    if (!body.isWhole) return;
    const state = this.#state;
    if (state.kind === "ended") return; // The end of the body has ended the last answer.
    if (state.kind === "answering") state.body = undefined;
    else this.#state = idle;
    if (taken < bytes.length) this.#hold(Buffer.from(bytes.subarray(taken)));
    if (state.kind !== "answering") this.#goOn();
  }

  readonly #onAnswered = (): void => {
    const state = this.#state;
    if (state.kind !== "answering") return; // The client has gone meanwhile.
    const { answer, body } = state;
    this.#state = body && !body.isWhole ? { kind: "discarding", body } : idle;
    if (answer.isLast) this.#finish();
    else this.#goOn();
  };

  /** The connection is idle from now on, unless another request has come. */
  #goOn(): void {
    this.#idleUntil = this.#idleFromNow();
    if (this.#next.length > 0) setImmediate(this.#takeNext);
  }

  /**
   * Takes no more requests, and ends the connection. A client that has not noticed may send another request: if the connection
   * were reset, the client might lose its answer.
   */
  #finish(): void {
    if (this.#state.kind === "ended") return;
    if (this.#state.kind === "idle") this.#state = ended;
    const socket = this.#socket;
    flushWrites();
    this.#emitDataAgain?.();
    this.#options.deadlines.forget(this);
    socket.off("data", this.#onData).off("timeout", this.#onTimeout).setTimeout(0);
    discardInTurns(socket);
    socket.end(() => {
      const cut = setTimeout(() => socket.destroy(), lingerMs);
      socket.once("close", () => clearTimeout(cut));
    });
  }

  /** Serves the request that has come behind the one before it: from a client that does not wait for answers. */
  readonly #takeNext = (): void => {
    const { destroyed, writableNeedDrain } = this.#socket;
    if (this.#state.kind !== "idle" || this.#next.length === 0 || destroyed || writableNeedDrain) return;
    const bytes = this.#next.take();
    this.#socket.resume();
    this.#begin(bytes);
  };

  /** The socket's own timer runs while a short body is received. */
  readonly #onTimeout = (): void => {
    if (this.#state.kind === "receiving") this.#handOver(this.#state.pieces.take());
  };

  /**
   * Closes an idle connection. A connection is busy while its last answer is being written; one that keeps sending a discarded
   * body is closed at the deadline.
   */
  onDeadline(): void {
    if (this.#state.kind === "discarding" || this.#socket.writableLength === 0) this.#socket.destroy();
    else this.#idleUntil = this.#idleFromNow();
  }

  /** The client has ended its side. It still gets what was answered before. */
  readonly #onEnd = (): void => {
    const state = this.#state;
    this.#state = ended;
    this.#next.take();
    this.#idleUntil = this.#idleFromNow();
    this.#abandon(state);
    flushWrites();
    this.#socket.end();
  };

  readonly #onDrain = (): void => {
    if (this.#state.kind === "answering") return void this.#state.answer.emit("drain");
    this.#idleUntil = this.#idleFromNow();
    this.#takeNext();
  };

  readonly #onClose = (): void => {
    const state = this.#state;
    this.#state = ended;
    this.#options.deadlines.forget(this);
    this.#abandon(state);
    this.#options.onOver(this);
  };

  /** Tells the answer, and then the body, that the client has gone. */
  #abandon(state: State): void {
    if (state.kind === "answering") state.answer.emit("close");
    if (state.kind === "answering" || state.kind === "discarding") state.body?.leave();
  }

  #handOver(bytes: Buffer): void {
    const socket = this.#socket;
    this.#state = ended;
    this.#emitDataAgain?.();
    this.#options.deadlines.forget(this);
    this.#options.onOver(this);
    socket.setTimeout(0);
    socket.off("timeout", this.#onTimeout).off("data", this.#onData).off("end", this.#onEnd);
    socket.off("drain", this.#onDrain).off("close", this.#onClose);
    socket.pause();
    socket.unshift(bytes);
    this.#options.handOver(socket);
    socket.off("error", ignore).resume();
  }
}

/** The socket closes by itself after an error. */
function ignore(): void {}
