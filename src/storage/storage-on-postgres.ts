/** All stores over one database of Postgres, which any number of gateways share. */
import { requestStore } from "./calls/requests.ts";
import { requestsOnReplica } from "./calls/requests-on-replica.ts";
import type { PostgresOptions } from "./engines/postgres/database.ts";
import { createProcesses } from "./processes.ts";
import { type ReconcileOptions, reconciled } from "./proof/proof.ts";
import { proveAndRepair } from "./proof/repair.ts";
import { overScope, type Storage } from "./storage.ts";

export type { PostgresOptions } from "./engines/postgres/database.ts";

/**
 * openStorageOnPostgres connects to the database, makes its tables if need be, and brings them up to date. Throws a StorageError. The driver
 * is loaded here, for those alone who use it.
 */
export async function openStorageOnPostgres(options: PostgresOptions): Promise<Storage> {
  const { openPostgres } = await import("./engines/postgres/database.ts");
  const { scope, openBooks, state, replica, folder, isSteady, ...others } = await openPostgres(options);
  const stores = overScope(scope);
  const findings = (asked: ReconcileOptions = {}) => proveAndRepair(scope.db, { now: state.now(), ...asked });
  return {
    ...stores,
    ...others,
    ...(replica && { requests: requestsOnReplica(requestStore(replica), stores.requests, replica.read) }),
    // What it writes in place of a journal is a part of the books.
    openBooks: () => openBooks,
    ...createProcesses(folder, stores, isSteady),
    database: state,
    findings,
    reconcile: (asked) => reconciled(findings(asked)),
  };
}
