/**
 * Pending totals: what calls add to the sums of keys and hours, merged into them later, for many calls of a key at once. Where
 * many keys call in turn, each call would otherwise write pages that no other call shares.
 *
 * Totals are written beside the calls, in the same transaction, and marked as merged in the one that merges them, by whatever
 * process: so each counts once. Until then the views `api_keys_now` and `usage_hours_now` include them. Keys with a limit have
 * no pending totals, since their own row decides what they may spend: whoever gives a key a limit merges its totals first.
 */

import { compileAppend } from "../../../compile-row.ts";
import { countedColumns, hourValues, type Total } from "../../../money/totals.ts";
import type { Connection } from "../../engine.ts";
import { createPendingTotalsCache } from "./pending-totals-cache.ts";
import type { LedgerStatements } from "./statements.ts";

/** PendingOfKey is what is pending of one key. */
export interface PendingOfKey {
  readonly spent: number;
  /** freed is what is no longer held; below 0 where more is held. */
  readonly freed: number;
}

export interface PendingTotals {
  /** parts is how many partitions there are. None takes long to merge. */
  readonly parts: number;
  /** Merges what is pending of a partition, in the caller's transaction. */
  merge(part: number): void;
  /** Reports whether anything is pending. */
  isAny(): boolean;
  /** Writes a batch, in the caller's transaction. */
  add(rows: readonly Total[]): void;
  /** Returns what is pending of one key, which is quicker than the view of all. */
  of(keyId: string): PendingOfKey;
}

/** parts is how many partitions the tables were made for. */
const parts = 64;

/** partOf returns the partition that a key belongs to. Keys end at random. */
export function partOf(keyId: string): number {
  const last = keyId.length - 1;
  return (keyId.charCodeAt(last) + 31 * keyId.charCodeAt(last - 1)) % parts;
}

/** hasCalls reports whether a total counts any call; the total of a hold does not. */
export const hasCalls = ({ requests }: Total): boolean => requests > 0;

export function createPendingTotals(books: Connection, statements: LedgerStatements): PendingTotals {
  const insertRows = createInsertRows(books);
  const reads = pendingReads(books);
  const merging = pendingMarks(books);
  const insertBatch = books.prepare<[], { id: number }>("INSERT INTO due_batches DEFAULT VALUES RETURNING id");
  const any = books.prepare<[], unknown>("SELECT 1 FROM due_batches LIMIT 1");
  const cache = createPendingTotalsCache(parts, ({ key_id }) => partOf(key_id));

  function mergeRow(row: Total): void {
    if (hasCalls(row)) statements.addToHour.run(...hourValues(row));
    if (row.freed !== 0 || row.spent !== 0) statements.captureOfKey.run(row.freed, row.spent, row.key_id);
  }

  return {
    parts,
    add(rows) {
      insertRows(insertBatch.get()?.id ?? 0, rows);
      books.whenCommitted(() => cache.add(rows));
    },
    merge(part) {
      const { batch, count, last } = merging.markOf(part);
      for (const row of cache.of(part, batch, count) ?? reads.ofPart(part)) mergeRow(row);
      merging.mark(part, last);
      books.whenCommitted(() => cache.merged(part, last));
    },
    isAny: () => any.get() !== undefined,
    of: reads.ofKey,
  };
}

type Value = string | number;

const addCounts = compileAppend<Total, Value>(countedColumns);

/** createInsertRows returns what inserts the rows of a batch, sorted by their partitions. */
function createInsertRows(books: Connection): (batch: number, rows: readonly Total[]) => void {
  const columns = ["batch", "hour", "model", "part", "place", "account_id", "key_id", ...countedColumns];
  const insert = books.prepare<Value[]>(
    `INSERT INTO due_sums (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`,
  );
  return (batch, rows) => {
    const placed = rows.map((row, place) => ({ row, place, part: partOf(row.key_id) }));
    placed.sort((one, other) => one.part - other.part);
    for (const { row, place, part } of placed) {
      const { hour, model, account_id, key_id } = row;
      const values: Value[] = [batch, hour, model, part, place, account_id, key_id];
      addCounts(values, row);
      insert.run(...values);
    }
  };
}

function pendingReads(books: Connection) {
  // Batch by batch, each of which has a partition in one place.
  const ofPart = `FROM due_batches b CROSS JOIN due_sums s ON s.batch = b.id AND s.part = ?
     WHERE b.id > (SELECT batch FROM due_merged WHERE part = ?)`;
  const sums = countedColumns.map((name) => `sum(${name}) AS ${name}`);
  const selectPart = books.prepare<[part: number, part: number], Total>(
    `SELECT account_id, hour, key_id, model, ${sums.join(", ")} ${ofPart} GROUP BY account_id, hour, key_id, model`,
  );
  const selectKey = books.prepare<[part: number, part: number, keyId: string], PendingOfKey>(
    `SELECT coalesce(sum(spent), 0) AS spent, coalesce(sum(freed), 0) AS freed ${ofPart} AND s.key_id = ?`,
  );
  return {
    ofPart: (part: number) => selectPart.all(part, part),
    ofKey: (keyId: string) => selectKey.get(partOf(keyId), partOf(keyId), keyId) ?? { spent: 0, freed: 0 },
  };
}

/** MergeMark is up to where a partition is merged, and what came after that. */
interface MergeMark {
  /** The last batch that is merged. */
  readonly batch: number;
  /** count is how many batches came after it, and the last of them. */
  readonly count: number;
  readonly last: number;
}

function pendingMarks(books: Connection) {
  const mergedOf = books.prepare<[part: number], { batch: number }>("SELECT batch FROM due_merged WHERE part = ?");
  const batchesAfter = books.prepare<[batch: number], { count: number; last: number | null }>(
    "SELECT count(*) AS count, max(id) AS last FROM due_batches WHERE id > ?",
  );
  const setMerged = books.prepare<[batch: number, part: number]>("UPDATE due_merged SET batch = ? WHERE part = ?");
  const mergedByAll = "(SELECT min(batch) FROM due_merged)";
  const deleteSums = books.prepare<[]>(`DELETE FROM due_sums WHERE batch <= ${mergedByAll}`);
  const deleteBatches = books.prepare<[]>(`DELETE FROM due_batches WHERE id <= ${mergedByAll}`);
  return {
    markOf(part: number): MergeMark {
      const { batch = 0 } = mergedOf.get(part) ?? {};
      const { count = 0, last = null } = batchesAfter.get(batch) ?? {};
      return { batch, count, last: last ?? batch };
    },
    /** Marks a partition as merged up to a batch, and deletes batches that all partitions have merged. */
    mark(part: number, last: number): void {
      setMerged.run(last, part);
      deleteSums.run();
      deleteBatches.run();
    },
  };
}
