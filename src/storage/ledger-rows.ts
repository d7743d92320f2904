/** A call that is over as the rows that tell of it, each value in the place that its statement has for it. */
import type { HoldEntry } from "./journal.ts";
import type { Settlement } from "./ledger.ts";

const hourMs = 3_600_000;

export type RequestRow = ReturnType<typeof requestRow>;
export type UsageRow = readonly [
  ...names: [accountId: string, hour: number, keyId: string, model: string],
  ...counts: [requests: number, ...tokens: [number, number, number, number, number], characters: number, cost: number],
];
/** What a call adds to its hour, with what of it is added to the key besides: of its cost, and what is no longer held. */
export type DueRow = readonly [...UsageRow, spent: number, freed: number];

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
export const usageRow = (call: Settlement, cost: number, requests = 1): UsageRow =>
  usageOf(dueRow(call, cost, 0, 0, requests));

export function dueRow(call: Settlement, cost: number, spent: number, freed: number, requests = 1): DueRow {
  const { account_id, key_id, model, input, cache_read, cache_write, output, reasoning, characters } = call;
  // biome-ignore format: a line for what belongs together.
  return [
    account_id, hourOf(call.created_at), key_id, model,
    requests, input, cache_read, cache_write, output, reasoning, characters, cost,
    spent, freed,
  ];
}

/** What a hold adds: it is its key's, and no call yet. */
export function heldRow({ accountId, keyId, model, createdAt, amount }: HoldEntry): DueRow {
  return [accountId, hourOf(createdAt), keyId, model, 0, 0, 0, 0, 0, 0, 0, 0, 0, -amount];
}

/** Of a row in its parts: whether it tells of any call, what it adds to its hour, and what to its key. */
export const hasCalls = (row: DueRow): boolean => row[4] > 0;
export const keySum = (row: DueRow) => [row[2], row[13], row[12]] as const;
export const usageOf = (row: DueRow): UsageRow => row.slice(0, -2) as readonly unknown[] as UsageRow;

const hourOf = (ms: number) => Math.floor(ms / hourMs) * hourMs;

/** What a row is of: account, hour, key and model. */
const names = 4;

/** Sums rows that are of the same, so that many calls are written as one. */
export function createDueSums() {
  const rows: (string | number)[][] = [];
  const byKey = new Map<string, (string | number)[][]>();
  let last: (string | number)[] | undefined;

  /** Returns the sum for such rows. */
  function sumFor(row: DueRow): (string | number)[] {
    const ofKey = byKey.get(row[2]) ?? [];
    const found = ofKey.find((sum) => isOfSame(sum, row));
    if (found) return found;
    const made = row.map((value, i) => (i < names ? value : 0));
    if (ofKey.push(made) === 1) byKey.set(row[2], ofKey);
    rows.push(made);
    return made;
  }

  return {
    add(row: DueRow): void {
      // Most calls are of the same as the one before.
      if (!last || !isOfSame(last, row)) last = sumFor(row);
      for (let i = names; i < row.length; i++) last[i] = (last[i] as number) + (row[i] as number);
    },
    rows: rows as readonly unknown[] as readonly DueRow[],
  };
}

function isOfSame(sum: readonly (string | number)[], row: DueRow): boolean {
  for (let i = 0; i < names; i++) if (sum[i] !== row[i]) return false;
  return true;
}
