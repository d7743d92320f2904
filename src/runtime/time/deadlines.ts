/**
 * Deadlines watches any number of deadlines with one timer, which checks them twice a second, so that a deadline costs a comparison
 * and no timer of its own.
 *
 * A deadline is noticed up to half a second late while the process is not busy, and never early.
 */

/** Timed is anything with a deadline. */
export interface Timed {
  /** deadline is by `performance.now()`; may change at any time. */
  readonly deadline: number;
  /** Called when the deadline has passed, at each look until it is moved or forgotten. */
  onDeadline(): void;
}

export interface Deadlines {
  watch(one: Timed): void;
  forget(one: Timed): void;
}

const checkMs = 500;
const busyMs = 2 * checkMs;

/** The timer runs while any deadline is watched, and does not keep the process alive. */
export function createDeadlines(): Deadlines {
  const watched = new Set<Timed>();
  let timer: NodeJS.Timeout | undefined;
  let checkedAt = 0;
  const notify = () => {
    for (const one of watched) if (one.deadline < checkedAt) one.onDeadline();
  };
  const check = () => {
    const isBusy = performance.now() - checkedAt > busyMs;
    checkedAt = performance.now();
    // After a busy period timers fire before input is read. Input that has arrived in time must be read first.
    if (isBusy) setImmediate(notify);
    else notify();
  };
  return {
    watch(one) {
      if (!timer) {
        checkedAt = performance.now();
        timer = setInterval(check, checkMs).unref();
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
