/**
 * Repeats what finds another process writing, after pauses of a timer: meanwhile the event loop goes on, and with it every call that
 * needs no write. What found the lock taken has changed nothing, for it is one transaction.
 */
import { setTimeout as delay } from "node:timers/promises";
import { codeOf, LockedError } from "../../runtime/write-trouble.ts";
import { maxWaitMs } from "../money/books.ts";

const maxPauseMs = 50;

/** pauseAfter returns the pause that follows a pause of `ms`, which is 0 before the first. */
export function pauseAfter(ms: number): number {
  return Math.min(maxPauseMs, Math.max(1, 2 * ms));
}

/** isBusy reports whether another connection holds the lock that SQLite needed. */
export function isBusy(error: unknown): boolean {
  return codeOf(error).startsWith("SQLITE_BUSY");
}

/** withoutWaiting runs work that waits for no lock. Returns false, with nothing done, where another connection has it. */
export function withoutWaiting(work: () => void): boolean {
  try {
    work();
    return true;
  } catch (error) {
    if (!isBusy(error)) throw error;
    return false;
  }
}

/**
 * whenUnlocked runs work at once, or as soon as no other connection has the lock. Rejects with what the work throws, or with a LockedError
 * after `maxWaitMs`.
 */
export async function whenUnlocked<T>(
  work: () => T | Promise<T>,
  pause: (ms: number) => Promise<unknown> = delay,
): Promise<T> {
  for (let [ms, waited] = [0, 0]; ; waited += ms) {
    try {
      return await work();
    } catch (error) {
      if (!isBusy(error)) throw error;
      if (waited >= maxWaitMs) throw new LockedError();
    }
    ms = pauseAfter(ms);
    await pause(ms);
  }
}
