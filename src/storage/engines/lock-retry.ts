/**
 * Repeats a write that finds another process writing, after pauses of a timer: meanwhile the event loop goes on, and with it
 * every call that needs no write. The write that failed has changed nothing, for it is one transaction.
 */
import { setTimeout as delay } from "node:timers/promises";
import { LockedError } from "../../runtime/write-trouble.ts";
import { maxWaitMs } from "../money/books.ts";

/** How long a write waits for another process, in milliseconds: the sum of its pauses. */
export { maxWaitMs };

const maxPauseMs = 50;

/** Returns the pause that follows a pause of `ms`, which is 0 before the first. */
export function pauseAfter(ms: number): number {
  return Math.min(maxPauseMs, Math.max(1, 2 * ms));
}

/**
 * WhenFree runs a write at once, or as soon as no other process writes. Rejects with what the write throws, or with a
 * LockedError after `maxWaitMs`.
 */
export type WhenFree = <T>(work: () => T) => Promise<T>;

export interface LockRetry {
  readonly whenFree: WhenFree;
  /** Resolves once no write waits. */
  settled(): Promise<void>;
}

/** `tryToWrite` runs a write, and returns false where another process is writing. */
export function createLockRetry(
  tryToWrite: (work: () => void) => boolean,
  pause: (ms: number) => Promise<void> = delay,
): LockRetry {
  const waiting = new Set<Promise<unknown>>();

  async function wait(attempt: () => boolean): Promise<void> {
    for (let [ms, waited] = [0, 0]; waited < maxWaitMs; waited += ms) {
      ms = pauseAfter(ms);
      await pause(ms);
      if (attempt()) return;
    }
    throw new LockedError();
  }

  async function whenFree<T>(work: () => T): Promise<T> {
    let result: T | undefined;
    const attempt = () =>
      tryToWrite(() => {
        result = work();
      });
    if (!attempt()) {
      const free = wait(attempt);
      waiting.add(free);
      await free.finally(() => waiting.delete(free));
    }
    return result as T;
  }

  return {
    whenFree,
    async settled() {
      while (waiting.size > 0) await Promise.allSettled(waiting);
    },
  };
}
