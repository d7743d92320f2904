/** Tells what an upstream bills although its attempt failed: a request that it refused, and for which it reported usage. */
import { Refusal } from "../../call/refusals.ts";
import { faultOf } from "../../providers/errors/fault.ts";
import type { AttemptMeter } from "../charge/meter.ts";

/** billRefused notes that an attempt is charged, where it failed by the caller's own request. Returns whether it is. */
export function billRefused(meter: AttemptMeter, error: unknown): boolean {
  const isBilled = error instanceof Refusal && faultOf(error) === undefined && meter.hasUsage();
  if (isBilled) meter.bill();
  return isBilled;
}
