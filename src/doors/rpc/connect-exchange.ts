/**
 * A call that connect-node reads and writes: Connect, gRPC-Web, and gRPC in JSON or compressed.
 *
 * connect-node drives, and calls back: its request gate before the body, its implementation with the message. `serve` drives, too.
 * They meet in three deferred values. The gate begins `serve` and waits for the admission; `serve` waits for the message that the
 * implementation brings; the implementation waits for the answer, which connect-node then writes.
 */
import type { DescMessage, DescMethod, MessageShape } from "@bufbuild/protobuf";
import { Code, ConnectError, type ContextValues, createContextKey, type HandlerContext } from "@connectrpc/connect";
import type { UniversalHandler, UniversalServerRequest, UniversalServerResponse } from "@connectrpc/connect/protocol";
import type { Admission, Answer, AnswerHeaders, Peer } from "../../call/call.ts";
import { cancelled, malformedBody, type Refusal } from "../../call/refusals.ts";
import { Deferred, type MaybePromise } from "../../runtime/maybe-promise.ts";
import type { Wire } from "../../wire/wire.ts";
import type { BodyShare } from "../body/body-budget.ts";
import type { Inflate } from "../body/inflate.ts";
import {
  type Door,
  type DoorArrival,
  type Exchange,
  type ReadCall,
  type StreamAnswer,
  serve,
  type UnaryAnswer,
} from "../serve.ts";
import { rpcBody, takePacking } from "./rpc-body.ts";
import { asConnectError, requestOfMessage, unreadable, unreadableMessage } from "./rpc-call.ts";

/** ConnectCall is a request for an RPC of the gateway's own services. */
export interface ConnectCall {
  readonly id: string;
  readonly method: DescMethod;
  readonly peer: Peer;
  /** The most bytes of its body. */
  readonly maxBytes: number;
  readonly inflate: Inflate;
  /** Resolves when the client has the response, or its connection is gone. */
  readonly sent: () => Promise<void>;
}

/** The exchange of a call, among connect-node's context values. */
export const exchangeKey = createContextKey<ConnectExchange | undefined>(undefined);

/** exchangeIn returns the exchange that connect-node calls back. */
export function exchangeIn(values: ContextValues): ConnectExchange {
  const exchange = values.get(exchangeKey);
  if (!exchange) throw new Error("connect-node lost the exchange of a call");
  return exchange;
}

export class ConnectExchange implements Exchange {
  readonly #door: Door;
  readonly #call: ConnectCall;
  readonly #admitted = new Deferred<void>();
  readonly #answered = new Deferred<Answer>();
  /**
   * reading is what `serve` waits for while connect-node reads the message. Unset otherwise: a stream may last for hours, without its
   * request.
   */
  #reading: Deferred<ReadCall> | undefined;
  #context: HandlerContext | undefined;
  #arrival: DoorArrival | undefined;
  /** Stops following the context's signal, which fires when connect-node is done, too. */
  #unfollow = () => {};
  /** Set once the caller is admitted, as `#headers` are. */
  #share: BodyShare | undefined;
  #headers: AnswerHeaders = {};
  /** A long request. It was read before connect-node reads an empty message in its place. */
  #longRequest: Wire | undefined;
  /** refused is why the body was refused before connect-node read it. */
  #refused: Refusal | undefined;
  /** The error that replaces what connect-node made of an unreadable message. */
  #instead: ConnectError | undefined;

  constructor(door: Door, call: ConnectCall) {
    this.#door = door;
    this.#call = call;
  }

  /** The arrival of a call that has passed connect-node's own checks. */
  get arrival(): DoorArrival {
    return this.#arrival as DoorArrival;
  }

  /** Has connect-node serve the request. Returns the response to be written. */
  async respond(
    handler: UniversalHandler,
    request: UniversalServerRequest,
    body: AsyncIterable<Uint8Array>,
  ): Promise<UniversalServerResponse> {
    const { id, method, maxBytes, inflate } = this.#call;
    const reading = {
      inflate,
      maxBytes,
      call: { id, method, signal: request.signal },
      shareOf: () => this.#share as BodyShare,
      onRefused: (refusal: Refusal) => {
        this.#refused = refusal;
      },
      onRead: (read: Wire) => {
        this.#longRequest = read;
      },
    };
    const plain = rpcBody(body, takePacking(request.header), reading);
    const response = await handler({ ...request, body: plain }).catch((error: unknown) => {
      this.#reading?.reject(error);
      throw error;
    });
    if (!this.#reading) return response;
    // A client that has disconnected has sent a part of its body, which is no message either.
    const unread = request.signal.aborted ? cancelled() : malformedBody(unreadableMessage);
    this.#reading.reject(this.#refused ?? unread);
    const fault = faultInReading(this.#context?.signal.reason);
    if (!fault || this.#refused || request.signal.aborted) return response;
    this.#instead = unreadable(fault, { id, method });
    return handler({ ...request, body: nothing() });
  }

  /** Begins the call, as connect-node's request gate. Resolves when the caller is admitted. Rejects with a ConnectError. */
  async begin(context: HandlerContext): Promise<void> {
    if (this.#instead) {
      setAll(context.responseHeader, this.#headers);
      throw this.#instead;
    }
    const { id, method, peer } = this.#call;
    const header = (name: string) => context.requestHeader.get(name) ?? undefined;
    const abort = new AbortController();
    const onAbort = () => abort.abort(context.signal.reason);
    context.signal.addEventListener("abort", onAbort, { once: true });
    if (context.signal.aborted) onAbort();
    this.#unfollow = () => context.signal.removeEventListener("abort", onAbort);
    this.#context = context;
    this.#arrival = { id, method, header, peer, signal: abort.signal };
    void serve(this.#door, this);
    try {
      await this.#admitted;
    } catch (error) {
      throw asConnectError(error, { id, method, signal: context.signal });
    }
  }

  /** Brings the message that connect-node has read, as the implementation. Returns the answer to it. */
  async answer(message: MessageShape<DescMessage>): Promise<Answer> {
    const { method } = this.#call;
    const reading = this.#reading;
    const longRequest = this.#longRequest;
    this.#reading = this.#longRequest = undefined;
    try {
      const request = longRequest ?? requestOfMessage(method, message, this.#share as BodyShare);
      reading?.resolve({ method, request });
    } catch (error) {
      reading?.reject(error);
    }
    const answer = await this.#answered;
    setAll(this.#context?.responseHeader, answer.headers);
    return answer;
  }

  /** Ends a stream all of whose messages have been handed to connect-node. Its upstream may come to its end. */
  end(answer: StreamAnswer): void {
    setAll(this.#context?.responseTrailer, answer.trailers?.());
    this.#unfollow();
  }

  /** Always false: connect-node itself writes nothing for a client that has disconnected, but waits for its callbacks to settle. */
  hasDisconnected(): boolean {
    return false;
  }

  read({ headers }: Admission, share: BodyShare): MaybePromise<ReadCall> {
    this.#share = share;
    this.#headers = headers;
    // Set before the message is read: every answer has them, and every error.
    setAll(this.#context?.responseHeader, headers);
    this.#reading = new Deferred();
    this.#admitted.resolve();
    return this.#reading;
  }

  /** connect-node is done before the answer is sent, which takes memory until then. */
  async writeUnary(answer: UnaryAnswer): Promise<void> {
    this.#answered.resolve(answer);
    await this.#written();
    await this.#call.sent();
  }

  async writeStream(answering: MaybePromise<StreamAnswer>): Promise<void> {
    this.#answered.resolve(await answering);
    await this.#written();
  }

  refuse(error: unknown): void {
    this.#admitted.reject(error);
    this.#answered.reject(error);
  }

  /** Resolves when connect-node is done. Rejects with an internal error by which it failed. */
  #written(): Promise<void> {
    const { signal } = this.#context as HandlerContext;
    return new Promise((resolve, reject) => {
      const settle = () => (isInternal(signal.reason) ? reject(signal.reason) : resolve());
      if (signal.aborted) settle();
      else signal.addEventListener("abort", settle, { once: true });
    });
  }
}

/**
 * faultInReading returns what is wrong with a body that connect-node could not read, or undefined where reading it did not fail, as at a
 * deadline. Bytes that are no message are its own error to connect-node, but they are the caller's.
 */
function faultInReading(error: unknown): ConnectError | undefined {
  if (!(error instanceof ConnectError)) return undefined;
  const { code, rawMessage } = error;
  // No message, or several.
  if (code === Code.Unimplemented && rawMessage.startsWith("protocol error")) return error;
  if (code === Code.InvalidArgument) return error;
  const isNoMessage = code === Code.Internal && rawMessage.startsWith("parse ");
  return isNoMessage ? new ConnectError(unreadableMessage, Code.InvalidArgument) : undefined;
}

function isInternal(error: unknown): boolean {
  return error instanceof ConnectError && (error.code === Code.Internal || error.code === Code.Unknown);
}

async function* nothing(): AsyncGenerator<Uint8Array> {}

function setAll(target: Headers | undefined, headers: AnswerHeaders = {}): void {
  for (const [name, value] of Object.entries(headers)) target?.set(name, value);
}
