/**
 * What a limiter promises: a token bucket for each id, full when first seen and refilled evenly.
 *
 * It answers at once and queues nothing. Promises are for limiters that several processes share.
 */

import type { MaybePromise } from "../runtime/maybe-promise.ts";

/** So many a window, refilled evenly; the bucket holds one window's worth. Both are whole and at least 1. */
export interface Rate {
  readonly capacity: number;
  readonly windowMs: number;
}

export interface Decision {
  readonly allowed: boolean;
  /** The rate's capacity. */
  readonly limit: number;
  /** What the bucket holds now: whole, rounded down, never below 0. */
  readonly remaining: number;
  /** In how many milliseconds the same would be allowed: 0 when it was, infinite when the bucket can never hold it. */
  readonly retryAfterMs: number;
  /** In how many milliseconds the bucket is full, if nothing else is taken. */
  readonly resetMs: number;
}

export interface Limiter {
  /**
   * Takes `cost`, a whole number, from the bucket if it holds as much, and nothing otherwise. A cost of 0 only looks, and
   * is refused in debt. An id that comes with another rate than before keeps its bucket, filled in the same proportion.
   */
  take(id: string, rate: Rate, cost: number): MaybePromise<Decision>;
  /**
   * Draws what was used already: the bucket may go into debt, of one window's worth at most. A cost below 0 gives back what was
   * taken and not used.
   */
  draw(id: string, rate: Rate, cost: number): MaybePromise<void>;
}
