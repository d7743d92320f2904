/**
 * One timer for all that may be late: it looks twice a second, so that to wait for something costs a sum and no timer.
 *
 * What is late is told a second too late at most, and never too early.
 */

/** What may be late. */
export interface Late {
  /** By this clock, in milliseconds. */
  readonly deadline: number;
  late(): void;
}

export interface Deadlines {
  watch(one: Late): void;
  forget(one: Late): void;
  /** Returns the deadline that is so many milliseconds away. */
  in(ms: number): number;
}

const lookMs = 500;
const busyMs = 2 * lookMs;

/** The timer runs while there is anything to watch, and keeps no process alive. */
export function createDeadlines(): Deadlines {
  const watched = new Set<Late>();
  let now = performance.now();
  let timer: NodeJS.Timeout | undefined;
  const tell = () => {
    for (const one of watched) if (one.deadline < now) one.late();
  };
  const look = () => {
    const before = now;
    now = performance.now();
    // After a while in which the process was busy timers fire first: what has come meanwhile is read before.
    if (now - before > busyMs) setImmediate(tell);
    else tell();
  };
  return {
    watch(one) {
      if (!timer) {
        now = performance.now();
        timer = setInterval(look, lookMs).unref();
      }
      watched.add(one);
    },
    forget(one) {
      if (!watched.delete(one) || watched.size > 0) return;
      clearInterval(timer);
      timer = undefined;
    },
    // The clock stands still between two looks: what is added makes up for it.
    in: (ms) => now + ms + lookMs,
  };
}
