/** Proves the sums of a test's database, on its own connection. */

import type { Engine } from "../../../src/storage/engines/engine.ts";
import { openManagement } from "../../../src/storage/engines/postgres/management.ts";
import type { Database } from "../../../src/storage/engines/scope.ts";
import { openDatabase } from "../../../src/storage/engines/sqlite/database.ts";
import { type Reconciliation, reconciled } from "../../../src/storage/proof/proof.ts";
import { proveAndRepair } from "../../../src/storage/proof/repair.ts";
import { serverAt } from "../storage/postgres.ts";
import type { TestDatabase } from "../storage/test-database.ts";

/** reconcile proves before all that is held expires: nothing counts as left behind. */
export function reconcile(engine: Engine): Promise<Reconciliation> {
  engine.read(() => {}); // Flushes.
  return reconciled(proveAndRepair(engine.scope.db, { now: 0 }));
}

/** Opens a database for proofs that the test takes step by step. */
export async function openToProve(database: TestDatabase): Promise<Database> {
  if (database.url !== undefined) return openManagement(serverAt(database.url), () => {}).db;
  return (await openDatabase(database.path)).db;
}
