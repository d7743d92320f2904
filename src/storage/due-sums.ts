/**
 * What calls add to the sums of keys and hours, and is merged into them later, for many calls of a key at once: where many
 * keys call in turn, each call would write pages that no other call shares.
 *
 * It is written beside the calls, in the same transaction, and counted as merged in the one that merges it, by whatever
 * process: so it counts once. Until then `api_keys_now` and `usage_hours_now` tell the sums with it. Keys with a limit have
 * none of it, since their own row decides what they may spend: who gives a key a limit merges what is due of it first.
 */
import { setImmediate } from "node:timers/promises";
import type { Connection, Engine } from "./database.ts";
import { type DueRow, hasCalls, keySum, usageOf } from "./ledger-rows.ts";
import type { LedgerStatements } from "./ledger-statements.ts";

export interface DueSums {
  /** It is merged part by part, and no part takes long. */
  readonly parts: number;
  /** Writes a batch of what is due, in the caller's transaction. */
  add(rows: readonly DueRow[]): void;
  /** Merges what is due of a part, in the caller's transaction. */
  merge(part: number): void;
  isAny(): boolean;
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
  // Batch by batch, each of which has a part in one place.
  const dueOf = books.prepare<[part: number, part: number], Record<string, string | number>>(
    `SELECT account_id, hour, key_id, model, sum(requests), sum(input), sum(cache_read), sum(cache_write), sum(output),
       sum(reasoning), sum(characters), sum(cost), sum(spent), sum(freed)
     FROM due_batches b CROSS JOIN due_sums s ON s.batch = b.id AND s.part = ?
     WHERE b.id > (SELECT batch FROM due_merged WHERE part = ?) GROUP BY account_id, hour, key_id, model`,
  );
  const setMerged = books.prepare<[part: number]>(
    "UPDATE due_merged SET batch = (SELECT coalesce(max(id), batch) FROM due_batches) WHERE part = ?",
  );
  const merged = "(SELECT min(batch) FROM due_merged)";
  const forgetSums = books.prepare<[]>(`DELETE FROM due_sums WHERE batch <= ${merged}`);
  const forgetBatches = books.prepare<[]>(`DELETE FROM due_batches WHERE id <= ${merged}`);
  const any = books.prepare<[], unknown>("SELECT 1 FROM due_batches LIMIT 1");
  return {
    parts,
    add(rows) {
      const batch = insertBatch.get()?.id ?? 0;
      const placed = rows.map((row, place) => ({ row, place, part: partOf(row[2]) }));
      placed.sort((one, other) => one.part - other.part);
      for (const { row, place, part } of placed) insert.run(batch, part, place, ...row);
    },
    merge(part) {
      for (const sums of dueOf.all(part, part)) {
        const row = Object.values(sums) as readonly unknown[] as DueRow;
        if (hasCalls(row)) addToHour.run(...usageOf(row));
        const [keyId, freed, spent] = keySum(row);
        if (freed !== 0 || spent !== 0) freeKey.run(freed, spent, keyId);
      }
      setMerged.run(part);
      forgetSums.run();
      forgetBatches.run();
    },
    isAny: () => any.get() !== undefined,
  };
}

/** Merges all that is due, and gives way to others between parts. Returns false where another process writes just then. */
export async function mergeAll({ books, read, withoutWaiting }: Engine, due: DueSums): Promise<boolean> {
  read(() => {}); // What is not written yet may become due.
  for (let part = 0; part < parts && due.isAny(); part++) {
    if (!withoutWaiting(() => books.transact(() => due.merge(part)))) return false;
    await setImmediate();
  }
  return true;
}
