/**
 * RetryBudget bounds the share of retries among the calls to an upstream, so that retries do not overwhelm one that fails. Each
 * call earns a fraction of a retry, and a retry takes a whole one. It begins with a few, for gateways with little traffic.
 */
export interface RetryBudget {
  /** Notes the first attempt of a call. */
  earn(): void;
  /** Takes a retry, and reports whether there was one. */
  take(): boolean;
}

const initialRetries = 5;
const maxRetries = 100;

/**
 * createRetryBudget bounds retries by the calls that there are. `share` returns the retries per call: 0.2 allows one retry for five calls.
 */
export function createRetryBudget(share: () => number): RetryBudget {
  let left = share() === 0 ? 0 : initialRetries;
  return {
    earn() {
      left = Math.min(maxRetries, left + share());
    },
    take() {
      if (left < 1 || share() === 0) return false;
      left -= 1;
      return true;
    },
  };
}
