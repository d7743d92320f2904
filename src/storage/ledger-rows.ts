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
  // biome-ignore format: a line for what belongs together.
  return [
    account_id, hour, key_id, model,
    requests, input, cache_read, cache_write, output, reasoning, characters, cost,
  ];
}

/** What a row is of: account, hour, key and model. */
const names = 4;

/** Sums rows that are of the same, so that many calls are written as one. */
export function createUsageSums() {
  const sums = new Map<string, (string | number)[]>();
  let last: (string | number)[] | undefined;
  return {
    add(row: UsageRow): void {
      // Most calls are of the same as the one before.
      if (!last || !isOfSame(last, row)) {
        const name = row.slice(0, names).join(" ");
        last = sums.get(name);
        if (!last) {
          last = [...row];
          sums.set(name, last);
          return;
        }
      }
      for (let i = names; i < row.length; i++) last[i] = (last[i] as number) + (row[i] as number);
    },
    rows: () => sums.values() as IterableIterator<unknown> as IterableIterator<UsageRow>,
  };
}

function isOfSame(sum: readonly (string | number)[], row: UsageRow): boolean {
  for (let i = 0; i < names; i++) if (sum[i] !== row[i]) return false;
  return true;
}
