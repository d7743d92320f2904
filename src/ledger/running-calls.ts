/** Counts the calls that run and will be settled, so that closing can wait for them. */
import { setTimeout as delay } from "node:timers/promises";

export interface Running {
  /** Says that a call runs which will be settled. Returns what says that it has been. */
  begin(): () => void;
  /** Waits until none runs, at most for so long. */
  none(mostMs: number): Promise<void>;
}

export function createRunning(): Running {
  let running = 0;
  let onNone = () => {};
  return {
    begin() {
      running++;
      return () => {
        if (--running === 0) onNone();
      };
    },
    async none(mostMs) {
      if (running === 0) return;
      const waiting = new AbortController();
      const over = new Promise<void>((resolve) => (onNone = resolve));
      await Promise.race([over, delay(mostMs, undefined, waiting).catch(() => {})]);
      waiting.abort();
    },
  };
}
