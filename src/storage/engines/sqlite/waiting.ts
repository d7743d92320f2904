/** How long a connection stands still, and with it the whole process, where another process writes. */
import { codeOf } from "../../../runtime/write-trouble.ts";
import { mostWaitMs } from "./when-free.ts";

export interface Waiting {
  /** Runs what writes, and returns false where another process is writing: then nothing is written. */
  withoutWaiting(work: () => void): boolean;
  /**
   * Has writers stand still for a few milliseconds at most, so that who serves goes on. Returns what has them wait for seconds
   * again, as who serves nobody may.
   */
  waitBriefly(): () => void;
}

const briefMs = 5;

/** `exec` runs SQL on the connection, and does nothing where that is closed. */
export function createWaiting(exec: (sql: string) => void): Waiting {
  let usualMs = mostWaitMs;
  // Not prepared: SQLite obeys this one when it is compiled, and not when it is run. `pragma` takes ten times as long.
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
      return () => waitFor(mostWaitMs);
    },
  };
}
