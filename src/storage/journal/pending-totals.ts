/**
 * What calls add to the sums of keys and hours, and is merged into them later, for many calls of a key at once: where many
 * keys call in turn, each call would write pages that no other call shares.
 *
 * It is written beside the calls, in the same transaction, and counted as merged in the one that merges it, by whatever
 * process: so it counts once. Until then `api_keys_now` and `usage_hours_now` tell the sums with it. Keys with a limit have
 * none of it, since their own row decides what they may spend: who gives a key a limit merges what is due of it first.
 */

import type { Connection } from "../engines/sqlite/database.ts";
import { type DueRow, hasCalls, keySum, usageOf } from "../money/ledger-rows.ts";
import type { LedgerStatements } from "../money/ledger-statements.ts";
import { createAlikeRows, placesOf } from "./alike-rows.ts";
import { createKnownDue } from "./pending-totals-cache.ts";

export interface DueSums {
  /** It is merged part by part, and no part takes long. */
  readonly parts: number;
  /** Writes a batch of what is due, in the caller's transaction. */
  add(rows: readonly DueRow[]): void;
  /** Merges what is due of a part, in the caller's transaction. */
  merge(part: number): void;
  isAny(): boolean;
  /** Tells what is due of one key, past all others. */
  of(keyId: string): DueOfKey;
}

export interface DueOfKey {
  readonly spent: number;
  /** What is no longer held; below 0 where more is. */
  readonly freed: number;
}

/** As many as the tables were made for. */
const parts = 64;

/** Returns the part that a key belongs to: ids end at random. */
export function partOf(keyId: string): number {
  const last = keyId.length - 1;
  return (keyId.charCodeAt(last) + 31 * keyId.charCodeAt(last - 1)) % parts;
}

export function dueSums(books: Connection, { addToHour, freeKey }: LedgerStatements): DueSums {
  const insertBatch = books.prepare<[], { id: number }>("INSERT INTO due_batches DEFAULT VALUES RETURNING id");
  const insert = books.prepare<[batch: number, part: number, place: number, ...DueRow]>(
    `INSERT INTO due_sums (batch, part, place, account_id, hour, key_id, model, requests, input, cache_read, cache_write,
       output, reasoning, characters, cost, spent, freed)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  // No row of a batch is there already, so none fails; and of a statement that may be undone alone each page is kept as it
  // was before (`bulk-insert.ts`).
  const insertMany = books.prepare<(string | number)[]>(
    `INSERT OR FAIL INTO due_sums (batch, hour, model, part, place, account_id, key_id, requests, input, cache_read, cache_write,
       output, reasoning, characters, cost, spent, freed)
     SELECT kind.*, own.* FROM (SELECT ?, ?, ?) kind CROSS JOIN (VALUES ${placesOf(14)}) own`,
  );
  // Batch by batch, each of which has a part in one place.
  const ofPart = `FROM due_batches b CROSS JOIN due_sums s ON s.batch = b.id AND s.part = ?
     WHERE b.id > (SELECT batch FROM due_merged WHERE part = ?)`;
  const dueOf = books.prepare<[part: number, part: number], Record<string, string | number>>(
    `SELECT account_id, hour, key_id, model, sum(requests), sum(input), sum(cache_read), sum(cache_write), sum(output),
       sum(reasoning), sum(characters), sum(cost), sum(spent), sum(freed)
     ${ofPart} GROUP BY account_id, hour, key_id, model`,
  );
  const dueOfKey = books.prepare<[part: number, part: number, keyId: string], DueOfKey>(
    `SELECT coalesce(sum(spent), 0) AS spent, coalesce(sum(freed), 0) AS freed ${ofPart} AND s.key_id = ?`,
  );
  const mergedOf = books.prepare<[part: number], { batch: number }>("SELECT batch FROM due_merged WHERE part = ?");
  const batchesAfter = books.prepare<[batch: number], { count: number; last: number | null }>(
    "SELECT count(*) AS count, max(id) AS last FROM due_batches WHERE id > ?",
  );
  const setMerged = books.prepare<[batch: number, part: number]>("UPDATE due_merged SET batch = ? WHERE part = ?");
  const merged = "(SELECT min(batch) FROM due_merged)";
  const forgetSums = books.prepare<[]>(`DELETE FROM due_sums WHERE batch <= ${merged}`);
  const forgetBatches = books.prepare<[]>(`DELETE FROM due_batches WHERE id <= ${merged}`);
  const any = books.prepare<[], unknown>("SELECT 1 FROM due_batches LIMIT 1");
  const known = createKnownDue(parts, (row) => partOf(row[2]));
  const readDue = (part: number) =>
    dueOf.all(part, part).map((sums) => Object.values(sums) as readonly unknown[] as DueRow);
  return {
    parts,
    add(rows) {
      const batch = insertBatch.get()?.id ?? 0;
      const placed = rows.map((row, place) => ({ row, place, part: partOf(row[2]) }));
      placed.sort((one, other) => one.part - other.part);
      const written = createAlikeRows<PlacedRow>({
        isAlike,
        writeMany: (alike) => insertMany.run(...valuesOf(batch, alike)),
        writeOne: ({ row, place, part }) => insert.run(batch, part, place, ...row),
      });
      placed.forEach(written.add);
      written.end();
      books.whenCommitted(() => known.add(rows));
    },
    merge(part) {
      const { batch = 0 } = mergedOf.get(part) ?? {};
      const { count = 0, last = null } = batchesAfter.get(batch) ?? {};
      const upTo = last ?? batch;
      for (const row of known.of(part, batch, count) ?? readDue(part)) {
        if (hasCalls(row)) addToHour.run(...usageOf(row));
        const [keyId, freed, spent] = keySum(row);
        if (freed !== 0 || spent !== 0) freeKey.run(freed, spent, keyId);
      }
      setMerged.run(upTo, part);
      forgetSums.run();
      forgetBatches.run();
      books.whenCommitted(() => known.merged(part, upTo));
    },
    isAny: () => any.get() !== undefined,
    of: (keyId) => dueOfKey.get(partOf(keyId), partOf(keyId), keyId) ?? { spent: 0, freed: 0 },
  };
}

/** A row, with where in its batch it stands. */
interface PlacedRow {
  readonly row: DueRow;
  readonly place: number;
  readonly part: number;
}

/** Whether both are of the same hour and model: account and key are mostly others. */
function isAlike({ row: one }: PlacedRow, { row: other }: PlacedRow): boolean {
  return one[1] === other[1] && one[3] === other[3];
}

function valuesOf(batch: number, alike: readonly PlacedRow[]): (string | number)[] {
  const values: (string | number)[] = [];
  for (const { row, place, part } of alike) {
    const [accountId, hour, keyId, model, ...counts] = row;
    if (values.length === 0) values.push(batch, hour, model);
    values.push(part, place, accountId, keyId, ...counts);
  }
  return values;
}
