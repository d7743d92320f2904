/** Applies the credit limits of keys to planned calls: what a key can no longer pay for is refused, as the ledger would. */
import type { Capture } from "../../storage/columns.ts";

/** ShortCall is a call that its key could not pay for. */
export interface ShortCall {
  readonly call: Capture;
  /** available is what the limit left then, in millionths of the unit. */
  readonly available: number;
}

export interface LimitedCalls {
  readonly paid: readonly Capture[];
  readonly short: readonly ShortCall[];
}

/** withinLimits splits calls, the oldest first. `limits` are those of keys that have one, in millionths of the unit. */
export function withinLimits(calls: readonly Capture[], limits: ReadonlyMap<string, number>): LimitedCalls {
  const paid: Capture[] = [];
  const short: ShortCall[] = [];
  const spent = new Map<string, number>();
  for (const call of calls) {
    const { key_id, cost } = call;
    const before = spent.get(key_id) ?? 0;
    const available = (limits.get(key_id) ?? Number.POSITIVE_INFINITY) - before;
    if (cost > available) {
      short.push({ call, available });
      continue;
    }
    spent.set(key_id, before + cost);
    paid.push(call);
  }
  return { paid, short };
}
