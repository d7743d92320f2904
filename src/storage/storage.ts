/** All stores over one database. */
import type { MaybePromise } from "../runtime/maybe-promise.ts";
import { type AccountStore, accountStore } from "./accounts.ts";
import { type BackgroundStore, backgroundStore } from "./answers/background-responses.ts";
import { type IdempotencyStore, idempotencyStore } from "./answers/idempotency.ts";
import { type ReplayStore, replayStore } from "./answers/replays.ts";
import { type ResponseStore, responseStore } from "./answers/responses.ts";
import { type RefusedStore, refusedStore } from "./calls/refused.ts";
import { type RequestStore, requestStore } from "./calls/requests.ts";
import { type RetentionStore, retentionStore } from "./calls/retention.ts";
import { type ConfigurationStore, configurationStore } from "./configuration/configurations.ts";
import type { Engine } from "./engines/engine.ts";
import { whenUnlocked } from "./engines/lock-retry.ts";
import type { DatabaseState } from "./engines/postgres/database.ts";
import type { Scope } from "./engines/scope.ts";
import { createBooks } from "./engines/sqlite/books/books.ts";
import { createBooksParts } from "./engines/sqlite/books/parts.ts";
import { type Durability, openDatabase } from "./engines/sqlite/database.ts";
import { createEndGone } from "./engines/sqlite/journal/end-gone.ts";
import { createJournalBooks } from "./engines/sqlite/journal/journal-books.ts";
import { createNodeLocks } from "./engines/sqlite/node-lock.ts";
import { recallFromOthers } from "./engines/sqlite/recall.ts";
import { reconcileApart } from "./engines/sqlite/reconcile/apart.ts";
import type { Writable } from "./engines/writable.ts";
import { createRejects } from "./journal/rejects.ts";
import { type KeyStore, keyStore } from "./keys.ts";
import type { Changes, OpenBooks, Recalled } from "./money/books.ts";
import { type BudgetStore, budgetStore } from "./money/budget-store.ts";
import type { Available } from "./money/contract.ts";
import { type EntryStore, entryStore } from "./money/entries.ts";
import { type HoldStore, holdStore } from "./money/holds.ts";
import { type PriceStore, priceStore } from "./money/prices.ts";
import { type RedeemCodeStore, redeemCodeStore } from "./money/redeem-codes.ts";
import { type AuditEventStore, auditEventStore } from "./people/audit-events.ts";
import { type LinkStore, linkStore } from "./people/links.ts";
import { type SessionStore, sessionStore } from "./people/sessions.ts";
import { type UserStore, userStore } from "./people/users.ts";
import { createProcesses, type MayLive, type ShowProcess } from "./processes.ts";
import type { Finding } from "./proof/finding.ts";
import { type Proof, type ReconcileOptions, type Reconciliation, reconciled } from "./proof/proof.ts";

/** Stores are all stores but the ledger's, over one scope. */
export interface Stores {
  readonly accounts: AccountStore;
  readonly users: UserStore;
  readonly sessions: SessionStore;
  readonly links: LinkStore;
  readonly keys: KeyStore;
  readonly idempotency: IdempotencyStore;
  readonly holds: HoldStore;
  readonly budgets: BudgetStore;
  readonly entries: EntryStore;
  readonly prices: PriceStore;
  readonly redeemCodes: RedeemCodeStore;
  readonly requests: RequestStore;
  readonly refused: RefusedStore;
  readonly responses: ResponseStore;
  readonly backgroundResponses: BackgroundStore;
  readonly replays: ReplayStore;
  readonly auditEvents: AuditEventStore;
  readonly configurations: ConfigurationStore;
}

/** Transact is `Storage.transact`. */
export type Transact = <T>(work: (stores: Stores) => Promise<T>) => Promise<T>;

export interface Storage extends Stores, Changes {
  /** Opens the books of money for a process, or for one ledger of it. `hasJournal` has them write into a journal first. */
  openBooks(hasJournal: boolean): OpenBooks;
  /**
   * Has what other gateways hold of an account without need given back, so that a refund is refused for none of it, and what their calls
   * hold written, so that a key's limit is set below none of that. It takes a second or so at most. Resolves to whether all have done so:
   * one may be cut off, or stand still.
   */
  recall(accountId: string): Promise<boolean>;
  /** Resolves once every process goes by what was changed of keys and accounts before. */
  allKnow(): Promise<void>;
  /** Returns what a key may still spend: the lesser of its limit and its account's balance, less all holds. */
  available(keyId: string): MaybePromise<Available>;
  /** Shows other processes that this one lives, by whose name keys are claimed and responses made. */
  readonly showProcess: ShowProcess;
  readonly mayLive: MayLive;
  /** Counts the lines and parts of journals that were set aside for an operator. */
  journalRejects(): number;
  readonly retention: RetentionStore;
  /**
   * Runs work in one transaction, with stores over that. It may run twice, and has no effects but those on its stores; using others
   * throws.
   */
  readonly transact: Transact;
  /** Reports whether writes arrive. */
  readonly writable: Writable;
  /** database is what is known of the database of Postgres; undefined on SQLite. */
  readonly database?: DatabaseState | undefined;
  /** Proves that the sums of money hold, as far as that was not proved before: yields what is found, and returns what was proved. */
  findings(options?: ReconcileOptions): AsyncGenerator<Finding, Proof>;
  /** The same, with all findings at once. */
  reconcile(options?: ReconcileOptions): Promise<Reconciliation>;
  close(): Promise<void>;
}

/** ProveFile proves the sums of the database file at a path: yields what is found, and returns what was proved. */
export type ProveFile = (path: string, options: ReconcileOptions) => AsyncGenerator<Finding, Proof>;

/**
 * openStorage opens the database file, making it if need be, and brings it up to date. `prove` proves its sums; default: a thread, so that calls
 * go on meanwhile.
 */
export async function openStorage(path: string, durability?: Durability, prove?: ProveFile): Promise<Storage> {
  return storageOver(path, await openDatabase(path, durability), prove);
}

/** storageOver returns the stores over an open database, whose file is at a path. */
export function storageOver(
  path: string,
  { db, engine }: Awaited<ReturnType<typeof openDatabase>>,
  prove: ProveFile = reconcileApart,
): Storage {
  const { scope, changes, writable } = engine;
  const findings = (options: ReconcileOptions = {}) => {
    engine.read(() => {}); // Flushes: another connection sees only what is posted.
    return prove(path, options);
  };
  const stores = overScope(scope);
  return {
    ...stores,
    ...moneyOver(engine),
    ...createProcesses(engine.segments.folder, stores),
    // Other processes were told before the change was answered.
    allKnow: async () => {},
    ...changes,
    writable,
    findings,
    reconcile: (options) => reconciled(findings(options)),
    async close() {
      writable.close();
      await db.destroy();
    },
  };
}

type MoneyOver = Pick<Storage, "openBooks" | "recall" | "available" | "journalRejects">;

function moneyOver(engine: Engine): MoneyOver {
  const parts = createBooksParts(engine);
  const rejects = createRejects(engine.segments);
  // Errors are not reported here: each sweep of a ledger tries the same again, and reports them.
  const endGone = createEndGone(parts, { node: "", clock: Date.now, recall: () => nothing, onError: () => {} });
  return {
    openBooks: (hasJournal) => (options) => {
      const { node, isElsewhere, takesNoHolds, onError } = options;
      parts.own.add(node);
      // A ledger in another process keeps the lock itself.
      const unlock =
        isElsewhere || takesNoHolds ? () => {} : createNodeLocks(engine.segments.folder, onError).keep(node);
      const books = (hasJournal ? createJournalBooks : createBooks)(parts, options);
      const ended = () => {
        parts.own.delete(node);
        unlock();
      };
      return { ...books, close: () => books.close().finally(ended) };
    },
    async recall(accountId) {
      await whenUnlocked(endGone);
      return recallFromOthers(engine.scope.db, accountId);
    },
    available: parts.steps.available,
    journalRejects: rejects.count,
  };
}

const nothing: Recalled = { records: [], leases: [] };

/** overScope returns what of storage works over a scope, of whichever engine. */
export function overScope(scope: Scope): Stores & Pick<Storage, "retention" | "transact"> {
  return {
    ...storesOver(scope),
    retention: retentionStore(scope),
    transact: (work) => scope.transact((within) => work(storesOver(within))),
  };
}

/** storesOver returns stores over a scope, of whichever engine. */
export function storesOver(scope: Scope): Stores {
  const requests = requestStore(scope);
  return {
    accounts: accountStore(scope),
    users: userStore(scope),
    sessions: sessionStore(scope),
    links: linkStore(scope),
    keys: keyStore(scope),
    idempotency: idempotencyStore(scope),
    holds: holdStore(scope),
    budgets: budgetStore(scope),
    entries: entryStore(scope, requests),
    prices: priceStore(scope),
    redeemCodes: redeemCodeStore(scope),
    requests,
    refused: refusedStore(scope),
    responses: responseStore(scope),
    backgroundResponses: backgroundStore(scope),
    replays: replayStore(scope),
    auditEvents: auditEventStore(scope),
    configurations: configurationStore(scope),
  };
}
