/** All stores over one database of Postgres, which any number of gateways share. */
import { retentionStore } from "./calls/retention.ts";
import type { PostgresOptions } from "./engines/postgres/database.ts";
import { type ReconcileOptions, reconciled } from "./proof/proof.ts";
import { proveAndRepair } from "./proof/repair.ts";
import { type Storage, storesOver } from "./storage.ts";

export type { PostgresOptions } from "./engines/postgres/database.ts";

/**
 * Connects to the database, makes its tables if need be, and brings them up to date. Throws a StorageError. The driver is loaded here, for
 * those alone who use it.
 */
export async function openStorageOnPostgres(options: PostgresOptions): Promise<Storage> {
  const { openPostgres } = await import("./engines/postgres/database.ts");
  const { scope, openBooks, available, recall, journalRejects, version, writable, state, close } =
    await openPostgres(options);
  const findings = (asked: ReconcileOptions = {}) => proveAndRepair(scope.db, { now: Date.now(), ...asked });
  return {
    ...storesOver(scope),
    // What it writes in place of a journal is a part of the books.
    openBooks: () => openBooks,
    available,
    recall,
    journalRejects,
    retention: retentionStore(scope),
    transact: (work) => scope.transact((within) => work(storesOver(within))),
    version,
    writable,
    database: state,
    findings,
    reconcile: (asked) => reconciled(findings(asked)),
    close,
  };
}
