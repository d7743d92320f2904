/**
 * Budgets over SQLite: what they leave, read within the transaction that decides, and what calls of accounts and keys with budgets add to
 * what was spent in a quarter of an hour (`money/budgets.ts`).
 *
 * Which accounts and keys have budgets is kept in memory and read again where a change says so: a call of others costs no query. The caller is in a transaction and has looked at the engine's exact version: nobody else changes anything meanwhile.
 */
import { quarterOf } from "../../../money/budget-windows.ts";
import {
  type BudgetLeft,
  type BudgetTerms,
  type BudgetUse,
  type BudgetWindow,
  budgetLeft,
  budgetWindows,
  tightest,
} from "../../../money/budgets.ts";
import type { Capture } from "../../../money/contract.ts";
import type { Engine } from "../../engine.ts";

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

export function createBudgetBooks(engine: Engine): BudgetBooks {
  const { books } = engine;
  const subjects = createSubjects(engine);
  const use = createUse(books);
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

function createUse(books: Engine["books"]): (accountId: string, window: BudgetWindow) => BudgetUse {
  const selectSpent = books.prepare<
    [subject: string, from: number, to: number],
    { spent: number; oldest: number | null }
  >(
    `SELECT coalesce(sum(spent), 0) AS spent, min(quarter_start) AS oldest FROM spent_by_quarter
     WHERE subject = ? AND quarter_start >= ? AND quarter_start < ?`,
  );
  // A row without an operation is a lease, which no call holds.
  const selectHeld = books.prepare<
    [accountId: string, keyId: string | null, from: number, to: number],
    { held: number }
  >(
    `SELECT coalesce(sum(amount), 0) AS held FROM holds
     WHERE account_id = ? AND key_id = coalesce(?, key_id) AND created_at >= ? AND created_at < ? AND operation <> ''`,
  );
  return (accountId, { of, subject, from, to }) => {
    const { spent = 0, oldest = null } = selectSpent.get(subject, from, to) ?? {};
    const { held = 0 } = selectHeld.get(accountId, of === "key" ? subject : null, from, to) ?? {};
    return { spent, held, oldest: oldest ?? undefined };
  };
}

/** Returns the ids of all accounts and keys that have budgets. */
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
