/** Retries what failed because the database was busy, or for another reason that may pass, after pauses that grow. */
import { setTimeout as delay } from "node:timers/promises";

/** The pause after each failure, in milliseconds. */
const pausesMs = [50, 200, 1000, 3000];

/**
 * retry returns what `work` returns. Each failure that is retried goes to `onError`; the last one is thrown, and so is one of which
 * `isLasting` says that a retry would not help.
 */
export async function retry<T>(
  work: () => T | Promise<T>,
  onError: (error: unknown) => void,
  isLasting: (error: unknown) => boolean = () => false,
): Promise<T> {
  for (const ms of pausesMs) {
    try {
      return await work();
    } catch (error) {
      if (isLasting(error)) throw error;
      onError(error);
      await delay(ms);
    }
  }
  return work();
}
