/** Classifies the failure of an attempt: whether it is the upstream's fault, and whether a retry may succeed. */
import { faultOfStatus, Reason, Refusal, upstreamFailed } from "../../call/refusals.ts";

/** faultOf returns the upstream's fault in the gateway's own words; undefined where it has none. */
export function faultOf(error: unknown): string | undefined {
  if (!(error instanceof Refusal)) return undefined;
  const { reason, status, fault = answered(status), cause } = error;
  if (reason === Reason.UPSTREAM_REFUSED) {
    return status >= 500 || status === 408 || status === 429 ? fault : undefined;
  }
  if (!failing.has(reason)) return undefined;
  const code = (cause as NodeJS.ErrnoException | undefined)?.code;
  return typeof code === "string" ? `${fault} (${code})` : fault;
}

/** The status is the upstream's own, except 502, which stands for any of its errors. */
function answered(status: number): string {
  return status === 502 ? "it answered with an error" : faultOfStatus(status);
}

const failing: ReadonlySet<Reason> = new Set([Reason.UPSTREAM_FAILED, Reason.UPSTREAM_TIMEOUT, Reason.UPSTREAM_BUSY]);

/** isBusy reports overload (429, a full queue). Overload does not trip the breaker. */
export function isBusy(error: unknown): boolean {
  return error instanceof Refusal && (error.status === 429 || error.reason === Reason.UPSTREAM_BUSY);
}

/**
 * countsForHealth reports whether the failure counts for the upstream's health. A bound that the caller set does not, or any caller could
 * trip the breaker.
 */
export function countsForHealth(error: unknown): boolean {
  return !(error instanceof Refusal && error.isCallersBound);
}

/**
 * isPermanent reports whether the same request would fail the same way at this upstream: the gateway's configuration is wrong, or the call
 * has waited in its queue already.
 */
export function isPermanent(error: unknown): boolean {
  if (!(error instanceof Refusal)) return false;
  return error.reason === Reason.UPSTREAM_BUSY || error.headers["x-should-retry"] === "false";
}

/** isOwnRefusal reports whether the gateway itself refused, for a reason that another model might not share. */
export function isOwnRefusal(error: unknown): boolean {
  return error instanceof Refusal && ownRefusals.has(error.reason);
}

const ownRefusals: ReadonlySet<Reason> = new Set([
  Reason.INSUFFICIENT_CREDIT,
  Reason.BUDGET_EXCEEDED,
  Reason.MODEL_UNPRICED,
  Reason.WOULD_BE_DROPPED,
]);

/** isUpstreamRefusal reports whether the upstream itself refused, and not the gateway's queue. */
export function isUpstreamRefusal(error: unknown): boolean {
  return error instanceof Refusal && error.reason === Reason.UPSTREAM_REFUSED;
}

/**
 * isRejection reports whether the upstream refused the request itself, by the caller's fault. The same judgement lets such a refusal
 * neither trip the breaker nor be followed by another attempt (`faultOf`).
 */
export function isRejection(error: unknown): boolean {
  return isUpstreamRefusal(error) && faultOf(error) === undefined;
}

/** retryAfterMs returns the delay that the upstream asked for, in milliseconds; 0 without one. */
export function retryAfterMs(error: unknown): number {
  if (!(error instanceof Refusal)) return 0;
  if (error.restMs !== undefined) return Math.max(error.restMs, leastRestMs);
  const seconds = Number(error.headers["retry-after"] ?? 0);
  return Number.isFinite(seconds) ? seconds * 1000 : 0;
}

/** leastRestMs is what a caller is told at least. */
const leastRestMs = 1000;

/** readOrFail runs a reader of upstream data. An error that it throws becomes the upstream's failure. */
export function readOrFail<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw asFailure(error);
  }
}

/** asFailure returns the error as a refusal. Any other error was thrown over an unreadable answer. */
export function asFailure(error: unknown): Refusal {
  return error instanceof Refusal ? error : upstreamFailed("its answer cannot be read", error);
}
