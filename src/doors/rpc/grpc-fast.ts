/**
 * gRPC as most of its clients speak it: one binary message → one call → one message or a stream of them, with the status in the
 * trailers. connect-node serves the rest: messages in JSON, and compressed ones. It could serve all of gRPC, but pipes each call
 * through iterators that fit every kind of RPC, and those cost more than the call.
 *
 * The messages that a stream has at a time are one write.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { type DescMessage, type DescMethod, fromBinary, type MessageShape, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { type Compression, compressedFlag, compressionNegotiate } from "@connectrpc/connect/protocol";
import { parseTimeout, setTrailerStatus } from "@connectrpc/connect/protocol-grpc";
import type { Admission, AnswerHeaders, Peer } from "../../call/call.ts";
import { cancelled, malformedBody } from "../../call/refusals.ts";
import { runInSlices } from "../../runtime/cooperative.ts";
import type { MaybePromise } from "../../runtime/maybe-promise.ts";
import { binaryOptions, longJson } from "../../wire/json.ts";
import { withDoubles } from "../../wire/scan/exact-number.ts";
import type { Wire } from "../../wire/wire.ts";
import { type BodyLimits, discard, headerText, readBody } from "../body/body.ts";
import type { BodyShare } from "../body/body-budget.ts";
import { drained } from "../drained.ts";
import { setHead } from "../rest/answers.ts";
import {
  type Door,
  type DoorArrival,
  type Exchange,
  type ReadCall,
  type StreamAnswer,
  serve,
  type UnaryAnswer,
} from "../serve.ts";
import { prefixBytes } from "./rpc-body.ts";
import { asConnectError, longRequest, requestOfMessage, unreadable, unreadableMessage } from "./rpc-call.ts";

export interface GrpcOptions extends Door {
  /** bodyTimeoutMs is how long the body of a call may take to arrive, in milliseconds. */
  readonly bodyTimeoutMs: number;
  /** The codings that answers may be compressed with. */
  readonly compressions: Compression[];
}

/** GrpcVisit is a request for an RPC. */
export interface GrpcVisit {
  readonly id: string;
  readonly method: DescMethod;
  readonly peer: Peer;
  /** The most bytes of its message. */
  readonly maxBytes: number;
}

export type GrpcDoor = (req: IncomingMessage, res: ServerResponse, visit: GrpcVisit) => Promise<void>;

/** isGrpc reports whether this door serves a request: binary, and not compressed. */
export function isGrpc({ method, headers }: IncomingMessage): boolean {
  const { "content-type": type = "", "grpc-encoding": coding = "identity" } = headers;
  return method === "POST" && coding === "identity" && /^application\/grpc(\+proto)?$/i.test(type);
}

export function createGrpcDoor(options: GrpcOptions): GrpcDoor {
  return async (req, res, visit) => {
    const exchange = new GrpcExchange(req, res, visit, options);
    try {
      await serve(options, exchange);
    } finally {
      exchange.close();
    }
  };
}

/** Outlet is where an answer is written. */
interface Outlet {
  readonly res: ServerResponse;
  readonly signal: AbortSignal;
  /** Undefined where the caller accepts none. */
  readonly compression: Compression | undefined;
}

class GrpcExchange implements Exchange {
  readonly arrival: DoorArrival;
  readonly #req: IncomingMessage;
  readonly #visit: GrpcVisit;
  readonly #limits: BodyLimits;
  readonly #outlet: Outlet;
  readonly #timer: NodeJS.Timeout | undefined;
  /** The status of a call whose message cannot be read, by the codes that gRPC has for that. */
  #status: ConnectError | undefined;
  /** deadlineFault is what is wrong with the deadline. It is reported once the body has come. */
  readonly #deadlineFault: ConnectError | undefined;

  constructor(req: IncomingMessage, res: ServerResponse, visit: GrpcVisit, options: GrpcOptions) {
    const { id, method, peer, maxBytes } = visit;
    const header = (name: string) => headerText(req, name);
    const abort = new AbortController();
    const { signal } = abort;
    // After the last write a close is no abort: what the upstream still sends may come to its end.
    res.once("close", () => res.writableEnded || abort.abort());
    const deadline = parseTimeout(header("grpc-timeout") ?? null, Number.MAX_SAFE_INTEGER);
    this.#req = req;
    this.#visit = visit;
    this.#limits = { maxBytes, timeoutMs: options.bodyTimeoutMs };
    this.#timer = abortAfter(deadline.timeoutMs, abort);
    this.#deadlineFault = deadline.error;
    this.#outlet = { res, signal, compression: acceptedOf(header("grpc-accept-encoding"), options.compressions) };
    this.arrival = { id, method, header, peer, signal };
  }

  /** A caller whose deadline has passed still reads the status. */
  hasDisconnected(): boolean {
    const { aborted, reason } = this.#outlet.signal;
    return aborted && !(reason instanceof ConnectError);
  }

  async read({ headers }: Admission, share: BodyShare): Promise<ReadCall> {
    const { method } = this.#visit;
    setHead(this.#outlet.res, headers);
    const body = await readBody(this.#req, this.#limits, share);
    try {
      if (this.#deadlineFault) throw this.#deadlineFault;
      const message = messageIn(body);
      const isLong = message.length >= longJson;
      const request = isLong
        ? await runInSlices(longRequest(method, message, true, share))
        : requestOfMessage(method, parsed(method.input, message), share);
      return { method, request };
    } catch (error) {
      if (!(error instanceof ConnectError)) throw error;
      this.#status = unreadable(error, this.arrival);
      throw malformedBody(unreadableMessage);
    }
  }

  async writeUnary({ body, headers }: UnaryAnswer): Promise<void> {
    const message = await enveloped(body, this.#outlet);
    const { res, signal } = this.#outlet;
    open(this.#outlet, headers);
    if (!res.write(message)) await drained(res, signal);
    end(this.#outlet, ok);
  }

  async writeStream(answering: MaybePromise<StreamAnswer>): Promise<void> {
    const { frames, headers, trailers } = await answering;
    const { res, signal } = this.#outlet;
    for await (const batch of frames) {
      const messages: Uint8Array[] = [];
      for (const frame of batch) messages.push(await enveloped(frame, this.#outlet));
      if (signal.aborted) break;
      open(this.#outlet, headers);
      if (!res.write(Buffer.concat(messages))) await drained(res, signal);
    }
    if (signal.aborted) throw cancelled();
    open(this.#outlet, headers);
    end(this.#outlet, { ...trailers?.(), ...ok });
  }

  refuse(error: unknown): void {
    const { id, method } = this.#visit;
    const status = this.#status ?? asConnectError(error, { id, method, signal: this.#outlet.signal });
    end(this.#outlet, Object.fromEntries(setTrailerStatus(new Headers(), status)));
  }

  discard(): void {
    discard(this.#req, this.#limits.timeoutMs);
  }

  /** Stops the timer of the deadline. */
  close(): void {
    clearTimeout(this.#timer);
  }
}

const maxTimerMs = 2 ** 31 - 1;

function abortAfter(ms: number | undefined, abort: AbortController): NodeJS.Timeout | undefined {
  if (ms === undefined) return undefined;
  const onDeadline = () => abort.abort(new ConnectError("the operation timed out", Code.DeadlineExceeded));
  return setTimeout(onDeadline, Math.min(ms, maxTimerMs));
}

/** messageIn returns the only message of a body. Throws a ConnectError with the code that gRPC has for the fault. */
function messageIn(body: Buffer): Buffer {
  const length = body.length < prefixBytes ? 0 : body.readUInt32BE(1);
  if (body.length === 0) throw new ConnectError("protocol error: no message", Code.Unimplemented);
  if (body.length < prefixBytes + length)
    throw new ConnectError("protocol error: half a message", Code.InvalidArgument);
  if (body.length > prefixBytes + length)
    throw new ConnectError("protocol error: several messages", Code.Unimplemented);
  if (body[0] === compressedFlag) throw new ConnectError("compressed by a coding that it does not name", Code.Internal);
  return body.subarray(prefixBytes);
}

function parsed<D extends DescMessage>(desc: D, message: Buffer): MessageShape<D> {
  try {
    return fromBinary(desc, message, binaryOptions);
  } catch {
    throw new ConnectError(unreadableMessage, Code.InvalidArgument);
  }
}

/** A smaller message is not worth compressing. In bytes. */
const compressFrom = 1024;

function acceptedOf(accepted: string | undefined, compressions: Compression[]): Compression | undefined {
  if (accepted === undefined) return undefined;
  return compressionNegotiate(compressions, null, accepted, "").response ?? undefined;
}

const ok: AnswerHeaders = { "grpc-status": "0" };

function open({ res, compression }: Outlet, headers: AnswerHeaders = {}): void {
  if (res.headersSent) return;
  const coding = compression && { "grpc-encoding": compression.name };
  res.writeHead(200, { ...headers, "content-type": "application/grpc+proto", ...coding });
}

function end(outlet: Outlet, trailers: AnswerHeaders): void {
  open(outlet);
  outlet.res.addTrailers(trailers);
  outlet.res.end();
}

async function enveloped(wire: Wire, { compression }: Outlet): Promise<Uint8Array> {
  const message = toBinary(wire.desc, withDoubles(wire.message()));
  const isCompressed = compression !== undefined && message.length >= compressFrom;
  const data = isCompressed ? await compression.compress(message) : message;
  const bytes = Buffer.allocUnsafe(prefixBytes + data.length);
  bytes[0] = isCompressed ? compressedFlag : 0;
  bytes.writeUInt32BE(data.length, 1);
  bytes.set(data, prefixBytes);
  return bytes;
}
