/** Runs the proof of the sums in a thread with a connection of its own, so that calls go on meanwhile. */
import { startThread } from "../../../package/package-files.ts";
import type { Reconciliation } from "../../money/reconcile.ts";

/** ReconcileTask is what the thread is started with. */
export interface ReconcileTask {
  /** The path of the database. */
  readonly reconcile: string;
}

/** Proves the sums of the database in this file. */
export function reconcileApart(path: string): Promise<Reconciliation> {
  return new Promise((resolve, reject) => {
    const workerData: ReconcileTask = { reconcile: path };
    const thread = startThread("reconcile", { workerData });
    thread.once("message", resolve);
    thread.once("error", reject);
    thread.once("exit", (code) => reject(new Error(`the thread that reconciles ended with code ${code}`)));
  });
}
