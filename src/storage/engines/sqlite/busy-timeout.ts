/** Sets how long a write blocks while another process holds the lock (SQLite's busy time-out). */
import { codeOf } from "../../../runtime/write-trouble.ts";
import type { BusyTimeout } from "../engine.ts";
import { maxWaitMs } from "../lock-retry.ts";

const briefMs = 5;

/** `exec` runs SQL on the connection, and does nothing where that is closed. */
export function createBusyTimeout(exec: (sql: string) => void): BusyTimeout {
  let usualMs = maxWaitMs;
  // Not prepared: SQLite sets this when the statement is compiled, not when it runs. `pragma` takes ten times as long.
  const wait = (ms: number) => exec(`PRAGMA busy_timeout = ${ms}`);
  const waitFor = (ms: number) => {
    usualMs = ms;
    wait(ms);
  };
  return {
    withoutWaiting(work) {
      wait(0);
      try {
        work();
        return true;
      } catch (error) {
        if (!codeOf(error).startsWith("SQLITE_BUSY")) throw error;
        return false;
      } finally {
        wait(usualMs);
      }
    },
    waitBriefly() {
      waitFor(briefMs);
      return () => waitFor(maxWaitMs);
    },
  };
}
