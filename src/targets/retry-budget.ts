/**
 * Bounds how much of what an upstream is sent may be tries of the same call again, so that one that fails is not stormed:
 * each call that goes there earns a part of a retry, and a retry takes a whole one. A few are there from the beginning, for
 * who calls rarely.
 */
export interface RetryBudget {
  /** Notes that a call goes there for the first time. */
  earn(): void;
  /** Takes a retry, if there is one. */
  take(): boolean;
}

const atFirst = 5;
const most = 100;

/** `share` is of calls: 0.2 allows one retry for five calls. */
export function createRetryBudget(share: number): RetryBudget {
  let left = share === 0 ? 0 : atFirst;
  return {
    earn() {
      left = Math.min(most, left + share);
    },
    take() {
      if (left < 1) return false;
      left -= 1;
      return true;
    },
  };
}
