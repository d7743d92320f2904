/** What an RPC is, whichever protocol carries it: its message as a request, and its failure as an error. */
import { create, type DescMessage, type DescMethod, getOption, type MessageShape } from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";
import { access } from "../../gen/modelgateway/v1/access_pb.ts";
import { ErrorDetailSchema } from "../../gen/modelgateway/v1/errors_pb.ts";
import type { BodyRoom } from "../call.ts";
import { asRefusal, type Refusal } from "../errors.ts";
import { jsonLength } from "../wire/json-length.ts";
import { Wire } from "../wire/wire.ts";

/** A message that came in fewer bytes is not much longer as JSON. */
const longMessage = 65_536;

/**
 * What `extra` brings is held to the contract, too: the request is read as the JSON that it becomes upstream, and counted as that.
 * Throws a Refusal.
 */
export function requestOfMessage({ input }: DescMethod, message: MessageShape<DescMessage>, body: BodyRoom): Wire {
  const json = Wire.ofMessage(input, message).json();
  if (body.bytes >= longMessage) body.growTo(jsonLength(json, body.maxBytes));
  return Wire.ofJson(input, json);
}

/** What is said of a body that cannot be read as one. */
export const noMessage = "it is no message of this RPC";

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
