/**
 * The limiter within one process: exact, without timers, and without memory of ids that were idle for a while.
 *
 * A bucket counts in parts: a unit has `windowMs` parts, so that a millisecond refills `capacity` of them. All counts are integers
 * and never drift. A bucket is refilled when it is used.
 */
import type { Decision, Limiter, Rate } from "./limiter.ts";

interface Bucket {
  /** Its content at `at`, in parts; negative in debt. */
  parts: number;
  at: number;
  capacity: number;
  windowMs: number;
}

interface MemoryLimiter extends Limiter {
  take(id: string, rate: Rate, cost: number): Decision;
  draw(id: string, rate: Rate, cost: number): void;
}

/**
 * `clock` returns milliseconds. A clock that steps back counts as one that stands still: nothing is refilled, and no wait gets
 * longer. Buckets of about `maxIds` ids are kept, of twice as many at most; beyond that the least recently used are full again.
 */
export function createMemoryLimiter(clock: () => number, maxIds = Number.POSITIVE_INFINITY): MemoryLimiter {
  const time = forwardTime(clock);
  // Buckets used since the last rotation, and those used in the period before it.
  let recent = new Map<string, Bucket>();
  let old = new Map<string, Bucket>();
  let rotatedAt = 0;
  let longestMs = 0;

  /** Returns the bucket, refilled up to now. */
  function bucketOf(id: string, rate: Rate): Bucket {
    const now = time();
    if (rate.windowMs > longestMs) longestMs = rate.windowMs;
    // One window pays the deepest debt and another fills the bucket. A bucket that was not used for so long is full, and a full
    // bucket is the same as none.
    if (now - rotatedAt >= 2 * longestMs || recent.size >= maxIds) {
      old = recent;
      recent = new Map();
      rotatedAt = now;
    }
    let bucket = recent.get(id);
    if (!bucket) {
      bucket = old.get(id) ?? { parts: fullOf(rate), at: now, capacity: rate.capacity, windowMs: rate.windowMs };
      old.delete(id);
      recent.set(id, bucket);
    }
    bucket.parts = Math.min(fullOf(bucket), bucket.parts + (now - bucket.at) * bucket.capacity);
    bucket.at = now;
    if (bucket.capacity !== rate.capacity || bucket.windowMs !== rate.windowMs) {
      bucket.parts = Math.round((bucket.parts / fullOf(bucket)) * fullOf(rate));
      bucket.capacity = rate.capacity;
      bucket.windowMs = rate.windowMs;
    }
    return bucket;
  }

  return {
    take(id, rate, cost) {
      const bucket = bucketOf(id, rate);
      const full = fullOf(rate);
      const price = cost * rate.windowMs;
      const allowed = bucket.parts >= price;
      const retryAfterMs = allowed ? 0 : price > full ? Infinity : Math.ceil((price - bucket.parts) / rate.capacity);
      if (allowed) bucket.parts -= price;
      return {
        allowed,
        limit: rate.capacity,
        remaining: Math.max(0, Math.floor(bucket.parts / rate.windowMs)),
        retryAfterMs,
        resetMs: Math.ceil((full - bucket.parts) / rate.capacity),
      };
    },
    draw(id, rate, cost) {
      const bucket = bucketOf(id, rate);
      bucket.parts = Math.max(-fullOf(rate), bucket.parts - cost * rate.windowMs);
    },
  };
}

function fullOf({ capacity, windowMs }: Rate): number {
  return capacity * windowMs;
}

/** Returns a clock of integer milliseconds that begins at 0 and never goes back. */
function forwardTime(clock: () => number): () => number {
  let seen = Math.floor(clock());
  let time = 0;
  return () => {
    const now = Math.floor(clock());
    if (now > seen) time += now - seen;
    seen = now;
    return time;
  };
}
