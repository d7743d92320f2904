/**
 * Bucket is a token bucket. It counts in parts: a unit has `windowMs` parts, so that a millisecond refills `capacity` of them. All
 * counts are integers and never drift. A bucket is refilled when it is used.
 */
import type { Decision, Rate } from "./limiter.ts";

export interface Bucket {
  /** Its content at `at`, in parts; negative in debt. */
  parts: number;
  /** Milliseconds, by whatever clock its keeper has. */
  at: number;
  capacity: number;
  windowMs: number;
}

export function newBucket({ capacity, windowMs }: Rate, now: number): Bucket {
  return { parts: capacity * windowMs, at: now, capacity, windowMs };
}

/**
 * refill fills a bucket up to now. A bucket whose rate has changed stays filled in the same proportion, and one in debt owes the same
 * units as before, or a window's worth of the new rate where that is less.
 */
export function refill(bucket: Bucket, { capacity, windowMs }: Rate, now: number): void {
  bucket.parts = Math.min(fullOf(bucket), bucket.parts + (now - bucket.at) * bucket.capacity);
  bucket.at = now;
  if (bucket.capacity !== capacity || bucket.windowMs !== windowMs) {
    const full = capacity * windowMs;
    const owed = Math.max(-full, Math.round((bucket.parts / bucket.windowMs) * windowMs));
    bucket.parts = bucket.parts < 0 ? owed : Math.round((bucket.parts / fullOf(bucket)) * full);
    bucket.capacity = capacity;
    bucket.windowMs = windowMs;
  }
}

/** drawFrom takes what was used already: a bucket goes into debt by one window's worth at most. */
export function drawFrom(bucket: Bucket, cost: number): void {
  bucket.parts = Math.min(fullOf(bucket), Math.max(-fullOf(bucket), bucket.parts - cost * bucket.windowMs));
}

/** decide returns the decision on a cost, of a bucket that held `parts` before it. The caller takes the cost where it is allowed. */
export function decide({ capacity, windowMs }: Rate, parts: number, cost: number): Decision {
  const full = capacity * windowMs;
  const price = cost * windowMs;
  const allowed = parts >= price;
  const rest = allowed ? parts - price : parts;
  return {
    allowed,
    limit: capacity,
    remaining: Math.max(0, Math.floor(rest / windowMs)),
    retryAfterMs: allowed ? 0 : price > full ? Number.POSITIVE_INFINITY : Math.ceil((price - parts) / capacity),
    resetMs: Math.ceil((full - rest) / capacity),
  };
}

export function fullOf({ capacity, windowMs }: Rate): number {
  return capacity * windowMs;
}
