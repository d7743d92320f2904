/**
 * The speech worker: the program of its thread. It runs several jobs side by side and makes one piece per turn.
 *
 * A job that fails is reported and dropped; the others go on.
 */
import { parentPort } from "node:worker_threads";
import type { FromWorker, ToWorker } from "./protocol.ts";
import { createFlite, type Flite } from "./synthesis/flite.ts";
import { type Performance, perform } from "./synthesis/perform.ts";

const port = parentPort;
if (!port) throw new Error("the speech worker runs in a thread only");
let flite: Flite | undefined;
const performances = new Map<number, Performance>();

port.on("message", (message: ToWorker) => {
  if (message.kind === "load") flite = createFlite(message.flite);
  else if (message.kind === "drop") void drop(message.id);
  else void turn(message).then(answer);
});

async function turn({ id, job }: ToWorker & { kind: "turn" }): Promise<FromWorker> {
  if (job && flite) performances.set(id, perform(job, flite));
  const performance = performances.get(id);
  if (!performance) return { kind: "failed", message: `no job ${id}` };
  try {
    const { done, value } = await performance.next();
    if (!done) return { kind: "turned", bytes: new Uint8Array(value) };
    performances.delete(id);
    return { kind: "turned", bytes: new Uint8Array(), samples: value };
  } catch (error) {
    performances.delete(id);
    return { kind: "failed", message: error instanceof Error ? error.message : "it threw no error" };
  }
}

function answer(message: FromWorker): void {
  const bytes = message.kind === "turned" ? [message.bytes.buffer as ArrayBuffer] : [];
  port?.postMessage(message, bytes);
}

async function drop(id: number): Promise<void> {
  const performance = performances.get(id);
  performances.delete(id);
  // The encoder's last output is not needed.
  await performance?.return(0).catch(() => {});
}
