/**
 * gRPC as most of its clients speak it: one message in protobuf → one call → one message or several, and the status in the
 * trailers. connect-node, which speaks all else, speaks it too, but leads each call through iterators that carry every kind of
 * RPC, and that costs more than the call. Left to it are messages in JSON, and those that come compressed.
 *
 * The credential is checked before the body is read. The messages that a stream has at a time are one write.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { type DescMessage, type DescMethod, fromBinary, type MessageShape, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { type Compression, compressedFlag, compressionNegotiate } from "@connectrpc/connect/protocol";
import { parseTimeout, setTrailerStatus } from "@connectrpc/connect/protocol-grpc";
import type { Answer, AnswerHeaders, Gateway, Peer } from "../../call/call.ts";
import { malformedBody } from "../../call/refusals.ts";
import { runInSlices } from "../../runtime/cooperative.ts";
import { binaryOptions, longJson } from "../../wire/json.ts";
import type { Wire } from "../../wire/wire.ts";
import { type BodyLimits, discard, headerText, readBody } from "../body/body.ts";
import type { BodyBudget, BodyShare } from "../body/body-budget.ts";
import { drained, setHead, streamOf, wholeOf } from "../rest/answers.ts";
import { asConnectError, longRequest, noMessage, requestOfMessage } from "./rpc-call.ts";

export interface GrpcOptions {
  readonly way: Gateway;
  /** How long the body of a call may take to arrive. */
  readonly bodyTimeoutMs: number;
  readonly bodies: BodyBudget;
  /** What answers may be compressed with. */
  readonly compressions: Compression[];
}

/** A request for an RPC. */
export interface GrpcVisit {
  readonly id: string;
  readonly method: DescMethod;
  readonly peer: Peer;
  readonly maxBytes: number;
}

export type GrpcDoor = (req: IncomingMessage, res: ServerResponse, visit: GrpcVisit) => Promise<void>;

/** Whether a request is for this door. */
export function isGrpc({ method, headers }: IncomingMessage): boolean {
  const { "content-type": type = "", "grpc-encoding": coding = "identity" } = headers;
  return method === "POST" && coding === "identity" && /^application\/grpc(\+proto)?$/i.test(type);
}

export function createGrpcDoor({ way, bodyTimeoutMs, bodies, compressions }: GrpcOptions): GrpcDoor {
  return async (req, res, { id, method, peer, maxBytes }) => {
    const header = (name: string) => headerText(req, name);
    const over = new AbortController();
    const { signal } = over;
    const arrival = { id, method, header, peer, signal };
    // Once all is written nobody can leave any more, and what the upstream still sends may come to its end.
    res.once("close", () => res.writableEnded || over.abort());
    const deadline = parseTimeout(header("grpc-timeout") ?? null, Number.MAX_SAFE_INTEGER);
    const timer = abortAfter(deadline.timeoutMs, over);
    const outlet = { res, signal, compression: acceptedOf(header("grpc-accept-encoding"), compressions) };
    let share: BodyShare | undefined;
    try {
      const { caller, headers } = await way.admit(arrival);
      share = bodies.open(caller.accountId);
      setHead(res, headers);
      const limits = { maxBytes, timeoutMs: bodyTimeoutMs };
      const request = await readRequest(req, method, { limits, share, fault: deadline.error }).catch(
        (error: unknown) => {
          way.abandon(arrival, caller, error instanceof ConnectError ? malformedBody(noMessage) : error);
          throw error;
        },
      );
      const answer = await way.handle({ ...arrival, caller, request, body: share, signal });
      share.release();
      if (method.methodKind === "unary") await writeWhole(outlet, answer);
      else await writeStream(outlet, answer);
    } catch (error) {
      discard(req, bodyTimeoutMs);
      const isGone = signal.aborted && !(signal.reason instanceof ConnectError);
      if (!isGone && !(error instanceof ConnectError)) way.broke?.(arrival, error);
      const status = error instanceof ConnectError ? error : asConnectError(error, { id, method, signal });
      if (!isGone) end(outlet, Object.fromEntries(setTrailerStatus(new Headers(), status)));
    } finally {
      clearTimeout(timer);
      share?.release();
    }
  };
}

const longestTimerMs = 2 ** 31 - 1;

function abortAfter(ms: number | undefined, over: AbortController): NodeJS.Timeout | undefined {
  if (ms === undefined) return undefined;
  const late = () => over.abort(new ConnectError("the operation timed out", Code.DeadlineExceeded));
  return setTimeout(late, Math.min(ms, longestTimerMs));
}

interface Reading {
  readonly limits: BodyLimits;
  readonly share: BodyShare;
  /** What is wrong with the call, which is told once its body has come. */
  readonly fault: ConnectError | undefined;
}

async function readRequest(req: IncomingMessage, method: DescMethod, { limits, share, fault }: Reading) {
  const body = await readBody(req, limits, share);
  if (fault) throw fault;
  const message = messageIn(body);
  if (message.length >= longJson) return runInSlices(longRequest(method, message, true, share));
  return requestOfMessage(method, readNow(method.input, message), share);
}

/** Before each message stand a byte of flags and its length in four. */
const prefixBytes = 5;

/** Returns the only message of a body. Throws a ConnectError, by the codes that gRPC has for what is none. */
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

function readNow<D extends DescMessage>(desc: D, message: Buffer): MessageShape<D> {
  try {
    return fromBinary(desc, message, binaryOptions);
  } catch {
    throw new ConnectError(noMessage, Code.InvalidArgument);
  }
}

/** A smaller message is not worth compressing. */
const compressFrom = 1024;

/** Where an answer goes. */
interface Outlet {
  readonly res: ServerResponse;
  readonly signal: AbortSignal;
  /** Undefined where the caller reads none. */
  readonly compression: Compression | undefined;
}

function acceptedOf(accepted: string | undefined, compressions: Compression[]): Compression | undefined {
  if (accepted === undefined) return undefined;
  return compressionNegotiate(compressions, null, accepted, "").response ?? undefined;
}

async function writeWhole(outlet: Outlet, answer: Answer): Promise<void> {
  const message = await enveloped(wholeOf(answer), outlet);
  open(outlet, answer.headers);
  outlet.res.write(message);
  end(outlet, ok);
}

async function writeStream(outlet: Outlet, answer: Answer): Promise<void> {
  const { frames, headers, trailers } = streamOf(answer);
  const { res, signal } = outlet;
  for await (const batch of frames) {
    const messages: Uint8Array[] = [];
    for (const frame of batch) messages.push(await enveloped(frame, outlet));
    if (signal.aborted) break;
    open(outlet, headers);
    if (!res.write(Buffer.concat(messages))) await drained(res, signal);
  }
  if (signal.aborted) throw signal.reason;
  open(outlet, headers);
  end(outlet, { ...trailers?.(), ...ok });
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
  const message = toBinary(wire.desc, wire.message());
  const isCompressed = compression !== undefined && message.length >= compressFrom;
  const data = isCompressed ? await compression.compress(message) : message;
  const bytes = Buffer.allocUnsafe(prefixBytes + data.length);
  bytes[0] = isCompressed ? compressedFlag : 0;
  bytes.writeUInt32BE(data.length, 1);
  bytes.set(data, prefixBytes);
  return bytes;
}
