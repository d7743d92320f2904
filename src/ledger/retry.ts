/** Retries what failed because the database was busy, or for another reason that may pass, after pauses that grow. */
import { setTimeout as delay } from "node:timers/promises";

/** The pause after each failure, in milliseconds. */
const pausesMs = [50, 200, 1000, 3000];

/** Returns what `work` returns. Each failure that is retried goes to `onError`; the last one is thrown. */
export async function retry<T>(work: () => T | Promise<T>, onError: (error: unknown) => void): Promise<T> {
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
