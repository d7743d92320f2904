/**
 * One timer for all that may be late: it looks twice a second, so that to wait for something costs a sum and no timer.
 *
 * What is late is told half a second too late at most where the process is not busy, and never too early.
 */

/** What may be late. */
export interface Timed {
  /** By `performance.now()`. */
  readonly deadline: number;
  onDeadline(): void;
}

export interface Deadlines {
  watch(one: Timed): void;
  forget(one: Timed): void;
}

const lookMs = 500;
const busyMs = 2 * lookMs;

/** The timer runs while there is anything to watch, and keeps no process alive. */
export function createDeadlines(): Deadlines {
  const watched = new Set<Timed>();
  let timer: NodeJS.Timeout | undefined;
  let lookedAt = 0;
  const tell = () => {
    for (const one of watched) if (one.deadline < lookedAt) one.onDeadline();
  };
  const look = () => {
    const isBusy = performance.now() - lookedAt > busyMs;
    lookedAt = performance.now();
    // After a while in which the process was busy timers fire first: what has come meanwhile is read before.
    if (isBusy) setImmediate(tell);
    else tell();
  };
  return {
    watch(one) {
      if (!timer) {
        lookedAt = performance.now();
        timer = setInterval(look, lookMs).unref();
      }
      watched.add(one);
    },
    forget(one) {
      if (!watched.delete(one) || watched.size > 0) return;
      clearInterval(timer);
      timer = undefined;
    },
  };
}
