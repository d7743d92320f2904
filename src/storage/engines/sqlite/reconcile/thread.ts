/** The program of the thread that proves the sums: it sends each finding, then what was proved, and ends. */
import { setTimeout } from "node:timers/promises";
import { parentPort, workerData } from "node:worker_threads";
import { reconcileJournal } from "../../../money/reconcile-journal.ts";
import { proveAndRepair } from "../../../proof/repair.ts";
import { openDatabase } from "../database.ts";
import { createJournalRows } from "../journal/journal-rows.ts";
import type { ReconcileMessage, ReconcileTask } from "./apart.ts";

const port = parentPort;
if (!port) throw new Error("the proof runs in a thread only");
const send = (message: ReconcileMessage) => port.postMessage(message);
// A rejection ends the thread, and becomes its `error` event.
void run(workerData as ReconcileTask);

async function run({ reconcile: path, ...options }: ReconcileTask): Promise<void> {
  const { db, engine } = await openDatabase(path);
  try {
    const { segments } = engine;
    const rows = createJournalRows(engine.books);
    // First the journal: what is posted meanwhile is in the sums, and not reported as missing.
    const beside = await reconcileJournal({ segments, rows, clock: Date.now, pause: (ms) => setTimeout(ms) });
    for (const finding of beside) send({ finding });
    const proving = proveAndRepair(engine.scope.db, { now: Date.now(), ...options });
    for (;;) {
      const { done, value } = await proving.next();
      if (done) return send({ proof: value });
      send({ finding: value });
    }
  } finally {
    await db.destroy();
  }
}
