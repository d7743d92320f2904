/** All stores over one database. */
import { type AccountStore, accountStore } from "./accounts.ts";
import { type Durability, openDatabase } from "./database.ts";
import { type EntryStore, entryStore } from "./entries.ts";
import { type IdempotencyStore, idempotencyStore } from "./idempotency.ts";
import { type KeyStore, keyStore } from "./keys.ts";
import { type LedgerStore, ledgerStore } from "./ledger.ts";
import type { Reconciliation } from "./reconcile.ts";
import { reconcileApart } from "./reconcile-thread.ts";
import { type RedeemCodeStore, redeemCodeStore } from "./redeem-codes.ts";
import { type RequestStore, requestStore } from "./requests.ts";
import { type ResponseStore, responseStore } from "./responses.ts";
import { type UserStore, userStore } from "./users.ts";

export interface Storage {
  readonly accounts: AccountStore;
  readonly users: UserStore;
  readonly keys: KeyStore;
  readonly idempotency: IdempotencyStore;
  readonly ledger: LedgerStore;
  readonly entries: EntryStore;
  readonly redeemCodes: RedeemCodeStore;
  readonly requests: RequestStore;
  readonly responses: ResponseStore;
  /** Proves that the sums of money hold. */
  reconcile(): Promise<Reconciliation>;
  close(): Promise<void>;
}

/** Opens the database file, making it if need be, and brings it up to date. */
export async function openStorage(path: string, durability?: Durability): Promise<Storage> {
  const { db, engine } = await openDatabase(path, durability);
  const entries = entryStore(db, engine);
  return {
    accounts: accountStore(db, engine),
    users: userStore(db),
    keys: keyStore(db, engine),
    idempotency: idempotencyStore(engine),
    ledger: ledgerStore(engine),
    entries,
    redeemCodes: redeemCodeStore(db, engine, entries),
    requests: requestStore(db, engine),
    responses: responseStore(db, engine),
    reconcile: () => reconcileApart(path),
    close: () => db.destroy(),
  };
}
