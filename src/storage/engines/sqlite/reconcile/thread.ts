/** The program of the thread that proves the sums: it sends each finding, then what was proved, and ends. */
import { parentPort, workerData } from "node:worker_threads";
import type { ReconcileMessage, ReconcileTask } from "./apart.ts";
import { proveFile } from "./prove-file.ts";

const port = parentPort;
if (!port) throw new Error("the proof runs in a thread only");
const send = (message: ReconcileMessage) => port.postMessage(message);
// A rejection ends the thread, and becomes its `error` event.
void run(workerData as ReconcileTask);

async function run({ reconcile: path, ...options }: ReconcileTask): Promise<void> {
  const proving = proveFile(path, options);
  for (;;) {
    const { done, value } = await proving.next();
    if (!done) send({ finding: value });
    else return send({ proof: value });
  }
}
