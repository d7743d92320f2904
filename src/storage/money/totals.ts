/** Sums what calls and holds add to the sums of keys and hours, in memory before it is written. */
import { hourMs } from "../../runtime/time/durations.ts";
import { lost } from "../calls/outcomes.ts";
import { type Capture, defaultOf, noSums, type SummedColumn, summedColumns } from "../columns.ts";
import { compileAdd, compileValues } from "../compile-row.ts";
import type { HoldEntry } from "./books.ts";

/** HourTotal is what calls of an account, hour, key and model add to `usage_hours`. */
export type HourTotal = TotalKey & { requests: number } & Record<SummedColumn, number>;

/** Total is an HourTotal with what is added to the key besides: what it has spent, and what is no longer held of it. */
export type Total = HourTotal & { spent: number; freed: number };

interface TotalKey {
  readonly account_id: string;
  /** hour is when the hour began, in milliseconds since 1970. */
  readonly hour: number;
  readonly key_id: string;
  readonly model: string;
}

export const hourColumns = ["account_id", "hour", "key_id", "model", "requests", ...summedColumns] as const;
/** countedColumns are the columns that are counted, which follow those that name what is counted. */
export const countedColumns = ["requests", ...summedColumns, "spent", "freed"] as const;

/** hourValues lists the values of `hourColumns`. */
export const hourValues = compileValues<HourTotal, string | number>(hourColumns);

const addSummed = compileAdd(summedColumns, defaultOf);
const addCounted = compileAdd(countedColumns);
const noCounts = { requests: 0, ...noSums, spent: 0, freed: 0 };

/**
 * hourTotalOf returns what the row of a call adds to the hour in which it came. A call that is lost counts as 0 requests: its row is still
 * found by its hour.
 */
export function hourTotalOf(row: Capture): HourTotal {
  const { account_id, key_id, model, created_at, outcome } = row;
  const requests = outcome === lost ? 0 : 1;
  const total: Total = { account_id, hour: hourOf(created_at), key_id, model, ...noCounts, requests };
  addSummed(total, row);
  return total;
}

const hourOf = (ms: number) => Math.floor(ms / hourMs) * hourMs;

export interface Totals {
  /** Adds a call, and what it adds to its key. */
  addCall(call: Capture, spent: number, freed: number): void;
  /** Adds a hold to its key. It is no call yet. */
  addHold(entry: HoldEntry): void;
  addTotal(total: Total): void;
  /** One of each account, hour, key and model. */
  readonly rows: readonly Total[];
}

export function createTotals(): Totals {
  const rows: Total[] = [];
  const byKey = new Map<string, Total[]>();
  let last: Total | undefined;

  function totalOf(account_id: string, hour: number, key_id: string, model: string): Total {
    // Most calls are of the same as the one before.
    if (last && isOf(last, account_id, hour, key_id, model)) return last;
    const ofKey = byKey.get(key_id) ?? [];
    last = ofKey.find((total) => isOf(total, account_id, hour, key_id, model));
    if (last) return last;
    last = { account_id, hour, key_id, model, ...noCounts };
    if (ofKey.push(last) === 1) byKey.set(key_id, ofKey);
    rows.push(last);
    return last;
  }

  return {
    addCall(call, spent, freed) {
      const total = totalOf(call.account_id, hourOf(call.created_at), call.key_id, call.model);
      total.requests++;
      addSummed(total, call);
      total.spent += spent;
      total.freed += freed;
    },
    addHold({ accountId, keyId, model, createdAt, amount }) {
      totalOf(accountId, hourOf(createdAt), keyId, model).freed -= amount;
    },
    addTotal(total) {
      addCounted(totalOf(total.account_id, total.hour, total.key_id, total.model), total);
    },
    rows,
  };
}

function isOf(total: Total, accountId: string, hour: number, keyId: string, model: string): boolean {
  return total.key_id === keyId && total.model === model && total.hour === hour && total.account_id === accountId;
}
