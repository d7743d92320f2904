/** A ledger over a real SQLite file, with one account and one key, and what its books are made of: for tests of the engine. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { Outcome } from "../../../gen/modelgateway/v1/usage_pb.ts";
import type { Engine } from "../../../src/storage/engines/engine.ts";
import { createBooks } from "../../../src/storage/engines/sqlite/books/books.ts";
import { type BooksParts, createBooksParts } from "../../../src/storage/engines/sqlite/books/parts.ts";
import { openDatabase } from "../../../src/storage/engines/sqlite/database.ts";
import { createJournalBooks } from "../../../src/storage/engines/sqlite/journal/journal-books.ts";
import type { OpenBooks } from "../../../src/storage/money/books.ts";
import { accelerators, type createLeasingLedger } from "../accelerators.ts";
import { endedCall, type Standing, seedsOf, unlimitedRequest } from "./ledger.ts";
import { createLedger, type LedgerByIds } from "./ledger-by-ids.ts";

export { endedCall, holdRequest, sweptByAnother, unlimitedRequest } from "./ledger.ts";

export interface TestLedger {
  readonly path: string;
  readonly engine: Engine;
  readonly ledger: LedgerByIds;
  /** parts are what its books are made of. */
  readonly parts: BooksParts;
  /** Opens books of the kind that the ledger has. */
  readonly openBooks: OpenBooks;
  readonly errors: unknown[];
  /** Moves the clock on, by milliseconds. */
  pass(ms: number): void;
  now(): number;
  account(): Record<"balance" | "held", number>;
  key(): Record<"spent" | "held", number>;
  close(): Promise<void>;
}

/**
 * Opens a database; another process's view of the same one where a path is given. Its books have a journal as the tests' environment
 * says, unless `hasJournal` does.
 */
export async function openLedger(
  standing: Standing,
  path?: string,
  create?: typeof createLeasingLedger,
  hasJournal = accelerators.hasJournal,
): Promise<TestLedger> {
  const folder = path ? undefined : await mkdtemp(join(tmpdir(), "ledger-test-"));
  const file = path ?? join(folder as string, "gateway.db");
  const { db, engine } = await openDatabase(file);
  if (!path) for (const [sql, values] of seedsOf(standing)) engine.prepare(sql).run(...values);
  let time = Date.UTC(2026, 0, 2, 3, 4, 5);
  const errors: unknown[] = [];
  const parts = createBooksParts(engine);
  const openBooks: OpenBooks = (options) => (hasJournal ? createJournalBooks : createBooks)(parts, options);
  const onError = (error: unknown) => errors.push(error);
  const ledger = createLedger({ openBooks, clock: () => time, onError }, create);
  const account = engine.prepare<[], Record<"balance" | "held", number>>("SELECT balance, held FROM accounts");
  const key = engine.prepare<[], Record<"spent" | "held", number>>("SELECT spent, held FROM api_keys");
  return {
    path: file,
    engine,
    ledger,
    parts,
    openBooks,
    errors,
    pass(ms) {
      time += ms;
    },
    now: () => time,
    account: () => account.get() as Record<"balance" | "held", number>,
    key: () => key.get() as Record<"spent" | "held", number>,
    async close() {
      await ledger.close();
      await db.destroy();
      if (folder) await rm(folder, { recursive: true });
    },
  };
}

/** ledgersOfTests returns what opens databases as `openLedger` does, each until its test is over. Ledgers that are named have a journal. */
export function ledgersOfTests(create?: typeof createLeasingLedger) {
  return async (standing: Standing, path?: string): Promise<TestLedger> => {
    const made = await openLedger(standing, path, create, create !== undefined || accelerators.hasJournal);
    onTestFinished(made.close);
    return made;
  };
}

/** Charges a call of a key without a limit. */
export async function charge(t: TestLedger, id: string, cost: number): Promise<void> {
  await t.ledger.hold(unlimitedRequest(id, 10, t.now()));
  await t.ledger.capture(endedCall(id, cost, t.now()));
}

/** Gives the test's account more keys. */
export function addKeys(t: TestLedger, ids: readonly string[], limit: number | null = null): void {
  const insert = t.engine.prepare<[string, string, number | null]>(
    `INSERT INTO api_keys (id, account_id, name, secret_hash, secret_mask, created_at, credit_limit)
     VALUES (?, 'acc_1', 'k', ?, 'm', 1, ?)`,
  );
  for (const id of ids) insert.run(id, `hash of ${id}`, limit);
}

/** Merges all that is due of keys and hours. */
export function mergeAll({ engine, parts: { pendingTotals } }: TestLedger): void {
  for (let part = 0; part < pendingTotals.parts; part++) engine.books.transact(() => pendingTotals.merge(part));
}

/** callsIn returns what the rows of calls say of their charges. */
export function callsIn({ engine }: Pick<TestLedger, "engine">) {
  return engine
    .prepare<[], { id: string; outcome: Outcome; cost: number; waived: number }>(
      "SELECT id, outcome, cost, waived FROM requests",
    )
    .all();
}
