/**
 * One timer for many deadlines. It looks twice a second, so that waiting for something costs an addition and no timer.
 *
 * A deadline is noticed at most half a second late, unless the process is busy, and never early.
 */

/** Something with a deadline. */
export interface Timed {
  /** By `performance.now()`; may change at any time. */
  readonly deadline: number;
  /** Called when the deadline has passed, at each look until it is moved or forgotten. */
  onDeadline(): void;
}

export interface Deadlines {
  watch(one: Timed): void;
  forget(one: Timed): void;
}

const lookMs = 500;
const busyMs = 2 * lookMs;

/** Creates the timer. It runs while something is watched, and does not keep the process alive. */
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
    // After the process was busy, timers fire before sockets are read: what has come meanwhile is read first.
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
