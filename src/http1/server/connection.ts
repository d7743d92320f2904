/**
 * A client's connection as long as what comes on it is plain (`request.ts`): one request after another, each answered
 * before the next is looked at. With the first one that is not, the connection is handed over with every byte of it, and for
 * good: nothing is decided here that Node's own server would decide otherwise.
 */
import { channel } from "node:diagnostics_channel";
import type { Socket } from "node:net";
import { BufferList } from "../buffer-list.ts";
import { flushWrites } from "../coalesce-writes.ts";
import { copyOf, readIntoSharedMemory } from "../read-buffer.ts";
import { PlainAnswer } from "./answer.ts";
import { IncomingBody } from "./incoming-body.ts";
import type { ServeOptions } from "./options.ts";
import { maxBufferedRequest, type PlainHead, plainRequest } from "./request.ts";
import { RequestHeads } from "./request-heads.ts";

/** Who listens in on Node's own servers hears of these requests, too. */
const requestStart = channel("http.server.request.start");

/** A short request whose body has not come whole. */
interface Unfinished {
  readonly head: PlainHead;
  readonly pieces: BufferList;
  /** When somebody more patient waits for the rest, by `performance.now()`. */
  readonly until: number;
}

const partialMs = 1_000;
/** How much longer a connection may be idle than its client is told. */
const graceMs = 1_000;
/** How long a client may take to hear that its connection has ended. */
const lingerMs = 1_000;

export class ServedConnection {
  readonly #socket: Socket;
  readonly #options: ServeOptions;
  readonly #heads: RequestHeads;
  readonly #readAsEver: (() => void) | undefined;
  #unfinished: Unfinished | undefined;
  /** A long body, before its end. Its answer may be over: then it is thrown away. */
  #coming: IncomingBody | undefined;
  /** What has come behind the request that is answered. */
  readonly #next = new BufferList();
  #answer: PlainAnswer | undefined;
  #isClosing = false;
  /** Until when it may be idle, by `performance.now()`. */
  #idleUntil: number;

  constructor(socket: Socket, options: ServeOptions) {
    this.#socket = socket;
    this.#options = options;
    this.#heads = new RequestHeads(options.remembersHeads);
    this.#idleUntil = this.#idleFromNow();
    options.deadlines.watch(this);
    socket.on("timeout", this.#onTimeout).on("data", this.#onData).on("end", this.#onEnd).on("error", ignore);
    socket.on("drain", this.#onDrain).on("close", this.#onClose);
    this.#readAsEver = readIntoSharedMemory(socket, this.#onRead);
  }

  /** Of one on which something runs nothing is late. */
  get deadline(): number {
    if (this.#answer || this.#unfinished) return Number.POSITIVE_INFINITY;
    return this.#coming?.until ?? this.#idleUntil;
  }

  /** Whether nothing runs on it and nothing of a request has come. */
  get isIdle(): boolean {
    const isBusy = this.#answer ?? this.#unfinished ?? this.#coming;
    return !isBusy && this.#next.length === 0 && this.#socket.writableLength === 0;
  }

  #idleFromNow(): number {
    return performance.now() + this.#options.idleMs + graceMs;
  }

  /** Ends it when its answer has ended, or at once. */
  close(): void {
    this.#isClosing = true;
    if (this.#answer) this.#answer.isLast = true;
    else if (this.#unfinished) this.#handOver(this.#unfinished.pieces.take());
    else if (this.#next.length === 0) this.#finish();
  }

  /** Ends it, whatever runs. */
  cut(): void {
    this.#socket.destroy();
  }

  readonly #onRead = (memory: Buffer, length: number): void => {
    if (this.#coming?.isCopying) this.#addTo(this.#coming, memory.subarray(0, length));
    else this.#onData(copyOf(memory, length));
  };

  readonly #onData = (bytes: Buffer): void => {
    if (this.#coming) this.#addTo(this.#coming, bytes);
    else if (this.#isOccupied()) this.#hold(bytes);
    else if (this.#unfinished) this.#add(this.#unfinished, bytes);
    else this.#begin(bytes);
  };

  /** Whether something is to be answered, or read by the client, before what comes now. */
  #isOccupied(): boolean {
    return this.#answer !== undefined || this.#next.length > 0 || this.#socket.writableNeedDrain;
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
      this.#unfinished = { head, pieces: new BufferList(), until: performance.now() + partialMs };
      this.#unfinished.pieces.add(bytes);
      this.#socket.setTimeout(partialMs);
    }
  }

  #add({ head, pieces, until }: Unfinished, bytes: Buffer): void {
    pieces.add(bytes);
    const isWhole = pieces.length >= head.to;
    if (!isWhole && performance.now() < until) return;
    const all = pieces.take();
    this.#unfinished = undefined;
    this.#socket.setTimeout(0);
    if (isWhole) this.#serve(head, all);
    else this.#handOver(all);
  }

  #serve(head: PlainHead, bytes: Buffer): void {
    const coming = head.to > maxBufferedRequest ? new IncomingBody(head.to - head.from, this.#socket) : undefined;
    const request = plainRequest(head, coming ?? bytes.subarray(head.from, head.to), this.#socket);
    const reply = this.#options.serve(request);
    if (!reply) return void this.#handOver(bytes);
    const answer = new PlainAnswer(this.#socket, this.#options.keepAlive, this.#onAnswered);
    answer.isLast = this.#isClosing;
    this.#answer = answer;
    this.#coming = coming;
    if (requestStart.hasSubscribers) requestStart.publish({ request, response: answer, socket: this.#socket });
    if (coming) this.#addTo(coming, bytes.subarray(head.from));
    else if (bytes.length > head.to) this.#hold(bytes.subarray(head.to));
    reply(answer);
    if (coming?.isUndecided) this.#socket.pause();
  }

  /** What comes behind the body waits for its answer. */
  #addTo(coming: IncomingBody, bytes: Buffer): void {
    const taken = coming.add(bytes);
    if (!coming.isWhole) return;
    this.#coming = undefined;
    if (taken < bytes.length) this.#hold(Buffer.from(bytes.subarray(taken)));
    if (!this.#answer) this.#goOn();
  }

  readonly #onAnswered = (): void => {
    const isLast = this.#answer?.isLast;
    this.#answer = undefined;
    if (isLast) this.#finish();
    else this.#goOn();
  };

  /** It is idle from now on, unless another request has come. */
  #goOn(): void {
    this.#idleUntil = this.#idleFromNow();
    if (this.#next.length > 0) setImmediate(this.#takeNext);
  }

  /** Takes no more. A client that has not heard of it may send another request: were it reset, it might lose its answer. */
  #finish(): void {
    const socket = this.#socket;
    flushWrites();
    this.#readAsEver?.();
    this.#options.deadlines.forget(this);
    socket.off("data", this.#onData).off("timeout", this.#onTimeout).setTimeout(0);
    socket.resume().end(() => {
      const cut = setTimeout(() => socket.destroy(), lingerMs);
      socket.once("close", () => clearTimeout(cut));
    });
  }

  /** Only who does not wait for answers has sent another request. */
  readonly #takeNext = (): void => {
    const { destroyed, writableNeedDrain } = this.#socket;
    if (this.#answer || this.#next.length === 0 || destroyed || writableNeedDrain) return;
    const bytes = this.#next.take();
    this.#socket.resume();
    this.#begin(bytes);
  };

  /** The socket's own timer runs while a short body comes. */
  readonly #onTimeout = (): void => {
    if (this.#unfinished && !this.#answer) this.#handOver(this.#unfinished.pieces.take());
  };

  /** Closes an idle connection, and one that keeps sending a discarded body. One that still reads its last answer is not idle. */
  onDeadline(): void {
    if (this.#coming || this.#socket.writableLength === 0) return void this.#socket.destroy();
    this.#idleUntil = this.#idleFromNow();
  }

  /** A client that ends its side has left; what was answered before is still its. */
  readonly #onEnd = (): void => {
    this.#unfinished = undefined;
    this.#next.take();
    const answer = this.#answer;
    this.#answer = undefined;
    this.#idleUntil = this.#idleFromNow();
    answer?.emit("close");
    this.#coming?.leave();
    flushWrites();
    this.#socket.end();
  };

  readonly #onDrain = (): void => {
    if (this.#answer) return void this.#answer.emit("drain");
    this.#idleUntil = this.#idleFromNow();
    this.#takeNext();
  };

  readonly #onClose = (): void => {
    this.#options.deadlines.forget(this);
    this.#answer?.emit("close");
    this.#coming?.leave();
    this.#options.onOver(this);
  };

  #handOver(bytes: Buffer): void {
    const socket = this.#socket;
    this.#readAsEver?.();
    this.#unfinished = undefined;
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

/** The socket closes by itself; there is nobody to tell. */
function ignore(): void {}
