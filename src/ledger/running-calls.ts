/** Counts the calls that run and will be captured, so that closing can wait for them. */
import { setTimeout as delay } from "node:timers/promises";

export interface RunningCalls {
  /** Counts a call. Returns what ends that, once the call is captured. */
  begin(): () => void;
  /** Waits until no call runs, at most `maxMs` milliseconds. */
  ended(maxMs: number): Promise<void>;
}

export function createRunningCalls(): RunningCalls {
  let count = 0;
  let onNone = () => {};
  return {
    begin() {
      count++;
      return () => {
        if (--count === 0) onNone();
      };
    },
    async ended(maxMs) {
      if (count === 0) return;
      const waiting = new AbortController();
      const none = new Promise<void>((resolve) => (onNone = resolve));
      await Promise.race([none, delay(maxMs, undefined, waiting).catch(() => {})]);
      waiting.abort();
    },
  };
}
