/**
 * Budgets over SQLite: what they leave, read within the transaction that decides, and what calls of accounts and keys with budgets add to
 * what was spent in a quarter of an hour (`money/budgets.ts`).
 *
 * The accounts and keys that have budgets are kept in memory and read again where a change says so: a call of others costs no query. The
 * caller is in a transaction and has looked at the engine's exact version: nobody else changes anything meanwhile.
 */
import { quarterOf } from "../../../money/budget-windows.ts";
import {
  type BudgetLeft,
  type BudgetTerms,
  type BudgetUse,
  type BudgetWindow,
  budgetLeft,
  budgetWindows,
  maxOutside,
  tightest,
} from "../../../money/budgets.ts";
import type { Capture } from "../../../money/contract.ts";
import type { Connection, Engine } from "../../engine.ts";
import type { PendingTotals } from "./pending-totals.ts";

export interface BudgetBooks {
  /** Reports whether an account or a key has budgets. */
  has(accountId: string, keyId: string): boolean;
  /** Returns what the tightest budget leaves for a call that came at a moment; undefined where there is none. */
  left(accountId: string, keyId: string, at: number): BudgetLeft | undefined;
  /**
   * Returns what adds to the spending of an account and a key what a call of theirs is charged, where they have budgets; undefined where
   * nobody has. It holds for the transaction.
   */
  charging(): ChargeBudgets | undefined;
}

export type ChargeBudgets = (call: Pick<Capture, "account_id" | "key_id" | "created_at">, cost: number) => void;

export interface BudgetParts {
  readonly books: Connection;
  /** Returns what is pending of a key, and not in its row. */
  readonly pendingOf: PendingTotals["of"];
}

export function createBudgetBooks(engine: Engine, pendingOf: BudgetParts["pendingOf"]): BudgetBooks {
  const { books } = engine;
  const subjects = createSubjects(engine);
  const use = createUse({ books, pendingOf });
  const selectTerms = books.prepare<[keyId: string, accountId: string], BudgetTerms>(
    `SELECT a.time_zone AS zone, a.budgets AS ofAccount, (SELECT k.budgets FROM api_keys k WHERE k.id = ?) AS ofKey
     FROM accounts a WHERE a.id = ?`,
  );
  const addSpent = books.prepare<[subject: string, quarter: number, spent: number]>(
    `INSERT INTO spent_by_quarter (subject, quarter_start, spent) VALUES (?, ?, ?)
     ON CONFLICT (subject, quarter_start) DO UPDATE SET spent = spent + excluded.spent`,
  );
  function has(accountId: string, keyId: string): boolean {
    const ids = subjects();
    return ids.size > 0 && (ids.has(accountId) || ids.has(keyId));
  }
  return {
    has,
    left(accountId, keyId, at) {
      if (!has(accountId, keyId)) return undefined;
      const terms = selectTerms.get(keyId, accountId);
      const windows = terms ? budgetWindows(terms, accountId, keyId, at) : [];
      return tightest(windows.map((window) => budgetLeft(window, use(accountId, window))));
    },
    charging() {
      const ids = subjects();
      if (ids.size === 0) return undefined;
      return ({ account_id, key_id, created_at }, cost) => {
        if (cost === 0) return;
        for (const id of [account_id, key_id]) if (ids.has(id)) addSpent.run(id, quarterOf(created_at), cost);
      };
    },
  };
}

function createUse({ books, pendingOf }: BudgetParts): (accountId: string, window: BudgetWindow) => BudgetUse {
  const selectSpent = books.prepare<
    [subject: string, from: number, to: number],
    { spent: number; oldest: number | null }
  >(
    `SELECT coalesce(sum(spent), 0) AS spent, min(quarter_start) AS oldest FROM spent_by_quarter
     WHERE subject = ? AND quarter_start >= ? AND quarter_start < ?`,
  );
  const heldIn = createHeldIn(books, pendingOf);
  return (accountId, window) => {
    const { subject, from, to } = window;
    const { spent = 0, oldest = null } = selectSpent.get(subject, from, to) ?? {};
    return { spent, held: heldIn(accountId, window), oldest: oldest ?? undefined };
  };
}

/**
 * createHeldIn returns what sums the holds of a window. Nearly all that runs came within it, and may be thousands of calls: so that is what
 * is held in all, less leases, which no call holds, and less the calls that came before or after. Where those are many, as in the first
 * minutes of a month, the calls of the window are summed.
 */
function createHeldIn(books: Connection, pendingOf: BudgetParts["pendingOf"]) {
  const [ofCalls, leased] = ["account_id = ? AND operation <> ''", "account_id = ? AND operation = ''"];
  const sum = "coalesce(sum(CASE WHEN key_id = coalesce(?, key_id) THEN amount END), 0)";
  const outside = (when: string) =>
    `SELECT * FROM (SELECT key_id, amount FROM holds WHERE ${ofCalls} AND ${when} LIMIT ${maxOutside + 1})`;
  const selectOutside = books.prepare<
    [keyId: string | null, accountId: string, from: number, accountId: string, to: number],
    { count: number; amount: number }
  >(
    `SELECT count(*) AS count, ${sum} AS amount
     FROM (${outside("created_at < ?")} UNION ALL ${outside("created_at >= ?")})`,
  );
  const selectWithin = books.prepare<
    [keyId: string | null, accountId: string, from: number, to: number],
    { amount: number }
  >(`SELECT ${sum} AS amount FROM holds WHERE ${ofCalls} AND created_at >= ? AND created_at < ?`);
  const selectOfAccount = books.prepare<[accountId: string, accountId: string], { held: number }>(
    `SELECT held - (SELECT coalesce(sum(amount), 0) FROM holds WHERE ${leased}) AS held FROM accounts WHERE id = ?`,
  );
  const selectOfKey = books.prepare<[accountId: string, keyId: string, keyId: string], { held: number }>(
    `SELECT held - (SELECT coalesce(sum(amount), 0) FROM holds WHERE ${leased} AND key_id = ?) AS held
     FROM api_keys WHERE id = ?`,
  );
  function heldInAll(accountId: string, keyId: string | null): number {
    if (keyId === null) return selectOfAccount.get(accountId, accountId)?.held ?? 0;
    return (selectOfKey.get(accountId, keyId, keyId)?.held ?? 0) - pendingOf(keyId).freed;
  }
  return (accountId: string, { of, subject, from, to }: BudgetWindow): number => {
    const keyId = of === "key" ? subject : null;
    const { count = 0, amount = 0 } = selectOutside.get(keyId, accountId, from, accountId, to) ?? {};
    if (count <= maxOutside) return heldInAll(accountId, keyId) - amount;
    return selectWithin.get(keyId, accountId, from, to)?.amount ?? 0;
  };
}

/** createSubjects returns the ids of all accounts and keys that have budgets. */
function createSubjects({ books, changes }: Engine): () => ReadonlySet<string> {
  const all = books.prepare<[], { readonly id: string }>(
    "SELECT id FROM accounts WHERE budgets <> '' UNION ALL SELECT id FROM api_keys WHERE budgets <> ''",
  );
  const one = books.prepare<[id: string, id: string], { readonly id: string }>(
    "SELECT id FROM accounts WHERE id = ? AND budgets <> '' UNION ALL SELECT id FROM api_keys WHERE id = ? AND budgets <> ''",
  );
  let ids: Set<string> | undefined;
  let seen = 0;

  function read(): Set<string> {
    return new Set(all.all().map(({ id }) => id));
  }

  function readAgain(known: Set<string>, names: readonly string[]): void {
    for (const name of names) {
      if (one.get(name, name)) known.add(name);
      else known.delete(name);
    }
  }

  return () => {
    const version = changes.version();
    if (ids && version === seen) return ids;
    const names = ids && changes.namesSince(seen);
    if (ids && names) readAgain(ids, names);
    else ids = read();
    seen = version;
    return ids;
  };
}
