/** A call that is over as the rows that tell of it, each value in the place that its statement has for it. */
import type { HoldEntry } from "../journal/journal.ts";
import type { Capture } from "./ledger.ts";

const hourMs = 3_600_000;
/** Where in a row its counts begin. */
const firstCount = 4;

export type RequestRow = ReturnType<typeof requestRow>;
export type UsageRow = readonly [
  ...names: [accountId: string, hour: number, keyId: string, model: string],
  ...counts: [requests: number, ...tokens: [number, number, number, number, number], characters: number, cost: number],
];
/** What a call adds to its hour, with what of it is added to the key besides: of its cost, and what is no longer held. */
export type DueRow = readonly [...UsageRow, spent: number, freed: number];

export function requestRow(call: Capture, cost: number, waived: number) {
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

/** Whether calls are alike in what was asked, of whom, and how it ended: that is written once for all of them. */
export function isOfSameKind(one: Capture, other: Capture): boolean {
  return (
    one.model === other.model &&
    one.operation === other.operation &&
    one.upstream === other.upstream &&
    one.outcome === other.outcome &&
    one.estimated === other.estimated &&
    one.cached === other.cached
  );
}

/** What a call adds to the hour in which it was taken up; one that is lost counts as none, and is found by its hour. */
export function usageRow(call: Capture, cost: number, requests = 1): UsageRow {
  const { account_id, key_id, model, input, cache_read, cache_write, output, reasoning, characters } = call;
  // biome-ignore format: a line for what belongs together.
  return [
    account_id, hourOf(call.created_at), key_id, model,
    requests, input, cache_read, cache_write, output, reasoning, characters, cost,
  ];
}

/** Of a row in its parts: whether it tells of any call, what it adds to its hour, and what to its key. */
export const hasCalls = (row: DueRow): boolean => row[4] > 0;
export const keySum = (row: DueRow) => [row[2], row[13], row[12]] as const;
export const usageOf = (row: DueRow): UsageRow => row.slice(0, -2) as readonly unknown[] as UsageRow;

const hourOf = (ms: number) => Math.floor(ms / hourMs) * hourMs;

/** Sums what calls and holds add, of the same account, hour, key and model in one row, so that many are written as one. */
export function createDueRows() {
  const rows: Summed[] = [];
  const byKey = new Map<string, Summed[]>();
  let last: Summed | undefined;

  /** Returns the sum of such calls. */
  function sumOf(accountId: string, hour: number, keyId: string, model: string): Summed {
    // Most calls are of the same as the one before.
    if (last && isOf(last, accountId, hour, keyId, model)) return last;
    const ofKey = byKey.get(keyId) ?? [];
    last = ofKey.find((sum) => isOf(sum, accountId, hour, keyId, model));
    if (last) return last;
    last = [accountId, hour, keyId, model, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    if (ofKey.push(last) === 1) byKey.set(keyId, ofKey);
    rows.push(last);
    return last;
  }

  return {
    addCall(call: Capture, spent: number, freed: number): void {
      const sum = sumOf(call.account_id, hourOf(call.created_at), call.key_id, call.model);
      sum[4]++;
      sum[5] += call.input;
      sum[6] += call.cache_read;
      sum[7] += call.cache_write;
      sum[8] += call.output;
      sum[9] += call.reasoning;
      sum[10] += call.characters;
      sum[11] += call.cost;
      sum[12] += spent;
      sum[13] += freed;
    },
    /** It is its key's, and no call yet. */
    addHeld({ accountId, keyId, model, createdAt, amount }: HoldEntry): void {
      sumOf(accountId, hourOf(createdAt), keyId, model)[13] -= amount;
    },
    /** Adds what such a row sums. */
    addRow([accountId, hour, keyId, model, ...counts]: DueRow): void {
      const sum = sumOf(accountId, hour, keyId, model);
      for (let i = 0; i < counts.length; i++) (sum[firstCount + i] as number) += counts[i] as number;
    },
    rows: rows as readonly DueRow[],
  };
}

/** A row while it is summed. */
type Summed = Writable<DueRow>;
type Writable<T> = { -readonly [I in keyof T]: T[I] };

function isOf(
  [ofAccount, ofHour, ofKey, ofModel]: Summed,
  accountId: string,
  hour: number,
  keyId: string,
  model: string,
) {
  return ofKey === keyId && ofModel === model && ofHour === hour && ofAccount === accountId;
}
