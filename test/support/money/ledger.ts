/** A ledger over a real database of either engine, with one account and one key. */
import { onTestFinished } from "vitest";
import { type Capture, holdMs } from "../../../src/ledger/contract.ts";
import { callColumns } from "../../../src/storage/columns.ts";
import type { OpenBooks } from "../../../src/storage/money/books.ts";
import type { Storage } from "../../../src/storage/storage.ts";
import { accelerators, type createLeasingLedger } from "../accelerators.ts";
import { newTestDatabase, type TestDatabase } from "../storage/test-database.ts";
import { createLedger, type LedgerByIds } from "./ledger-by-ids.ts";

export interface TestLedger {
  readonly database: TestDatabase;
  readonly storage: Storage;
  readonly ledger: LedgerByIds;
  readonly errors: unknown[];
  /** Opens books as the ledger's are. */
  readonly openBooks: OpenBooks;
  /** Opens another ledger of the same gateway. */
  openLedger(create?: typeof createLeasingLedger): LedgerByIds;
  /** Moves the clock on, by milliseconds: on Postgres that of all gateways. */
  pass(ms: number): Promise<void>;
  now(): number;
  /** The sums, when all that is known has been written, and what no call needs given back. */
  account(): Promise<Record<"balance" | "held", number>>;
  key(): Promise<Record<"spent" | "held", number>>;
  /** The rows of calls, by their ids. */
  calls(): Promise<readonly Readonly<Record<string, unknown>>[]>;
  close(): Promise<void>;
}

export interface Standing {
  readonly balance?: number;
  readonly limit?: number | null;
  readonly postpaid?: boolean;
}

const begin = Date.UTC(2026, 0, 2, 3, 4, 5);

/**
 * Opens a database; another gateway's view of the same one where one is given. On SQLite its books have a journal as the tests'
 * environment says, unless `hasJournal` does.
 */
export async function openLedger(
  standing: Standing,
  shared?: TestDatabase,
  create?: typeof createLeasingLedger,
  hasJournal = accelerators.hasJournal,
): Promise<TestLedger> {
  const database = shared ?? (await newTestDatabase());
  let time = begin;
  if (!shared) {
    await seed(database, standing);
    await database.setClock(time);
  }
  const storage = await database.open();
  const errors: unknown[] = [];
  const onError = (error: unknown) => void errors.push(error);
  const openBooks = storage.openBooks(hasJournal);
  const ledgerOf = (kind = create) => createLedger({ openBooks, clock: () => time, onError }, kind);
  const ledger = ledgerOf();
  const settle = async () => {
    await storage.holds.total();
    await storage.recall("acc_1");
  };
  const sums = async <T>(sql: string) => {
    await settle();
    const [row] = await database.query<T>(sql);
    return row as T;
  };
  return {
    ...{ database, storage, ledger, errors, openBooks },
    openLedger: ledgerOf,
    async pass(ms) {
      time += ms;
      await database.setClock(time);
    },
    now: () => time,
    account: () => sums("SELECT balance, held FROM accounts_now"),
    key: () => sums("SELECT spent, held FROM api_keys_now"),
    async calls() {
      await settle();
      return database.query("SELECT * FROM requests ORDER BY id");
    },
    async close() {
      await ledger.close();
      await storage.close();
      if (!shared) await database.remove();
    },
  };
}

/** ledgersOfTests returns what opens databases as `openLedger` does, each until its test is over. Ledgers that are named have a journal on SQLite. */
export function ledgersOfTests(create?: typeof createLeasingLedger) {
  return async (standing: Standing, shared?: TestDatabase): Promise<TestLedger> => {
    const made = await openLedger(standing, shared, create, create !== undefined || accelerators.hasJournal);
    onTestFinished(made.close);
    return made;
  };
}

async function seed(database: TestDatabase, standing: Standing): Promise<void> {
  for (const [sql, values] of seedsOf(standing)) await database.query(sql, ...values);
}

/** Returns the statements that make the account, its key and its first entry, with their values. */
export function seedsOf({ balance = 0, limit = null, postpaid = false }: Standing) {
  const seeds: readonly (readonly [sql: string, values: readonly (number | null)[]])[] = [
    [
      "INSERT INTO accounts (id, name, created_at, balance, recharged, postpaid) VALUES ('acc_1', 'one', 1, ?, ?, ?)",
      [balance, balance, postpaid ? 1 : 0],
    ],
    [
      `INSERT INTO api_keys (id, account_id, name, secret_hash, secret_mask, created_at, credit_limit)
       VALUES ('key_1', 'acc_1', 'k', 'h', 'm', 1, ?)`,
      [limit],
    ],
    [
      "INSERT INTO ledger_entries (id, account_id, kind, amount, created_at) VALUES ('led_0', 'acc_1', 1, ?, 1)",
      [balance],
    ],
  ];
  return seeds;
}

/** Returns what a call of the test's account asks to be held. */
export function holdRequest(requestId: string, max: number, min: number, now: number) {
  const names = { accountId: "acc_1", keyId: "key_1", operation: "chat", model: "m" };
  return { requestId, ...names, isLimited: true, max, min, now };
}

/** The same for a key without a limit. */
export function unlimitedRequest(requestId: string, max: number, now: number) {
  return { ...holdRequest(requestId, max, max, now), isLimited: false };
}

/** Has another gateway look at a database whose own was killed, when what that held has lapsed. */
export async function sweptByAnother<
  T extends { pass(ms: number): Promise<void> | void; readonly ledger: Pick<LedgerByIds, "sweep"> },
>(other: Promise<T>): Promise<T> {
  const swept = await other;
  await swept.pass(holdMs);
  await swept.ledger.sweep();
  return swept;
}

const byDefault = Object.fromEntries(
  callColumns.flatMap((column) => ("default" in column && "journal" in column ? [[column.name, column.default]] : [])),
);

/** A call of the test's account that has ended. Columns that have a default have it. */
export function endedCall(id: string, cost: number, created_at: number, more: Partial<Capture> = {}): Capture {
  const usage = { input: cost, cache_read: 0, cache_write: 0, output: 0, reasoning: 0, characters: 0 };
  const names = { account_id: "acc_1", key_id: "key_1", operation: "chat", model: "m", upstream: "u" };
  const times = { created_at, duration_ms: 5, first_byte_ms: 3 };
  return { ...byDefault, id, ...names, outcome: 1, ...usage, estimated: 0, cost, ...times, ...more };
}
