/**
 * Decides whether a failed call is sent again, and when.
 *
 * A call is repeated where nothing was charged and nothing changed, or where its repetition cannot charge or change anything a
 * second time: it only reads, or the gateway knows it by its `Idempotency-Key`. Everything else is left to the caller.
 */
import type { DescMethod } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { Reason } from "../gen/modelgateway/v1/errors_pb.ts";
import type { RetryOptions } from "./options.ts";
import { type Refusal, refusalOf } from "./refusal.ts";

/** Refusals that pass, and after which nothing is charged and nothing was changed. */
const passing: ReadonlySet<Reason> = /* @__PURE__ */ new Set([
  Reason.REQUEST_TIMEOUT,
  Reason.RATE_LIMITED,
  Reason.UPSTREAM_BUSY,
  Reason.UPSTREAM_FAILED,
  Reason.UPSTREAM_TIMEOUT,
  Reason.GATEWAY_BUSY,
  Reason.STORAGE_UNAVAILABLE,
  Reason.IDEMPOTENCY_RUNNING,
]);

/**
 * brokenCodes are what becomes of a connection that fails by itself. Of a stream of HTTP/2 it is `Canceled`, although nobody has cancelled
 * it.
 */
const brokenCodes: readonly Code[] = [Code.Unavailable, Code.Unknown, Code.Internal, Code.Aborted, Code.Canceled];

/** Causes for which nothing was sent: there was no connection. */
const unsent: readonly string[] = ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH"];

/** RPCs that change nothing and cost nothing. */
const reading = /^(?:Compare|Count|Describe|Explain|Export|Follow|Get|List|Measure|Preview|Reconcile|Summarize)/;

/** RPCs that the gateway makes once under an `Idempotency-Key`, within a day. */
const madeOnce =
  /^(?:Create(?:Account|ChatCompletion|Completion|Embeddings|Key|Link|Message|RedeemCodes|Response|Speech)|Stream\w+|RecordEntry|RedeemCode|RotateKey)$/;

export function isMadeOnce(method: DescMethod): boolean {
  return madeOnce.test(method.name);
}

/** Reports whether a call may be repeated whatever became of it. */
export function isRepeatable(method: DescMethod, headers: Headers): boolean {
  return reading.test(method.name) || (isMadeOnce(method) && headers.has("idempotency-key"));
}

/** Failure is what a failed attempt tells about the next one. */
interface Failure {
  readonly error: unknown;
  /** The attempts that were made, this one included. */
  readonly attempt: number;
  readonly isRepeatable: boolean;
}

/** Returns the pause before the next attempt, in milliseconds; undefined where there is to be none. */
export function pauseAfter({ error, attempt, isRepeatable }: Failure, options: RetryOptions = {}): number | undefined {
  const { attempts = 3, baseMs = 500, maxMs = 8_000 } = options;
  if (!(attempt < attempts)) return undefined;
  const refusal = refusalOf(error);
  const isWorthwhile = refusal ? passes(refusal, isRepeatable) : wasUnsent(error) || (isRepeatable && isBroken(error));
  if (!isWorthwhile) return undefined;
  // Full jitter: callers that failed together come back apart, and none before the gateway asks for it.
  const jitter = Math.random() * Math.min(maxMs, baseMs * 2 ** (attempt - 1));
  return (refusal?.retryAfterMs ?? 0) + jitter;
}

function passes({ reason, status, isFinal }: Refusal, isRepeatable: boolean): boolean {
  if (isFinal) return false;
  // An upstream's own error, passed on: it was too slow, has too much to do, or failed.
  if (reason === Reason.UPSTREAM_REFUSED) return status === 408 || status === 429 || status >= 500;
  return passing.has(reason) || (isRepeatable && reason === Reason.INTERNAL);
}

function isBroken(error: unknown): boolean {
  return error instanceof ConnectError && brokenCodes.includes(error.code);
}

/** Reports whether the gateway has seen nothing of the call: there was no connection, or it was about to end. Browsers do not tell. */
function wasUnsent(error: unknown): boolean {
  if (isBroken(error) && String(error).includes("REFUSED_STREAM")) return true;
  for (let cause = error, depth = 0; cause instanceof Error && depth < 5; cause = cause.cause, depth++) {
    if ("code" in cause && unsent.includes(String(cause.code))) return true;
  }
  return false;
}
