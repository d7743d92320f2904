/** Proves the sums of a database file by a connection of its own. It takes this thread for seconds: a gateway that serves has another for it. */
import { setTimeout } from "node:timers/promises";
import { reconcileJournal } from "../../../money/reconcile-journal.ts";
import type { Finding } from "../../../proof/finding.ts";
import type { Proof, ReconcileOptions } from "../../../proof/proof.ts";
import { proveAndRepair } from "../../../proof/repair.ts";
import { openDatabase } from "../database.ts";
import { createJournalRows } from "../journal/journal-rows.ts";

/** proveFile yields what is found, and returns what was proved. */
export async function* proveFile(path: string, options: ReconcileOptions): AsyncGenerator<Finding, Proof> {
  const { db, engine } = await openDatabase(path);
  try {
    const { segments } = engine;
    const rows = createJournalRows(engine.books);
    // First the journal: what is posted meanwhile is in the sums, and not reported as missing.
    yield* await reconcileJournal({ segments, rows, clock: Date.now, pause: (ms) => setTimeout(ms) });
    return yield* proveAndRepair(engine.scope.db, { now: Date.now(), ...options });
  } finally {
    await db.destroy();
  }
}
