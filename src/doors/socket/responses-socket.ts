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
import type { Arrival, Gateway, Peer } from "../../call/call.ts";
import { answerUnderWay, asRefusal, requestTimeout, socketTooOld } from "../../call/refusals.ts";
import { CallerAbort, type Signal } from "../../runtime/caller-abort.ts";
import type { Timed } from "../../runtime/deadlines.ts";
import { forEach, stopPulling } from "../../runtime/push-stream.ts";
import type { Wire } from "../../wire/wire.ts";
import type { BodyLimits } from "../body/body.ts";
import type { BodyBudget } from "../body/body-budget.ts";
import { drained, streamOf } from "../rest/answers.ts";
import { socketProblem } from "../rest/problems.ts";
import { ClientWatch } from "./client-watch.ts";
import { ConnectionMemory } from "./connection-memory.ts";
import { ComingMessage } from "./incoming-message.ts";
import { isReceipt, socketRequest } from "./socket-request.ts";

export interface ResponsesSocketOptions {
  readonly way: Gateway;
  /** The RPC that answers with a stream of events. */
  readonly method: DescMethod;
  readonly body: BodyLimits;
  readonly bodies: BodyBudget;
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
const mostMs = 3_600_000;
/** How many messages out of turn a client may send while it is answered. */
const mostOutOfTurn = 32;
/** How long a client that is told to leave may take to hear it. */
const lingerMs = 1_000;

export class ResponsesSocket implements Timed {
  readonly #ws: WebSocket;
  readonly #socket: Socket;
  readonly #client: SocketClient;
  readonly #options: ResponsesSocketOptions;
  readonly #coming: ComingMessage;
  readonly #memory: ConnectionMemory;
  readonly #watch: ClientWatch;
  readonly #openedAt = performance.now();
  /** The same for all calls of the connection: who asks whose they are knows it from the first. */
  readonly #headers = {};
  /** Of the call that is answered. */
  #gone: CallerAbort | undefined;
  #idleUntil: number;
  #outOfTurn = 0;
  #isClosing = false;
  /** The request that comes next. A stream lasts for hours, and does not keep it. */
  #message: Buffer | undefined;

  constructor(ws: WebSocket, socket: Socket, client: SocketClient, options: ResponsesSocketOptions) {
    this.#ws = ws;
    this.#socket = socket;
    this.#client = client;
    this.#options = options;
    this.#coming = new ComingMessage(options.bodies, client.accountId, options.body.timeoutMs);
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
    return this.#gone === undefined && !this.#coming.isComing;
  }

  get deadline(): number {
    const idleUntil = this.#gone ? Number.POSITIVE_INFINITY : this.#idleUntil;
    return this.#coming.isComing ? this.#coming.until : idleUntil;
  }

  onDeadline(): void {
    if (this.#coming.isComing) this.#refuse(codes.policy, requestTimeout());
    else this.#end(codes.normal, "idle");
  }

  /** Ends it when its answer has ended, or at once. */
  close(): void {
    this.#isClosing = true;
    if (!this.#gone) this.#end(codes.goingAway, "the gateway is stopped");
  }

  /** Ends it, whatever runs. */
  cut(): void {
    this.#ws.terminate();
  }

  readonly #onBytes = (bytes: Buffer): void => {
    this.#watch.heard();
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
    else if (this.#gone) this.#answerOutOfTurn();
    else {
      this.#message = data;
      void this.#answer();
    }
  };

  #answerOutOfTurn(): void {
    if (++this.#outOfTurn > mostOutOfTurn) return void this.#end(codes.policy, "one request at a time");
    this.#tell(socketProblem(answerUnderWay(), this.#options.newRequestId()));
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
    this.#gone?.abort();
  };

  readonly #onClose = (): void => {
    this.#leave();
    this.#coming.whole();
    this.#memory.end();
    this.#watch.end();
  };

  /** Answers a request. It never rejects. */
  async #answer(): Promise<void> {
    const gone = new CallerAbort();
    this.#gone = gone;
    this.#watch.begin();
    const { method, newRequestId, way } = this.#options;
    const { header, peer } = this.#client;
    const arrival = { id: newRequestId(), method, header, sameHeaders: this.#headers, peer, signal: gone };
    try {
      const { frames } = await this.#begin(arrival, gone);
      await forEach(frames, (batch) => this.#send(batch, gone));
    } catch (error) {
      if (!gone.aborted) {
        way.broke?.(arrival, error);
        this.#tell(socketProblem(asRefusal(error), arrival.id));
      }
    }
    this.#watch.end();
    this.#gone = undefined;
    this.#outOfTurn = 0;
    this.#idleUntil = performance.now() + this.#options.idleMs;
    if (this.#isClosing) this.#end(codes.goingAway, "the gateway is stopped");
  }

  async #begin(arrival: Arrival, signal: Signal): Promise<ReturnType<typeof streamOf>> {
    const { way, bodies, method } = this.#options;
    const data = this.#message as Buffer;
    this.#message = undefined;
    if (performance.now() - this.#openedAt > mostMs) {
      this.#isClosing = true;
      throw socketTooOld();
    }
    const { caller } = await way.admit(arrival);
    const share = bodies.open(caller.accountId);
    try {
      const request = await socketRequest(method, data, share).catch((error: unknown): never => {
        way.abandon(arrival, caller, error);
        throw error;
      });
      const remembered = this.#memory;
      return streamOf(await way.handle({ ...arrival, caller, request, body: share, remembered, signal }));
    } finally {
      share.release();
    }
  }

  #send(batch: readonly Wire[], gone: Signal): Promise<void> | undefined {
    if (gone.aborted || this.#ws.readyState !== this.#ws.OPEN) throw stopPulling;
    for (const event of batch) this.#tell(event.bytes());
    return this.#socket.writableNeedDrain ? drained(this.#socket, gone) : undefined;
  }

  #tell(text: Buffer): void {
    if (this.#ws.readyState === this.#ws.OPEN) this.#ws.send(text, { binary: false });
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
    this.#tell(socketProblem(asRefusal(refusal), this.#options.newRequestId()));
    this.#end(code, "");
    this.#coming.whole();
    this.#socket.removeAllListeners("data").resume();
    const cut = setTimeout(() => this.cut(), lingerMs);
    this.#socket.once("close", () => clearTimeout(cut));
  }
}

/** The connection closes by itself, by the code of what was wrong. */
function ignore(): void {}
