/** A call that is over as the rows that tell of it, each value in the place that its statement has for it. */
import type { Settlement } from "./ledger.ts";

const hourMs = 3_600_000;

export type RequestRow = ReturnType<typeof requestRow>;
export type UsageRow = readonly [
  ...names: [accountId: string, hour: number, keyId: string, model: string],
  ...counts: [requests: number, ...tokens: [number, number, number, number, number], characters: number, cost: number],
];

export function requestRow(call: Settlement, cost: number, waived: number) {
  const { id, account_id, key_id, operation, model, upstream, outcome, tried = null, cached = 0 } = call;
  const { input, cache_read, cache_write, output, reasoning, characters, estimated } = call;
  const { created_at, duration_ms, first_byte_ms } = call;
  // biome-ignore format: a line for what belongs together.
  return [
    id, account_id, key_id, operation, model, upstream, outcome,
    input, cache_read, cache_write, output, reasoning, characters, estimated, cost, waived,
    created_at, duration_ms, first_byte_ms, tried, cached,
  ] as const;
}

/** What a call adds to the hour in which it was taken up; one that is lost counts as none, and is found by its hour. */
export function usageRow(call: Settlement, cost: number, requests = 1): UsageRow {
  const { account_id, key_id, model, input, cache_read, cache_write, output, reasoning, characters } = call;
  const hour = Math.floor(call.created_at / hourMs) * hourMs;
  return [
    account_id,
    hour,
    key_id,
    model,
    requests,
    input,
    cache_read,
    cache_write,
    output,
    reasoning,
    characters,
    cost,
  ];
}

/** Sums rows of the same account, hour, key and model, so that many calls are written as one. */
export function createUsageSums() {
  const sums = new Map<string, (string | number)[]>();
  return {
    add(row: UsageRow): void {
      const name = `${row[0]} ${row[1]} ${row[2]} ${row[3]}`;
      const sum = sums.get(name);
      if (!sum) sums.set(name, [...row]);
      else for (let i = 4; i < row.length; i++) sum[i] = (sum[i] as number) + (row[i] as number);
    },
    rows: () => sums.values() as IterableIterator<unknown> as IterableIterator<UsageRow>,
  };
}
