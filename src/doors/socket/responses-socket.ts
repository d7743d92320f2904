/**
 * A WebSocket for responses: each message is a `response.create` with a request, answered by the events of its stream, one a
 * message. Each is a call of its own, admitted, charged and observed like one over HTTP.
 *
 * One call runs at a time. However the client leaves, the running call is aborted like any stream. Incoming bytes are counted
 * before they are held, and refused like bodies. Frames that ask for nothing are few, or end the connection. A client that stops
 * reading is cut in time.
 */
import type { Socket } from "node:net";
import type { DescMethod } from "@bufbuild/protobuf";
import type { WebSocket } from "ws";
import type { Arrival, Peer } from "../../call/call.ts";
import { answerUnderWay, asRefusal, requestTimeout, socketTooOld } from "../../call/refusals.ts";
import { CallerAbort } from "../../runtime/caller-abort.ts";
import { discardInTurns, readInTurns } from "../../runtime/read-turns.ts";
import type { Timed } from "../../runtime/time/deadlines.ts";
import { hourMs } from "../../runtime/time/durations.ts";
import type { BodyLimits } from "../body/body.ts";
import type { BodyBudget } from "../body/body-budget.ts";
import { type Origin, originOf } from "../listener/rotation.ts";
import type { Turns } from "../listener/turns.ts";
import { refusalMessage } from "../rest/refusal-answers.ts";
import { type Door, serve } from "../serve.ts";
import { ClientWatch } from "./client-watch.ts";
import { ConnectionMemory } from "./connection-memory.ts";
import { FrameBudget } from "./frame-budget.ts";
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
  /** begins are the turns in which calls begin; ends are those in which they are aborted. */
  readonly begins: Turns;
  readonly ends: Turns;
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
const maxAgeMs = hourMs;
/** The most messages that a client may send while it is answered. */
const maxOutOfTurn = 32;
/** longMessage is the length from which on a message is read in turns with all other long bodies, in bytes. */
const longMessage = 65_536;
/** lingerMs is how long a refused client may take to read why, in milliseconds. */
const lingerMs = 1_000;

export class ResponsesSocket implements Timed {
  readonly #ws: WebSocket;
  readonly #socket: Socket;
  readonly #origin: Origin;
  readonly #client: SocketClient;
  readonly #options: ResponsesSocketOptions;
  readonly #partial: PartialMessage;
  readonly #memory: ConnectionMemory;
  readonly #watch: ClientWatch;
  readonly #frames = new FrameBudget();
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
    this.#origin = originOf(socket);
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
    for (const event of ["end", "finish", "close"]) socket.once(event, this.#abortInTurn);
  }

  /** isIdle is whether no call runs and no part of a request has arrived. */
  get isIdle(): boolean {
    return !this.isAnswering && !this.#partial.isArriving;
  }

  get isAnswering(): boolean {
    return this.#running !== undefined;
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
      return;
    }
    if (this.#partial.bytes >= longMessage) readInTurns(this.#ws, bytes.length, () => this.#ws.resume());
  };

  readonly #onMessage = (data: Buffer, isBinary: boolean): void => {
    this.#partial.complete();
    if (this.#ws.readyState !== this.#ws.OPEN || this.#isClosing) return;
    if (isBinary) this.#endUnread(codes.notText, "requests are text");
    else if (isReceipt(data)) this.#takeFrame();
    else if (this.#running) this.#refuseOutOfTurn();
    else this.#begin(data);
  };

  #refuseOutOfTurn(): void {
    if (++this.#outOfTurn > maxOutOfTurn) this.#endUnread(codes.policy, "one request at a time");
    else sendText(this.#ws, refusalMessage(answerUnderWay(), this.#options.newRequestId()));
  }

  readonly #onPing = (payload: Buffer): void => {
    this.#partial.control(payload.length);
    if (this.#takeFrame()) this.#ws.pong(payload);
  };

  readonly #onPong = (payload: Buffer): void => {
    this.#partial.control(payload.length);
    this.#takeFrame();
  };

  /** Counts a frame that asks for nothing. Returns false where the connection is closed, or closes for it. */
  #takeFrame(): boolean {
    if (this.#ws.readyState !== this.#ws.OPEN || this.#isClosing) return false;
    if (this.#frames.take()) return true;
    this.#endUnread(codes.policy, "too many pings, pongs and receipts");
    return false;
  }

  readonly #abortCall = (): void => {
    this.#running?.abort();
  };

  /** Aborts the call of a client that has left. Hundreds may leave together. */
  readonly #abortInTurn = (): void => {
    const running = this.#running;
    if (!running) return;
    const isOver = () => running.aborted;
    this.#options.ends.begin({ begin: running.abort.bind(running), isOver, origin: this.#origin });
  };

  readonly #onClose = (): void => {
    this.#abortInTurn();
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
    const exchange = new SocketExchange(arrival, abort, message, connection);
    const begin = () => void this.#answer(exchange);
    this.#options.begins.begin({ begin, isOver: () => abort.aborted, origin: this.#origin });
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

  #end(code: number, reason: string): void {
    this.#isClosing = true;
    this.#abortCall();
    this.#ws.close(code, reason);
  }

  /** Sends a refusal, stops reading, and closes the connection. */
  #refuse(code: number, refusal: unknown): void {
    sendText(this.#ws, refusalMessage(asRefusal(refusal), this.#options.newRequestId()));
    this.#endUnread(code, "");
  }

  /** Closes the connection, and stops reading. A client that goes on sending after the close frame is not waited for. */
  #endUnread(code: number, reason: string): void {
    if (this.#ws.readyState !== this.#ws.OPEN) {
      this.cut();
      return;
    }
    this.#end(code, reason);
    this.#partial.complete();
    discardInTurns(this.#socket.removeAllListeners("data"));
    const cut = setTimeout(() => this.cut(), lingerMs);
    this.#socket.once("close", () => clearTimeout(cut));
  }
}

/** `ws` closes the connection itself, with the code of the error. */
function ignore(): void {}
