/**
 * Money in the database: holds and charges, one by one. Many at once are written by `apply.ts`, leases by `leases.ts`, and
 * what comes in by `entries.ts`.
 *
 * Every function here is one step of a transaction that the caller opens (`transact`), and keeps these sums true, which
 * `reconcile.ts` proves: an account's balance is the sum of its ledger entries less what its calls cost, its `held` that of
 * its holds; a key's `spent` is the sum of what its calls cost, its `held` that of its holds. Whether a hold is taken is
 * decided by the conditions of the statements that take it, so that no number of callers, in any number of processes,
 * reserves more than there is.
 */
import type { Selectable } from "kysely";
import type { Engine } from "../engines/sqlite/database.ts";
import type { WhenFree } from "../engines/sqlite/when-free.ts";
import { createPost, type Post } from "../journal/apply.ts";
import { createInsertCalls } from "../journal/bulk-insert.ts";
import { type HoldEntry, type JournalStore, journalStore } from "../journal/journal.ts";
import { type DueSums, dueSums } from "../journal/pending-totals.ts";
import type { RequestTable } from "../schema.ts";
import { type LeaseStore, leaseStore } from "./leases.ts";
import { requestRow, usageRow } from "./ledger-rows.ts";
import { ledgerStatements, lost, mostHeld } from "./ledger-statements.ts";
import { release, reserve } from "./reserving.ts";

export type { Post } from "../journal/apply.ts";
export type { Entry, HoldEntry, Note, Rejected, Taken } from "../journal/journal.ts";

export interface HoldInit {
  readonly requestId: string;
  /** The process that makes it. */
  readonly node: string;
  readonly accountId: string;
  readonly keyId: string;
  readonly operation: string;
  readonly model: string;
  /** The most that the call may cost. */
  readonly max: number;
  /** What the call cannot do with less than. */
  readonly min: number;
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly expiresAt: number;
}

export type Held =
  | { readonly kind: "held"; readonly amount: number }
  /** `available` is what is left of the account's balance or of the key's limit, whichever does not suffice. */
  | { readonly kind: "short"; readonly of: "balance" | "limit"; readonly available: number };

/** A call that is over; `cost` is what it should be charged. */
export type Capture = Omit<Selectable<RequestTable>, "waived" | "tried" | "cached"> &
  Partial<Pick<Selectable<RequestTable>, "tried" | "cached">>;

export interface Captured {
  readonly cost: number;
  /** What it should have been charged beyond that: more than was held for it, or than was left. */
  readonly waived: number;
}

export interface LedgerStore {
  readonly transact: Engine["transact"];
  /** Whether it failed by what was to be written, and would fail again. */
  readonly isFault: Engine["isFault"];
  readonly version: Engine["version"];
  readonly withoutWaiting: Engine["withoutWaiting"];
  readonly whenFree: WhenFree;
  /** Has this called before anybody else reads or writes, so that nobody sees what is not written yet. */
  readonly beforeAccess: Engine["beforeAccess"];
  readonly leases: LeaseStore;
  readonly journal: JournalStore;
  readonly due: DueSums;
  /** Writes entries of the journal where they belong. */
  readonly post: Post;
  /** Reserves as much as is wanted, or as there is, if that is enough. */
  hold(init: HoldInit): Held;
  /** Tells what is left of a key's limit or of its account's balance, whichever is less; infinite where neither bounds it. */
  left(keyId: string): Left;
  /** Frees a call's hold, if it has one. */
  free(requestId: string): void;
  /**
   * Charges a call, at most `most`, and frees its hold. What its hold does not cover, for that has lapsed or there was none, is
   * taken from what is left. A call that was settled before is left as it is: undefined.
   */
  settle(settlement: Capture, most?: number): Captured | undefined;
  /** Moves on the deadlines of this process's holds. */
  renew(node: string, expiresAt: number): void;
  /**
   * Frees holds whose deadline has passed, some at a time, and remembers their calls as lost; not those of these processes.
   * Returns how many.
   */
  lapse(now: number, except?: readonly string[]): number;
  /** Notes that a key was used. */
  touch(keyId: string, now: number): void;
}

export interface Left {
  readonly of: "limit" | "balance";
  readonly available: number;
}

/** How many holds are freed in one transaction. */
const batch = 500;

export function ledgerStore(engine: Engine): LedgerStore {
  const { books, beforeAccess, version, withoutWaiting, isFault, notes, patience } = engine;
  const statements = ledgerStatements(books);
  const due = dueSums(books, statements);
  const insertCalls = createInsertCalls({ books, statements, isFault });
  const { insertHold, freeKey, freeAccount, deleteHold } = statements;
  const { insertRequest, deleteLost, addToHour } = statements;
  // A bare parameter would have the join planned anew at each call, for its value.
  const selectLeft = books.prepare<[keyId: string], LeftRow>(
    `SELECT k.credit_limit - k.spent - k.held AS ofLimit,
       CASE a.postpaid WHEN 1 THEN NULL ELSE a.balance - a.held END AS ofBalance
     FROM api_keys k JOIN accounts a ON a.id = k.account_id WHERE k.id = (SELECT ?)`,
  );
  const selectKnown = books.prepare<[id: string], { readonly id: string }>("SELECT id FROM requests WHERE id = ?");
  const renewHolds = books.prepare<[expiresAt: number, node: string]>("UPDATE holds SET expires_at = ? WHERE node = ?");
  const lapsed = books.prepare<[now: number, except: string], LapsedHold>(
    `SELECT request_id, account_id, key_id, operation, model, created_at FROM holds
     WHERE expires_at <= ? AND node NOT IN (SELECT value FROM json_each(?)) LIMIT ${batch}`,
  );
  const touchKey = books.prepare<[now: number, keyId: string]>("UPDATE api_keys SET last_used_at = ? WHERE id = ?");

  function tryHold(init: HoldInit, amount: number): boolean {
    const { requestId, node, accountId, keyId, operation, model, now, expiresAt } = init;
    if (!reserve(statements, { accountId, keyId, amount }, now)) return false;
    insertHold.run(requestId, node, accountId, keyId, operation, model, amount, now, expiresAt);
    return true;
  }

  function hold(init: HoldInit): Held {
    if (init.max <= mostHeld && tryHold(init, init.max)) return { kind: "held", amount: init.max };
    const left = leftOf(init.keyId);
    const available = Math.min(left.available, mostHeld);
    if (available < init.max && available >= init.min && tryHold(init, available)) {
      return { kind: "held", amount: available };
    }
    return { kind: "short", of: left.of, available };
  }

  function leftOf(keyId: string): Left {
    const left = selectLeft.get(keyId);
    const ofLimit = left?.ofLimit ?? Number.POSITIVE_INFINITY;
    const ofBalance = left?.ofBalance ?? Number.POSITIVE_INFINITY;
    return { of: ofLimit < ofBalance ? "limit" : "balance", available: Math.max(0, Math.min(ofLimit, ofBalance)) };
  }

  function settle(call: Capture, most = call.cost): Captured | undefined {
    const { id, account_id, key_id } = call;
    if (selectKnown.get(id) && deleteLost.run(id) === 0) return undefined;
    const released = deleteHold.get(id)?.amount ?? 0;
    const wanted = Math.min(call.cost, most);
    const cost = wanted <= released ? wanted : Math.min(wanted, released + leftOf(key_id).available);
    const waived = call.cost - cost;
    freeKey.run(released, cost, key_id);
    freeAccount.run(released, cost, account_id);
    insertRequest.run(...requestRow(call, cost, waived));
    addToHour.run(...usageRow(call, cost));
    return { cost, waived };
  }

  function lapse(now: number, except: readonly string[] = []): number {
    const holds = lapsed.all(now, JSON.stringify(except));
    for (const { request_id, account_id, key_id, operation, model, created_at } of holds) {
      release(statements, request_id);
      // A lease is no call.
      if (operation === "" || selectKnown.get(request_id)) continue;
      const call = { id: request_id, account_id, key_id, operation, model, outcome: lost, created_at };
      const duration_ms = now - created_at;
      const settlement = { ...call, ...nothing, duration_ms };
      insertRequest.run(...requestRow(settlement, 0, 0));
      addToHour.run(...usageRow(settlement, 0, 0));
    }
    return holds.length;
  }

  const holdAlone = (entry: HoldEntry, node: string, expiresAt: number) => {
    tryHold({ ...entry, node, max: entry.amount, min: entry.amount, now: entry.createdAt, expiresAt }, entry.amount);
  };

  return {
    ...{ transact: books.transact, isFault, beforeAccess, version, withoutWaiting, whenFree: patience.whenFree },
    leases: leaseStore(statements),
    journal: journalStore(books, notes),
    due,
    post: createPost({ statements, due, insertCalls, settleAlone: (call) => settle(call), holdAlone }),
    hold,
    left: leftOf,
    free: (requestId) => release(statements, requestId),
    settle,
    renew: (node, expiresAt) => void renewHolds.run(expiresAt, node),
    lapse,
    touch: (keyId, now) => void touchKey.run(now, keyId),
  };
}

/** What a call used that is lost. */
const nothing = {
  ...{ upstream: "", input: 0, cache_read: 0, cache_write: 0, output: 0, reasoning: 0, characters: 0 },
  ...{ estimated: 0, cost: 0, first_byte_ms: null },
};

/** What is left; null where nothing bounds it. */
interface LeftRow {
  readonly ofLimit: number | null;
  readonly ofBalance: number | null;
}

interface LapsedHold {
  readonly request_id: string;
  readonly account_id: string;
  readonly key_id: string;
  readonly operation: string;
  readonly model: string;
  readonly created_at: number;
}
