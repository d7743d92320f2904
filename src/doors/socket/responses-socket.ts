/**
 * A WebSocket on which responses are asked for: `response.create` with a request in each message, answered by the events of its
 * stream, one a message. Each is a call of its own: admitted, reserved, charged and told of as one that is posted.
 *
 * One is answered at a time. Whichever way the client leaves, the call that runs is left as any stream is. What comes is counted
 * before it is held, and refused as bodies are; a client that no longer reads is not read from, and cut in time.
 */
import type { Socket } from "node:net";
import type { DescMethod } from "@bufbuild/protobuf";
import type { WebSocket } from "ws";
import type { Arrival, Peer } from "../../call/call.ts";
import { answerUnderWay, asRefusal, requestTimeout, socketTooOld } from "../../call/refusals.ts";
import type { Late } from "../../http1/deadlines.ts";
import { CallerAbort } from "../../runtime/caller-abort.ts";
import type { BodyLimits } from "../body/body.ts";
import type { BodyBudget } from "../body/body-budget.ts";
import { refusalMessage } from "../rest/refusal-answers.ts";
import { type Door, serve } from "../serve.ts";
import { ClientWatch } from "./client-watch.ts";
import { ConnectionMemory } from "./connection-memory.ts";
import { PartialMessage } from "./partial-message.ts";
import { sendText } from "./send-text.ts";
import { SocketExchange } from "./socket-exchange.ts";
import { isReceipt } from "./socket-request.ts";

export interface ResponsesSocketOptions extends Door {
  /** The RPC that answers with a stream of events. */
  readonly method: DescMethod;
  readonly body: BodyLimits;
  /** The room for what connections remember. */
  readonly memories: BodyBudget;
  readonly idleMs: number;
  /** Silence after which a client is asked whether it is there, while it is answered. */
  readonly pingMs: number;
  readonly newRequestId: () => string;
}

/** Whose connection it is: what the handshake said. */
export interface SocketClient {
  readonly accountId: string;
  readonly header: Arrival["header"];
  readonly peer: Peer;
}

/** The codes that a connection is closed by (RFC 6455, 7.4.1). */
const codes = { normal: 1000, goingAway: 1001, notText: 1003, policy: 1008, later: 1013 } as const;
/** How long a connection lasts, as at OpenAI. */
const maxAgeMs = 3_600_000;
/** How many messages out of turn a client may send while it is answered. */
const mostOutOfTurn = 32;
/** How long a client that is told to leave may take to hear it. */
const lingerMs = 1_000;

export class ResponsesSocket implements Late {
  readonly #ws: WebSocket;
  readonly #socket: Socket;
  readonly #client: SocketClient;
  readonly #options: ResponsesSocketOptions;
  readonly #coming: PartialMessage;
  readonly #memory: ConnectionMemory;
  readonly #watch: ClientWatch;
  readonly #openedAt = performance.now();
  /** The same for all calls of the connection: who asks whose they are knows it from the first. */
  readonly #headers = {};
  /** Of the call that is answered. */
  #running: CallerAbort | undefined;
  #idleUntil: number;
  #outOfTurn = 0;
  #isClosing = false;

  constructor(ws: WebSocket, socket: Socket, client: SocketClient, options: ResponsesSocketOptions) {
    this.#ws = ws;
    this.#socket = socket;
    this.#client = client;
    this.#options = options;
    this.#coming = new PartialMessage(options.bodies, client.accountId, options.body.timeoutMs);
    this.#memory = new ConnectionMemory(options.memories, client.accountId);
    this.#watch = new ClientWatch(ws, options.pingMs);
    this.#idleUntil = performance.now() + options.idleMs;
    ws.on("message", this.#onMessage).on("ping", this.#onPing).on("pong", this.#onPong).on("error", ignore);
    ws.on("close", this.#onClose);
    // Before the reader of frames: what there is no room for is not held.
    socket.prependListener("data", this.#onBytes);
    for (const event of ["end", "finish", "close"]) socket.once(event, this.#leave);
  }

  /** Whether nothing runs on it and nothing of a request has come. */
  get isIdle(): boolean {
    return this.#running === undefined && !this.#coming.isArriving;
  }

  get deadline(): number {
    const idleUntil = this.#running ? Number.POSITIVE_INFINITY : this.#idleUntil;
    return this.#coming.isArriving ? this.#coming.until : idleUntil;
  }

  late(): void {
    if (this.#coming.isArriving) this.#refuse(codes.policy, requestTimeout());
    else this.#end(codes.normal, "idle");
  }

  /** Ends it when its answer has ended, or at once. */
  close(): void {
    this.#isClosing = true;
    if (!this.#running) this.#end(codes.goingAway, "the gateway is stopped");
  }

  /** Ends it, whatever runs. */
  cut(): void {
    this.#ws.terminate();
  }

  readonly #onBytes = (bytes: Buffer): void => {
    this.#watch.received();
    try {
      this.#coming.add(bytes.length);
    } catch (refusal) {
      this.#refuse(codes.later, refusal);
    }
  };

  readonly #onMessage = (data: Buffer, isBinary: boolean): void => {
    this.#coming.whole();
    if (this.#ws.readyState !== this.#ws.OPEN || this.#isClosing) return;
    if (isBinary) this.#end(codes.notText, "requests are text");
    else if (isReceipt(data)) return;
    else if (this.#running) this.#answerOutOfTurn();
    else this.#begin(data);
  };

  #answerOutOfTurn(): void {
    if (++this.#outOfTurn > mostOutOfTurn) return void this.#end(codes.policy, "one request at a time");
    sendText(this.#ws, refusalMessage(answerUnderWay(), this.#options.newRequestId()));
    this.#holdUp();
  }

  /** What a client does not read it is not sent without end. */
  readonly #onPing = (payload: Buffer): void => {
    this.#coming.control(payload.length);
    if (this.#ws.readyState === this.#ws.OPEN) this.#ws.pong(payload);
    this.#holdUp();
  };

  readonly #onPong = (payload: Buffer): void => this.#coming.control(payload.length);

  readonly #leave = (): void => {
    this.#running?.abort();
  };

  readonly #onClose = (): void => {
    this.#leave();
    this.#coming.whole();
    this.#memory.end();
    this.#watch.end();
  };

  /** Begins a call. Only its exchange keeps the message, and only until it is read: the answer may last for hours. */
  #begin(message: Buffer): void {
    const abort = new CallerAbort();
    this.#running = abort;
    const { method, newRequestId } = this.#options;
    const { header, peer } = this.#client;
    const arrival = { id: newRequestId(), method, header, sameHeaders: this.#headers, peer, signal: abort };
    const connection = { ws: this.#ws, socket: this.#socket, remembered: this.#memory };
    void this.#answer(new SocketExchange(arrival, abort, message, connection));
  }

  /** Answers a request. It never rejects. */
  async #answer(exchange: SocketExchange): Promise<void> {
    this.#watch.begin();
    if (performance.now() - this.#openedAt > maxAgeMs) {
      this.#isClosing = true;
      exchange.refuse(socketTooOld());
    } else await serve(this.#options, exchange);
    this.#watch.end();
    this.#running = undefined;
    this.#outOfTurn = 0;
    this.#idleUntil = performance.now() + this.#options.idleMs;
    if (this.#isClosing) this.#end(codes.goingAway, "the gateway is stopped");
  }

  /** Reads no more of a client until it has read what waits for it. */
  #holdUp(): void {
    if (!this.#socket.writableNeedDrain || this.#ws.isPaused) return;
    this.#ws.pause();
    this.#socket.once("drain", () => this.#ws.resume());
  }

  #end(code: number, why: string): void {
    this.#isClosing = true;
    this.#leave();
    this.#ws.close(code, why);
  }

  /** Tells why, reads no more, and ends. */
  #refuse(code: number, refusal: unknown): void {
    // One that has been told to end, and goes on sending, is not waited for.
    if (this.#ws.readyState !== this.#ws.OPEN) {
      this.cut();
      return;
    }
    sendText(this.#ws, refusalMessage(asRefusal(refusal), this.#options.newRequestId()));
    this.#end(code, "");
    this.#coming.whole();
    this.#socket.removeAllListeners("data").resume();
    const cut = setTimeout(() => this.cut(), lingerMs);
    this.#socket.once("close", () => clearTimeout(cut));
  }
}

/** The connection closes by itself, by the code of what was wrong. */
function ignore(): void {}
