/**
 * Repeats a write that finds another process writing, after pauses of a timer: the event loop, and with it every call that
 * needs no write, goes on meanwhile. What is repeated has written nothing, for it is one transaction.
 */
import { setTimeout as delay } from "node:timers/promises";
import { LockedError } from "../../../runtime/write-trouble.ts";

/** How long a write waits for another process, in milliseconds: the sum of its pauses. */
export const mostWaitMs = 5000;

const longestPauseMs = 50;

/** Returns how long to pause after a pause of so many milliseconds; 0 before the first. */
export function pauseAfter(ms: number): number {
  return Math.min(longestPauseMs, Math.max(1, 2 * ms));
}

/** Runs a write at once, or as soon as no other process writes. Rejects with what it throws, or with a LockedError. */
export type WhenFree = <T>(work: () => T) => Promise<T>;

export interface Patience {
  readonly whenFree: WhenFree;
  /** Resolves when nothing waits. */
  settled(): Promise<void>;
}

/** `tryToWrite` runs what writes, and returns false where another process is writing. */
export function createPatience(
  tryToWrite: (work: () => void) => boolean,
  pause: (ms: number) => Promise<void> = delay,
) {
  const waiting = new Set<Promise<unknown>>();

  async function wait(attempt: () => boolean): Promise<void> {
    for (let [ms, waited] = [0, 0]; waited < mostWaitMs; waited += ms) {
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

  const patience: Patience = {
    whenFree,
    async settled() {
      while (waiting.size > 0) await Promise.allSettled(waiting);
    },
  };
  return patience;
}
