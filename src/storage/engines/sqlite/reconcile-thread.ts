/**
 * Runs the proof of the sums in a thread with a connection of its own, so that calls go on meanwhile.
 *
 * This file is both sides: imported, it starts the thread; as the thread's program, it does the work.
 */
import { setTimeout } from "node:timers/promises";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { journalStore } from "../../journal/journal.ts";
import { type Reconciliation, reconcile } from "../../money/reconcile.ts";
import { reconcileJournal } from "../../money/reconcile-journal.ts";
import { openDatabase } from "./database.ts";

interface Task {
  readonly reconcile: string;
}

/** Proves the sums of the database in this file. */
export function reconcileApart(path: string): Promise<Reconciliation> {
  return new Promise((resolve, reject) => {
    const task: Task = { reconcile: path };
    const thread = new Worker(new URL(import.meta.url), { workerData: task });
    thread.once("message", resolve);
    thread.once("error", reject);
    thread.once("exit", (code) => reject(new Error(`the thread that reconciles ended with code ${code}`)));
  });
}

// Tests run in threads too, with `workerData` of their own.
const path = isMainThread ? undefined : (workerData as Partial<Task> | null)?.reconcile;
if (path !== undefined) {
  const { db, engine } = await openDatabase(path);
  const journal = journalStore(engine.books, engine.segments);
  // First the journal: what is posted meanwhile is in the sums, and not reported as missing.
  const beside = await reconcileJournal({ journal, clock: Date.now, pause: (ms) => setTimeout(ms) });
  const proof = reconcile(engine);
  parentPort?.postMessage({ ...proof, differences: [...proof.differences, ...beside] } satisfies Reconciliation);
  await db.destroy();
}
