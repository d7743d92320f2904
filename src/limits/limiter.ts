/**
 * Limiter is the contract of rate limits: a token bucket for each id, full at first and refilled evenly.
 *
 * A limiter decides at once and queues nothing. It returns promises where several processes share it.
 */

import type { MaybePromise } from "../runtime/maybe-promise.ts";

/** Rate is `capacity` a window, refilled evenly; the bucket holds one window's worth. Both are integers of at least 1. */
export interface Rate {
  readonly capacity: number;
  readonly windowMs: number;
}

/** perMinute returns the rate of so many a minute. */
export function perMinute(capacity: number): Rate {
  return { capacity, windowMs: 60_000 };
}

export interface Decision {
  readonly allowed: boolean;
  /** The rate's capacity. */
  readonly limit: number;
  /** remaining is what the bucket holds now, rounded down and never below 0. */
  readonly remaining: number;
  /** Milliseconds until the same request would be allowed: 0 if it was, infinite if the bucket can never hold as much. */
  readonly retryAfterMs: number;
  /** Milliseconds until the bucket is full again. */
  readonly resetMs: number;
}

export interface Limiter {
  /**
   * Takes `cost`, an integer, from the bucket if it holds as much, and nothing otherwise. A cost of 0 only looks, and is refused
   * while the bucket is in debt. When the rate of an id changes, its bucket stays filled in the same proportion; what it owes it owes
   * still.
   */
  take(id: string, rate: Rate, cost: number): MaybePromise<Decision>;
  /**
   * Takes what was used already. The bucket may go into debt by one window's worth at most. A negative cost gives back what was
   * taken and not used. A bucket that is there keeps its rate: a call that ran for long may know an earlier one.
   */
  draw(id: string, rate: Rate, cost: number): MaybePromise<void>;
}
