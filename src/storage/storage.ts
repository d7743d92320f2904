/** All stores over one database. */
import type { MaybePromise } from "../runtime/maybe-promise.ts";
import { type AccountStore, accountStore } from "./accounts.ts";
import { type BackgroundStore, backgroundStore } from "./answers/background-responses.ts";
import { type IdempotencyStore, idempotencyStore } from "./answers/idempotency.ts";
import { type ReplayStore, replayStore } from "./answers/replays.ts";
import { type ResponseStore, responseStore } from "./answers/responses.ts";
import { type RequestStore, requestStore } from "./calls/requests.ts";
import { type RetentionStore, retentionStore } from "./calls/retention.ts";
import type { WhenFree } from "./engines/lock-retry.ts";
import { type Durability, openDatabase } from "./engines/sqlite/database.ts";
import { createBooks } from "./engines/sqlite/books/books.ts";
import { createBooksParts } from "./engines/sqlite/books/parts.ts";
import { createJournalBooks } from "./engines/sqlite/journal/journal-books.ts";
import { reconcileApart } from "./engines/sqlite/reconcile-apart.ts";
import type { Writable } from "./engines/writable.ts";
import { type KeyStore, keyStore } from "./keys.ts";
import { createRejects } from "./journal/rejects.ts";
import type { OpenBooks } from "./money/books.ts";
import type { Available } from "./money/contract.ts";
import { type EntryStore, entryStore } from "./money/entries.ts";
import { type HoldStore, holdStore } from "./money/holds.ts";
import type { Reconciliation } from "./money/reconcile.ts";
import { type RedeemCodeStore, redeemCodeStore } from "./money/redeem-codes.ts";
import { type AuditEventStore, auditEventStore } from "./people/audit-events.ts";
import { type LinkStore, linkStore } from "./people/links.ts";
import { type SessionStore, sessionStore } from "./people/sessions.ts";
import { type UserStore, userStore } from "./people/users.ts";

export interface Storage {
  readonly accounts: AccountStore;
  readonly users: UserStore;
  readonly sessions: SessionStore;
  readonly links: LinkStore;
  readonly keys: KeyStore;
  readonly idempotency: IdempotencyStore;
  /** Opens the books of money for a process, or for one ledger of it. `hasJournal` has them write into a journal first. */
  openBooks(hasJournal: boolean): OpenBooks;
  /** Returns what a key may still spend: the lesser of its limit and its account's balance, less all holds. */
  available(keyId: string): MaybePromise<Available>;
  /** Counts the lines and parts of journals that were set aside for an operator. */
  journalRejects(): number;
  readonly holds: HoldStore;
  readonly entries: EntryStore;
  readonly redeemCodes: RedeemCodeStore;
  readonly requests: RequestStore;
  readonly responses: ResponseStore;
  readonly backgroundResponses: BackgroundStore;
  readonly replays: ReplayStore;
  readonly auditEvents: AuditEventStore;
  readonly retention: RetentionStore;
  /** Runs work of several stores in one transaction. The work may not wait for anything. */
  transact<T>(work: () => T): T;
  /** Returns another number whenever anything was written, except by this process's ledger. */
  version(): number;
  /** Runs a write at once, or as soon as no other process writes. The event loop goes on meanwhile. */
  readonly whenFree: WhenFree;
  /** Resolves as soon as no other process writes. */
  free(): Promise<void>;
  /**
   * Limits how long a write blocks for another process to a few milliseconds, so that a process that serves goes on. Returns what
   * restores the limit of seconds.
   */
  waitBriefly(): () => void;
  /** Reports whether writes arrive. */
  readonly writable: Writable;
  /** Proves that the sums of money hold. */
  reconcile(): Promise<Reconciliation>;
  close(): Promise<void>;
}

/** Opens the database file, making it if need be, and brings it up to date. */
export async function openStorage(path: string, durability?: Durability): Promise<Storage> {
  const { db, engine } = await openDatabase(path, durability);
  const requests = requestStore(db, engine);
  const booksParts = createBooksParts(engine);
  const entries = entryStore(db, engine, requests);
  return {
    accounts: accountStore(db, engine),
    users: userStore(db, engine),
    sessions: sessionStore(db, engine),
    links: linkStore(db, engine),
    keys: keyStore(db, engine),
    idempotency: idempotencyStore(engine),
    openBooks: (hasJournal) => (options) =>
      hasJournal ? createJournalBooks(booksParts, options) : createBooks(booksParts, options),
    available: booksParts.steps.available,
    journalRejects: () =>
      createRejects(engine.segments)
        .all()
        .reduce((count, { rejects }) => count + rejects.length, 0),
    holds: holdStore(db, engine),
    entries,
    redeemCodes: redeemCodeStore(db, engine, entries),
    requests,
    responses: responseStore(db, engine),
    backgroundResponses: backgroundStore(db, engine),
    replays: replayStore(engine),
    auditEvents: auditEventStore(db, engine),
    retention: retentionStore(engine),
    transact: engine.transact,
    version: engine.version,
    whenFree: engine.lockRetry.whenFree,
    free: () => engine.lockRetry.whenFree(engine.probe),
    waitBriefly: engine.waitBriefly,
    writable: engine.writable,
    reconcile() {
      engine.read(() => {}); // Flushes: the thread sees only what is posted.
      return reconcileApart(path);
    },
    async close() {
      await engine.lockRetry.settled();
      engine.writable.close();
      await db.destroy();
    },
  };
}
