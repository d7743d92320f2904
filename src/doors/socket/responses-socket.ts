/**
 * A WebSocket for responses: each message is a `response.create` with a request, answered by the events of its stream, one a
 * message. Each is a call of its own, admitted, charged and observed like one over HTTP.
 *
 * One call runs at a time. However the client leaves, the running call is aborted like any stream. Incoming bytes are counted
 * before they are held, and refused like bodies. A client that stops reading is not read from, and cut in time.
 */
import type { Socket } from "node:net";
import type { DescMethod } from "@bufbuild/protobuf";
import type { WebSocket } from "ws";
import type { Arrival, Peer } from "../../call/call.ts";
import { answerUnderWay, asRefusal, requestTimeout, socketTooOld } from "../../call/refusals.ts";
import { CallerAbort } from "../../runtime/caller-abort.ts";
import type { Timed } from "../../runtime/deadlines.ts";
import { discardInTurns } from "../../runtime/read-turns.ts";
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
  /** The room for the memories of all connections. */
  readonly memories: BodyBudget;
  /** idleMs is how long a connection may be without a call, in milliseconds. */
  readonly idleMs: number;
  /** The time between pings while a client is answered, in milliseconds. */
  readonly pingMs: number;
  readonly newRequestId: () => string;
}

/** SocketClient is the client of a connection, as its handshake introduced it. */
export interface SocketClient {
  readonly accountId: string;
  readonly header: Arrival["header"];
  readonly peer: Peer;
}

/** The codes of close frames (RFC 6455, 7.4.1). */
const codes = { normal: 1000, goingAway: 1001, notText: 1003, policy: 1008, later: 1013 } as const;
/** maxAgeMs is how long a connection takes requests, as at OpenAI. */
const maxAgeMs = 3_600_000;
/** The most messages that a client may send while it is answered. */
const maxOutOfTurn = 32;
/** lingerMs is how long a refused client may take to read why, in milliseconds. */
const lingerMs = 1_000;

export class ResponsesSocket implements Timed {
  readonly #ws: WebSocket;
  readonly #socket: Socket;
  readonly #client: SocketClient;
  readonly #options: ResponsesSocketOptions;
  readonly #partial: PartialMessage;
  readonly #memory: ConnectionMemory;
  readonly #watch: ClientWatch;
  readonly #openedAt = performance.now();
  /** The same object for all calls of the connection, so that authentication recognises their headers. */
  readonly #headers = {};
  /** Aborts the call that is answered; undefined while none is. */
  #running: CallerAbort | undefined;
  #idleUntil: number;
  #outOfTurn = 0;
  #isClosing = false;

  constructor(ws: WebSocket, socket: Socket, client: SocketClient, options: ResponsesSocketOptions) {
    this.#ws = ws;
    this.#socket = socket;
    this.#client = client;
    this.#options = options;
    this.#partial = new PartialMessage(options.bodies, client.accountId, options.body.timeoutMs);
    this.#memory = new ConnectionMemory(options.memories, client.accountId);
    this.#watch = new ClientWatch(ws, options.pingMs);
    this.#idleUntil = performance.now() + options.idleMs;
    ws.on("message", this.#onMessage).on("ping", this.#onPing).on("pong", this.#onPong).on("error", ignore);
    ws.on("close", this.#onClose);
    // Before the parser of `ws`, so that bytes without room are not held.
    socket.prependListener("data", this.#onBytes);
    for (const event of ["end", "finish", "close"]) socket.once(event, this.#abortCall);
  }

  /** isIdle is whether no call runs and no part of a request has arrived. */
  get isIdle(): boolean {
    return this.#running === undefined && !this.#partial.isArriving;
  }

  get deadline(): number {
    const idleUntil = this.#running ? Number.POSITIVE_INFINITY : this.#idleUntil;
    return this.#partial.isArriving ? this.#partial.until : idleUntil;
  }

  onDeadline(): void {
    if (this.#partial.isArriving) this.#refuse(codes.policy, requestTimeout());
    else this.#end(codes.normal, "idle");
  }

  /** Closes the connection after the answer that runs, or at once. */
  close(): void {
    this.#isClosing = true;
    if (!this.#running) this.#end(codes.goingAway, "the gateway is stopped");
  }

  /** Closes the connection, whatever runs. */
  cut(): void {
    this.#ws.terminate();
  }

  readonly #onBytes = (bytes: Buffer): void => {
    this.#watch.received();
    try {
      this.#partial.add(bytes.length);
    } catch (refusal) {
      this.#refuse(codes.later, refusal);
    }
  };

  readonly #onMessage = (data: Buffer, isBinary: boolean): void => {
    this.#partial.complete();
    if (this.#ws.readyState !== this.#ws.OPEN || this.#isClosing) return;
    if (isBinary) this.#end(codes.notText, "requests are text");
    else if (isReceipt(data)) return;
    else if (this.#running) this.#refuseOutOfTurn();
    else this.#begin(data);
  };

  #refuseOutOfTurn(): void {
    if (++this.#outOfTurn > maxOutOfTurn) return void this.#end(codes.policy, "one request at a time");
    sendText(this.#ws, refusalMessage(answerUnderWay(), this.#options.newRequestId()));
    this.#pauseUntilRead();
  }

  /** Answers a ping, but does not queue answers without end for a client that reads none. */
  readonly #onPing = (payload: Buffer): void => {
    this.#partial.control(payload.length);
    if (this.#ws.readyState === this.#ws.OPEN) this.#ws.pong(payload);
    this.#pauseUntilRead();
  };

  readonly #onPong = (payload: Buffer): void => this.#partial.control(payload.length);

  readonly #abortCall = (): void => {
    this.#running?.abort();
  };

  readonly #onClose = (): void => {
    this.#abortCall();
    this.#partial.complete();
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

  /** Reads nothing from a client until it has read what waits for it. */
  #pauseUntilRead(): void {
    if (!this.#socket.writableNeedDrain || this.#ws.isPaused) return;
    this.#ws.pause();
    this.#socket.once("drain", () => this.#ws.resume());
  }

  #end(code: number, reason: string): void {
    this.#isClosing = true;
    this.#abortCall();
    this.#ws.close(code, reason);
  }

  /** Sends a refusal, stops reading, and closes the connection. */
  #refuse(code: number, refusal: unknown): void {
    // A client that goes on sending after the close frame is not waited for.
    if (this.#ws.readyState !== this.#ws.OPEN) {
      this.cut();
      return;
    }
    sendText(this.#ws, refusalMessage(asRefusal(refusal), this.#options.newRequestId()));
    this.#end(code, "");
    this.#partial.complete();
    discardInTurns(this.#socket.removeAllListeners("data"));
    const cut = setTimeout(() => this.cut(), lingerMs);
    this.#socket.once("close", () => clearTimeout(cut));
  }
}

/** `ws` closes the connection itself, with the code of the error. */
function ignore(): void {}
