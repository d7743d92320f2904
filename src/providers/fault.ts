/**
 * What the failure of an attempt says: whether it was its upstream's fault, and whether the same could go well later.
 */
import { Reason, Refusal } from "../errors.ts";

/** Returns what failed by the upstream's fault, in the gateway's own words; undefined where nothing did. */
export function faultOf(error: unknown): string | undefined {
  if (!(error instanceof Refusal)) return undefined;
  const { reason, status, message, cause } = error;
  // The message is the upstream's own, and so is the status but for 502, which stands for any error of its.
  if (reason === Reason.UPSTREAM_REFUSED) {
    if (status === 502) return "it answered with an error";
    return status >= 500 || status === 408 || status === 429 ? `it answered with status ${status}` : undefined;
  }
  if (reason !== Reason.UPSTREAM_FAILED && reason !== Reason.UPSTREAM_TIMEOUT) return undefined;
  if (typeof cause === "string") return cause;
  const code = (cause as NodeJS.ErrnoException | undefined)?.code;
  return typeof code === "string" ? `${message} (${code})` : message;
}

/** Whether it has too much to do: that is no sign that it is broken. */
export function isBusy(error: unknown): boolean {
  return error instanceof Refusal && error.status === 429;
}

/** Whether the same request would meet the same failure at this upstream: the gateway's own configuration is wrong. */
export function isLasting(error: unknown): boolean {
  return error instanceof Refusal && error.headers["x-should-retry"] === "false";
}

/** Returns when the upstream wants to be asked again, in milliseconds from now; 0 where it did not say. */
export function askedToWaitMs(error: unknown): number {
  const seconds = error instanceof Refusal ? Number(error.headers["retry-after"] ?? 0) : 0;
  return Number.isFinite(seconds) ? seconds * 1000 : 0;
}
