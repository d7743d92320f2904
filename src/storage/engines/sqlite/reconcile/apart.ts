/** Runs the proof of the sums in a thread with a connection of its own, so that calls go on meanwhile. */
import { on } from "node:events";
import { startThread } from "../../../../package/package-files.ts";
import type { Finding } from "../../../proof/finding.ts";
import type { Proof, ReconcileOptions } from "../../../proof/proof.ts";

/** ReconcileTask is what the thread is started with. */
export interface ReconcileTask extends ReconcileOptions {
  /** The path of the database. */
  readonly reconcile: string;
}

/** ReconcileMessage is what the thread sends. The proof is the last of it. */
export type ReconcileMessage = { readonly finding: Finding } | { readonly proof: Proof };

/** reconcileApart proves the sums of the database in this file: yields what is found, and returns what was proved. */
export async function* reconcileApart(path: string, options: ReconcileOptions): AsyncGenerator<Finding, Proof> {
  const workerData: ReconcileTask = { ...options, reconcile: path };
  const thread = startThread("reconcile", { workerData });
  try {
    for await (const [message] of on(thread, "message", { close: ["exit"] })) {
      const sent = message as ReconcileMessage;
      if ("proof" in sent) return sent.proof;
      yield sent.finding;
    }
    throw new Error("the thread that reconciles ended before its proof did");
  } finally {
    await thread.terminate();
  }
}
