/** The program of the thread that proves the sums: it sends the proof, and ends. */
import { setTimeout } from "node:timers/promises";
import { parentPort, workerData } from "node:worker_threads";
import { type Reconciliation, reconcile } from "../../money/reconcile.ts";
import { reconcileJournal } from "../../money/reconcile-journal.ts";
import { openDatabase } from "./database.ts";
import { createJournalRows } from "./journal/journal-rows.ts";
import type { ReconcileTask } from "./reconcile-apart.ts";

const port = parentPort;
if (!port) throw new Error("the proof runs in a thread only");
// A rejection ends the thread, and becomes its `error` event.
void prove((workerData as ReconcileTask).reconcile).then((proof) => port.postMessage(proof));

async function prove(path: string): Promise<Reconciliation> {
  const { db, engine } = await openDatabase(path);
  try {
    const { segments } = engine;
    const rows = createJournalRows(engine.books);
    // First the journal: what is posted meanwhile is in the sums, and not reported as missing.
    const beside = await reconcileJournal({ segments, rows, clock: Date.now, pause: (ms) => setTimeout(ms) });
    const proof = reconcile(engine);
    const differences = beside.map(({ what, derived }) => ({ what, written: 0, derived }));
    return { ...proof, differences: [...proof.differences, ...differences] };
  } finally {
    await db.destroy();
  }
}
