/**
 * A client's connection as long as what comes on it is plain (`served-request.ts`): one request after another, each answered
 * before the next is looked at. With the first one that is not, the connection is handed over with every byte of it, and for
 * good: nothing is decided here that Node's own server would decide otherwise.
 */
import { channel } from "node:diagnostics_channel";
import type { Socket } from "node:net";
import { keptSeconds, PlainAnswer } from "./served-answer.ts";
import { longestRequest, type PlainRequest, readRequest } from "./served-request.ts";

/** Who listens in on Node's own servers hears of these requests, too. */
const requestStart = channel("http.server.request.start");

export interface ServeOptions {
  /** Answers a request. Returns false, and does nothing, where it is for somebody else. */
  readonly serve: (request: PlainRequest, answer: PlainAnswer) => boolean;
  /** Told when it is gone or handed over. */
  readonly onOver: (connection: ServedConnection) => void;
  /** Takes the connection, whose unread bytes stand in the socket. */
  readonly handOver: (socket: Socket) => void;
}

/** How long a client may take to hear that its connection has ended. */
const lingerMs = 1_000;
/** How long a request may take to come whole, before somebody more patient waits for it. */
const partialMs = 1_000;

export class ServedConnection {
  readonly #socket: Socket;
  readonly #options: ServeOptions;
  /** What has come and is not answered: the beginning of a request, or those behind the one that is. */
  #held: Buffer | undefined;
  #answer: PlainAnswer | undefined;
  #isClosing = false;

  constructor(socket: Socket, options: ServeOptions) {
    this.#socket = socket;
    this.#options = options;
    socket.setTimeout(keptSeconds * 1000, this.#onTimeout);
    socket.on("data", this.#onData).on("end", this.#onEnd).on("error", drop);
    socket.on("drain", this.#onDrain).on("close", this.#onClose);
  }

  /** Ends it when its answer has ended, or at once. */
  close(): void {
    this.#isClosing = true;
    if (this.#answer) this.#answer.isLast = true;
    else if (this.#held) this.#handOver(this.#held);
    else this.#finish();
  }

  /** Ends it, whatever runs. */
  cut(): void {
    this.#socket.destroy();
  }

  readonly #onData = (bytes: Buffer): void => {
    const all = this.#held ? Buffer.concat([this.#held, bytes]) : bytes;
    if (!this.#answer) return void this.#take(all);
    this.#held = all;
    if (all.length > longestRequest) this.#socket.pause();
  };

  #take(bytes: Buffer): void {
    const read = readRequest(bytes, this.#socket);
    if (read === "more") {
      this.#held = bytes;
      this.#socket.setTimeout(partialMs);
      return;
    }
    if (read === "other") return void this.#handOver(bytes);
    const wasPartial = this.#held !== undefined;
    this.#held = read.rest;
    const answer = new PlainAnswer(this.#socket, this.#onAnswered);
    answer.isLast = this.#isClosing;
    this.#answer = answer;
    if (wasPartial) this.#socket.setTimeout(keptSeconds * 1000);
    const { request } = read;
    if (requestStart.hasSubscribers) requestStart.publish({ request, response: answer, socket: this.#socket });
    if (!this.#options.serve(request, answer)) this.#handOver(bytes);
  }

  readonly #onAnswered = (): void => {
    const { isLast } = this.#answer as PlainAnswer;
    this.#answer = undefined;
    if (isLast) this.#finish();
    else if (this.#held) setImmediate(this.#takeHeld);
  };

  /** Takes no more. A client that has not heard of it may send another request: were it reset, it might lose its answer. */
  #finish(): void {
    this.#held = undefined;
    this.#socket.off("data", this.#onData).resume().end();
    this.#socket.setTimeout(lingerMs);
  }

  /** Only who does not wait for answers has sent another request. */
  readonly #takeHeld = (): void => {
    const held = this.#held;
    if (!held || this.#answer || this.#socket.destroyed) return;
    this.#held = undefined;
    this.#socket.resume();
    this.#take(held);
  };

  readonly #onTimeout = (): void => {
    if (this.#answer) return;
    if (this.#held) this.#handOver(this.#held);
    else this.#socket.destroy();
  };

  /** A client that ends its side has left. */
  readonly #onEnd = (): void => {
    if (this.#answer) this.#socket.destroy();
    else this.#socket.end();
  };

  readonly #onDrain = (): void => this.#answer?.emit("drain");

  readonly #onClose = (): void => {
    this.#answer?.emit("close");
    this.#options.onOver(this);
  };

  #handOver(bytes: Buffer): void {
    const socket = this.#socket;
    this.#answer = undefined;
    this.#held = undefined;
    socket.setTimeout(0);
    socket.off("timeout", this.#onTimeout).off("data", this.#onData).off("end", this.#onEnd).off("error", drop);
    socket.off("drain", this.#onDrain).off("close", this.#onClose);
    this.#options.onOver(this);
    socket.pause();
    socket.unshift(bytes);
    this.#options.handOver(socket);
    socket.resume();
  }
}

/** The socket closes by itself; there is nobody to tell. */
function drop(): void {}
