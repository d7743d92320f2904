/** Refusals: the errors that the gateway itself answers with, each with its reason. */
import { type Code, ConnectError } from "@connectrpc/connect";
import { ErrorDetailSchema, type Reason, ReasonSchema } from "../gen/modelgateway/v1/errors_pb.ts";

export interface Refusal {
  /** The cause, for programs to compare: `reason === Reason.INSUFFICIENT_CREDIT`. */
  readonly reason: Reason;
  /** The same as its name, for logs: `INSUFFICIENT_CREDIT`. A reason newer than this package is its number. */
  readonly name: string;
  /** message is what is wrong and what to do, for people. */
  readonly message: string;
  readonly code: Code;
  /** The HTTP status of the same refusal on the public API. */
  readonly status: number;
  /** The path of the request's field at fault, as `messages[0].role`; empty where none is. */
  readonly param: string;
  /** The call's id in the gateway's logs. */
  readonly requestId: string;
  /** retryAfterMs is how long to wait before another attempt, in milliseconds; undefined where the gateway does not say. */
  readonly retryAfterMs: number | undefined;
  /** isFinal is whether the gateway says that the same request would be refused again. */
  readonly isFinal: boolean;
  /** The upstream's own error body, where the refusal is the upstream's and of the caller's family; else empty. */
  readonly upstreamBody: string;
}

/** Returns the refusal in an error; undefined for every other error, as of a connection that breaks or a deadline that passes. */
export function refusalOf(error: unknown): Refusal | undefined {
  if (!(error instanceof ConnectError)) return undefined;
  const [detail] = error.findDetails(ErrorDetailSchema);
  if (!detail) return undefined;
  const { reason, param, requestId, httpStatus: status, upstreamBody } = detail;
  return {
    reason,
    param,
    requestId,
    status,
    upstreamBody,
    name: ReasonSchema.value[reason]?.localName ?? String(reason),
    message: error.rawMessage,
    code: error.code,
    retryAfterMs: retryAfterOf(error.metadata),
    isFinal: error.metadata.get("x-should-retry") === "false",
  };
}

function retryAfterOf(metadata: Headers): number | undefined {
  const text = metadata.get("retry-after")?.trim() ?? "";
  return /^\d+(?:\.\d+)?$/.test(text) ? Number(text) * 1000 : undefined;
}
