/** One request on a WebSocket, and the events that answer it: a message each. */
import type { Socket } from "node:net";
import type { WebSocket } from "ws";
import type { Admission, Remembered } from "../../call/call.ts";
import { asRefusal, internal } from "../../call/refusals.ts";
import type { CallerAbort } from "../../runtime/caller-abort.ts";
import type { MaybePromise } from "../../runtime/maybe-promise.ts";
import { forEach, stopPulling } from "../../runtime/push-stream.ts";
import type { Wire } from "../../wire/wire.ts";
import type { BodyShare } from "../body/body-budget.ts";
import { drained } from "../drained.ts";
import { refusalMessage } from "../rest/refusal-answers.ts";
import type { DoorArrival, Exchange, ReadCall, StreamAnswer } from "../serve.ts";
import { sendText } from "./send-text.ts";
import { socketRequest } from "./socket-request.ts";

/** The connection of an exchange. */
export interface ExchangeConnection {
  readonly ws: WebSocket;
  readonly socket: Socket;
  readonly remembered: Remembered;
}

export class SocketExchange implements Exchange {
  readonly arrival: DoorArrival;
  readonly #connection: ExchangeConnection;
  readonly #abort: CallerAbort;
  /** The message of the client, until it is read: the stream that answers it may last for hours. */
  #message: Buffer | undefined;

  /** `abort` is the signal of `arrival`. */
  constructor(arrival: DoorArrival, abort: CallerAbort, message: Buffer, connection: ExchangeConnection) {
    this.arrival = arrival;
    this.#abort = abort;
    this.#message = message;
    this.#connection = connection;
  }

  hasDisconnected(): boolean {
    return this.#abort.aborted;
  }

  async read(_: Admission, share: BodyShare): Promise<ReadCall> {
    const { method } = this.arrival;
    const message = this.#message as Buffer;
    this.#message = undefined;
    const request = await socketRequest(method, message, share);
    return { method, request, remembered: this.#connection.remembered };
  }

  writeUnary(): never {
    throw internal(new Error("a WebSocket is answered by a stream"));
  }

  async writeStream(answering: MaybePromise<StreamAnswer>): Promise<void> {
    const { frames } = await answering;
    await forEach(frames, (batch) => this.#send(batch));
  }

  #send(batch: readonly Wire[]): Promise<void> | undefined {
    const { ws, socket } = this.#connection;
    if (this.#abort.aborted || ws.readyState !== ws.OPEN) throw stopPulling;
    for (const event of batch) sendText(ws, event.bytes());
    return socket.writableNeedDrain ? drained(socket, this.#abort) : undefined;
  }

  refuse(error: unknown): void {
    sendText(this.#connection.ws, refusalMessage(asRefusal(error), this.arrival.id));
  }
}
