/**
 * What the failure of an attempt says: whether it was its upstream's fault, and whether the same could go well later.
 */
import { Reason, Refusal, upstreamFailed } from "../../call/refusals.ts";

/** Returns what failed by the upstream's fault, in the gateway's own words; undefined where nothing did. */
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

/** The status is the upstream's own but for 502, which stands for any error of its. */
function answered(status: number): string {
  return status === 502 ? "it answered with an error" : `it answered with status ${status}`;
}

const failing: ReadonlySet<Reason> = new Set([Reason.UPSTREAM_FAILED, Reason.UPSTREAM_TIMEOUT, Reason.UPSTREAM_BUSY]);

/** Whether it has too much to do: that is no sign that it is broken. */
export function isBusy(error: unknown): boolean {
  return error instanceof Refusal && (error.status === 429 || error.reason === Reason.UPSTREAM_BUSY);
}

/** Whether the failure tells how the upstream fares. That a caller would not wait long tells nothing, or any might close it. */
export function countsForHealth(error: unknown): boolean {
  return !(error instanceof Refusal && error.isCallersBound);
}

/**
 * Whether the same request would meet the same failure at this upstream: the gateway's own configuration is wrong, or the
 * call has waited there for a place already.
 */
export function isPermanent(error: unknown): boolean {
  if (!(error instanceof Refusal)) return false;
  return error.reason === Reason.UPSTREAM_BUSY || error.headers["x-should-retry"] === "false";
}

/** Whether the gateway would not, or could not, ask for the call what another model might do. */
export function isOwnRefusal(error: unknown): boolean {
  return error instanceof Refusal && ownRefusals.has(error.reason);
}

const ownRefusals: ReadonlySet<Reason> = new Set([
  Reason.INSUFFICIENT_CREDIT,
  Reason.MODEL_UNPRICED,
  Reason.WOULD_BE_DROPPED,
]);

/** Whether the upstream has said it itself, and not the gateway's own queue before it. */
export function isUpstreamRefusal(error: unknown): boolean {
  return error instanceof Refusal && error.reason === Reason.UPSTREAM_REFUSED;
}

/** Returns when the upstream wants to be asked again, in milliseconds from now; 0 where it did not say. */
export function retryAfterMs(error: unknown): number {
  const seconds = error instanceof Refusal ? Number(error.headers["retry-after"] ?? 0) : 0;
  return Number.isFinite(seconds) ? seconds * 1000 : 0;
}

/** Has something made of what an upstream says: where nothing can be made of it, that is the upstream's failure. */
export function readOrFail<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw asFailure(error);
  }
}

/** What is no refusal was thrown over an answer that makes no sense. */
export function asFailure(error: unknown): Refusal {
  return error instanceof Refusal ? error : upstreamFailed("its answer cannot be read", error);
}
