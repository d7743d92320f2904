/** Holds what all RPC protocols share: a message becomes a request, and a failure becomes a ConnectError with an ErrorDetail. */
import { create, type DescMessage, type DescMethod, type Message, type MessageShape } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { access } from "../../../gen/modelgateway/v1/access_pb.ts";
import { ErrorDetailSchema } from "../../../gen/modelgateway/v1/errors_pb.ts";
import { ConflictReason, FaultReason } from "../../../gen/modelgateway/v1/reasons_pb.ts";
import type { BodyRoom } from "../../call/call.ts";
import type { DocumentFault } from "../../call/refusal.ts";
import { asRefusal, malformedBody, type Refusal } from "../../call/refusals.ts";
import type { CooperativeTask } from "../../runtime/cooperative.ts";
import { methodOption } from "../../runtime/method-option.ts";
import { WireFault } from "../../wire/fault.ts";
import { type JsonValue, longJson, readLongRequest } from "../../wire/json.ts";
import { checkBinary } from "../../wire/long/binary-bounds.ts";
import { readBinary } from "../../wire/long/read-binary.ts";
import { checkWholeNumbers, readProtoJson } from "../../wire/long/read-proto-json.ts";
import { writeLongMessage } from "../../wire/long/write-long.ts";
import { withDoublesInSlices } from "../../wire/scan/exact-number.ts";
import { jsonLength } from "../../wire/scan/json-length.ts";
import { parseJsonText } from "../../wire/scan/parse-json-text.ts";
import { Wire } from "../../wire/wire.ts";

/**
 * requestOfMessage makes a request of a message. It is read again as the JSON that it becomes upstream, and counted as that, so that the
 * fields in `extra` are validated, too. Throws a Refusal.
 */
export function requestOfMessage({ input }: DescMethod, message: MessageShape<DescMessage>, body: BodyRoom): Wire {
  const json = Wire.ofMessage(input, message).json();
  // A shorter message is not much longer as JSON.
  if (body.bytes >= longJson) body.growTo(jsonLength(json, body.maxBytes));
  return Wire.ofJson(input, json);
}

/**
 * longRequest makes a request of a long message, cooperatively. It is written as JSON text, as REST would have sent it, and counted while
 * it is written. Throws a Refusal or a WireFault if it is refused, and a ConnectError if the bytes are no such message.
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
  return yield* orConnectError(readBinary(input, bytes), () => unreadableMessage);
}

function* jsonMessage(input: DescMessage, bytes: Buffer): CooperativeTask<Message> {
  const json = yield* withDoublesInSlices(yield* readLongRequest(bytes));
  // connect-node reports a short message like this.
  return yield* orConnectError(readProtoJson(input, json), (error) => ConnectError.from(error).rawMessage);
}

/**
 * checkNumbers throws a WireFault for numbers of a short message in JSON that are no plain ones. connect-node, which reads it next, reports
 * all else. So the bytes are decoded as connect-node decodes them: what this one could not read would pass unchecked.
 */
export function checkNumbers({ input }: DescMethod, bytes: Buffer): void {
  let json: JsonValue;
  try {
    json = parseJsonText(utf8.decode(bytes));
  } catch {
    return;
  }
  checkWholeNumbers(input, json);
}

/** utf8 leaves out a byte order mark. */
const utf8 = new TextDecoder();

function* orConnectError(
  reading: CooperativeTask<Message>,
  messageOf: (error: unknown) => string,
): CooperativeTask<Message> {
  try {
    return yield* reading;
  } catch (error) {
    throw error instanceof WireFault ? error : new ConnectError(messageOf(error), Code.InvalidArgument);
  }
}

/** The error text for a body that is no message of its RPC. */
export const unreadableMessage = "it is no message of this RPC";

/**
 * unreadable returns the ConnectError for a body that cannot be read: with the code and the words of the one by which reading failed,
 * and with the reason that it has over REST.
 */
export function unreadable({ code, rawMessage }: ConnectError, call: NamedCall): ConnectError {
  const refusal = malformedBody(rawMessage);
  const message = truncated(rawMessage, maxLength.message);
  return new ConnectError(message, code, undefined, [detailOf(refusal, call)], refusal);
}

interface NamedCall {
  /** The request id. */
  readonly id: string;
  readonly method: DescMethod;
}

/** RpcCall is a call whose failure is reported. */
export interface RpcCall extends NamedCall {
  readonly signal: AbortSignal;
}

/**
 * The longest texts of a status, in characters, and the longest upstream body, in bytes. They are sent in trailers, percent-encoded
 * and once more in the details. Clients read trailers of up to some 64 kB, and lose the whole answer with longer ones.
 */
const maxLength = { message: 2000, param: 1000, upstreamBody: 8192, fault: 500, parameter: 200 };
const maxFaults = 20;

/** asConnectError returns the ConnectError for whatever a call failed by. */
export function asConnectError(error: unknown, call: RpcCall): ConnectError {
  // A deadline that has passed is reported as such, whatever failed because of it.
  const { reason } = call.signal;
  if (call.signal.aborted && reason instanceof ConnectError) return reason;
  const refusal = asRefusal(error);
  const metadata = new Headers(refusal.headers);
  const message = truncated(refusal.message, maxLength.message);
  return new ConnectError(message, refusal.code, metadata, [detailOf(refusal, call)], refusal);
}

function detailOf(refusal: Refusal, { id, method }: NamedCall) {
  const { reason, param = "", status, upstream, documentFaults, conflict } = refusal;
  const isOwn = upstream?.family === methodOption(method, access).family;
  return {
    desc: ErrorDetailSchema,
    value: create(ErrorDetailSchema, {
      reason,
      param: truncated(param, maxLength.param),
      requestId: id,
      httpStatus: status,
      // Half of it would not be JSON.
      faults: documentFaults.slice(0, maxFaults).map(faultMessage),
      conflict: ConflictReason[conflict?.reason ?? "UNSPECIFIED"],
      parameters: shortened(conflict?.parameters),
      upstreamBody: isOwn && upstream.body.length <= maxLength.upstreamBody ? upstream.body.toString() : "",
    }),
  };
}

/** faultMessage splits a fault into its place and what is wrong there. */
function faultMessage({ path = "", message, reason, parameters, file = "", line = 0 }: DocumentFault) {
  const why = path !== "" && message.startsWith(`${path}: `) ? message.slice(path.length + 2) : message;
  return {
    path: truncated(path, maxLength.fault),
    message: truncated(why, maxLength.fault),
    reason: FaultReason[reason as keyof typeof FaultReason] ?? FaultReason.UNSPECIFIED,
    parameters: shortened(parameters),
    file: truncated(file, maxLength.parameter),
    line,
  };
}

function shortened(parameters: Readonly<Record<string, string>> = {}): Record<string, string> {
  const short = Object.entries(parameters).map(([name, text]) => [name, truncated(text, maxLength.parameter)] as const);
  return Object.fromEntries(short);
}

/** Truncates a text, and leaves no half of a character: that could not be percent-encoded. */
function truncated(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length).toWellFormed()}…` : text.toWellFormed();
}
