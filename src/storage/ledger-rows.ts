/** A call that is over as the rows that tell of it, each value in the place that its statement in `ledger.ts` has for it. */
import type { Settlement } from "./ledger.ts";

const hourMs = 3_600_000;

export type RequestRow = ReturnType<typeof requestRow>;
export type UsageRow = ReturnType<typeof usageRow>;

export function requestRow(call: Settlement, cost: number, waived: number) {
  return [
    ...([call.id, call.account_id, call.key_id, call.operation, call.model, call.upstream] as const),
    ...([call.outcome, call.input, call.cache_read, call.cache_write, call.output, call.reasoning] as const),
    ...([call.characters, call.estimated, cost, waived, call.created_at, call.duration_ms] as const),
    ...([call.first_byte_ms, call.tried ?? null, call.cached ?? 0] as const),
  ] as const;
}

export function usageRow(call: Settlement, cost: number) {
  const hour = Math.floor(call.created_at / hourMs) * hourMs;
  return [
    ...([call.account_id, hour, call.key_id, call.model, call.input, call.cache_read, call.cache_write] as const),
    ...([call.output, call.reasoning, call.characters, cost] as const),
  ] as const;
}
