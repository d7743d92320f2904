/** Tells what an upstream bills although its attempt failed: a request that it refused, and for which it reported usage. */
import { Reason, Refusal } from "../../call/refusals.ts";
import { faultOf } from "../../providers/errors/fault.ts";
import type { AttemptMeter } from "../charge/meter.ts";

/**
 * billRefused notes that an attempt is charged, where it failed by the caller's own request, and not for want of the gateway's memory.
 * Returns whether it is.
 */
export function billRefused(meter: AttemptMeter, error: unknown): boolean {
  const isCallers = error instanceof Refusal && error.reason !== Reason.GATEWAY_BUSY && faultOf(error) === undefined;
  const isBilled = isCallers && meter.hasUsage();
  if (isBilled) meter.bill();
  return isBilled;
}
