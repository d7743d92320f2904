/** Tries again what failed because the database was busy, or for whatever else may pass, after pauses that grow. */
import { setTimeout as delay } from "node:timers/promises";

/** After each failure, in milliseconds. */
const pausesMs = [50, 200, 1000, 3000];

/** Returns what `work` returns. `onError` is told of each failure that is tried again; the last one is thrown. */
export async function retried<T>(work: () => T | Promise<T>, onError: (error: unknown) => void): Promise<T> {
  for (const ms of pausesMs) {
    try {
      return await work();
    } catch (error) {
      onError(error);
      await delay(ms);
    }
  }
  return work();
}
