/** Proves the sums of a test's database, on its own connection. */
import type { Engine } from "../../../src/storage/engines/engine.ts";
import type { ReconcileOptions } from "../../../src/storage/proof/proof.ts";
import { type Reconciliation, reconciled } from "../../../src/storage/proof/proof.ts";
import { proveAndRepair } from "../../../src/storage/proof/repair.ts";

/** reconcile takes the moment of the test for now where that is given: else nothing that is held counts as left behind. */
export function reconcile(engine: Engine, options: ReconcileOptions = {}): Promise<Reconciliation> {
  engine.read(() => {}); // Flushes.
  return reconciled(proveAndRepair(engine.scope.db, { now: 0, ...options }));
}
