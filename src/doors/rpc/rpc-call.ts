/** What an RPC is, whichever protocol carries it: its message as a request, and its failure as an error. */
import {
  create,
  type DescMessage,
  type DescMethod,
  getOption,
  type Message,
  type MessageShape,
} from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { access } from "../../../gen/modelgateway/v1/access_pb.ts";
import { ErrorDetailSchema } from "../../../gen/modelgateway/v1/errors_pb.ts";
import type { BodyRoom } from "../../call/call.ts";
import { asRefusal, type Refusal } from "../../call/refusals.ts";
import type { CooperativeTask } from "../../runtime/cooperative.ts";
import { WireFault } from "../../wire/fault.ts";
import { longJson, readLong } from "../../wire/json.ts";
import { checkBinary } from "../../wire/long/binary-bounds.ts";
import { readBinary } from "../../wire/long/read-binary.ts";
import { readProtoJson } from "../../wire/long/read-proto-json.ts";
import { writeLongMessage } from "../../wire/long/write-long.ts";
import { jsonLength } from "../../wire/scan/json-length.ts";
import { Wire } from "../../wire/wire.ts";

/**
 * What `extra` brings is held to the contract, too: the request is read as the JSON that it becomes upstream, and counted as that.
 * Throws a Refusal.
 */
export function requestOfMessage({ input }: DescMethod, message: MessageShape<DescMessage>, body: BodyRoom): Wire {
  const json = Wire.ofMessage(input, message).json();
  // What came in fewer bytes is not much longer as JSON.
  if (body.bytes >= longJson) body.growTo(jsonLength(json, body.maxBytes));
  return Wire.ofJson(input, json);
}

/**
 * Reads a long message in turns, and makes of it what REST would have sent: JSON text, and what it says. Its length is counted as
 * it is written. Throws a Refusal or a WireFault for what is refused, and a ConnectError for what is no such message.
 */
export function* longRequest(
  { input }: DescMethod,
  bytes: Buffer,
  isBinary: boolean,
  body: BodyRoom,
): CooperativeTask<Wire> {
  const message = yield* isBinary ? binaryMessage(input, bytes) : jsonMessage(input, bytes);
  const json = yield* writeLongMessage(input, message);
  return yield* Wire.ofLong(input, json, (length) => body.growTo(length));
}

function* binaryMessage(input: DescMessage, bytes: Buffer): CooperativeTask<Message> {
  yield* checkBinary(input, bytes);
  return yield* orNoMessage(readBinary(input, bytes), () => unreadableMessage);
}

function* jsonMessage(input: DescMessage, bytes: Buffer): CooperativeTask<Message> {
  const json = yield* readLong(bytes, undefined);
  // connect-node says so of a short one.
  return yield* orNoMessage(readProtoJson(input, json), (error) => ConnectError.from(error).rawMessage);
}

function* orNoMessage(reading: CooperativeTask<Message>, words: (error: unknown) => string): CooperativeTask<Message> {
  try {
    return yield* reading;
  } catch (error) {
    throw error instanceof WireFault ? error : new ConnectError(words(error), Code.InvalidArgument);
  }
}

/** What is said of a body that cannot be read as one. */
export const unreadableMessage = "it is no message of this RPC";

/** A call that may fail. */
export interface RpcCall {
  /** The request id. */
  readonly id: string;
  readonly method: DescMethod;
  readonly signal: AbortSignal;
}

/**
 * How long texts of a status may be. They go in trailers, which clients read up to some 64 kB, percent-encoded and once more
 * in the details: what is longer would cost the caller its answer. In characters, and bytes.
 */
const longest = { message: 2000, param: 1000, upstreamBody: 8192 };

export function asConnectError(error: unknown, call: RpcCall): ConnectError {
  // A deadline that has passed is told as such, whatever broke because of it.
  const { reason } = call.signal;
  if (call.signal.aborted && reason instanceof ConnectError) return reason;
  const refusal = asRefusal(error);
  const metadata = new Headers(refusal.headers);
  const message = cut(refusal.message, longest.message);
  return new ConnectError(message, refusal.code, metadata, [detailOf(refusal, call)], refusal);
}

function detailOf({ reason, param = "", status, upstream }: Refusal, { id, method }: RpcCall) {
  const isOwn = upstream?.family === getOption(method, access).family;
  return {
    desc: ErrorDetailSchema,
    value: create(ErrorDetailSchema, {
      reason,
      param: cut(param, longest.param),
      requestId: id,
      httpStatus: status,
      // Half of it would not be JSON.
      upstreamBody: isOwn && upstream.body.length <= longest.upstreamBody ? upstream.body.toString() : "",
    }),
  };
}

/** Leaves no half of a character: such a text cannot be percent-encoded. */
function cut(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length).toWellFormed()}…` : text.toWellFormed();
}
