/**
 * Limits within this process: exact, without a timer, and with no memory of whoever was idle for a while.
 *
 * A bucket is counted in parts of a unit, `windowMs` of them each, so that a millisecond refills `capacity` parts: whole
 * numbers, which never drift. It is brought up to date when it is asked for.
 */
import type { Decision, Limiter, Rate } from "./limiter.ts";

interface Bucket {
  /** What it held at `at`, in parts; below 0 in debt. */
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
 * `clock` tells milliseconds. A step back of it is no time at all: nothing is refilled, and nobody waits longer. Of some
 * `most` ids buckets are kept, and of twice as many at most: beyond that those that were asked for longest ago are full again.
 */
export function createMemoryLimiter(clock: () => number, most = Number.POSITIVE_INFINITY): MemoryLimiter {
  const time = forwardTime(clock);
  // Buckets touched since the last turn, and those touched before it.
  let young = new Map<string, Bucket>();
  let old = new Map<string, Bucket>();
  let turnedAt = 0;
  let longestMs = 0;

  /** Returns the bucket as it is now. */
  function bucketOf(id: string, rate: Rate): Bucket {
    const now = time();
    if (rate.windowMs > longestMs) longestMs = rate.windowMs;
    // One window pays the deepest debt and another fills the bucket: what nobody touched for so long is full, and a
    // bucket that is full is the same as none.
    if (now - turnedAt >= 2 * longestMs || young.size >= most) {
      old = young;
      young = new Map();
      turnedAt = now;
    }
    let bucket = young.get(id);
    if (!bucket) {
      bucket = old.get(id) ?? { parts: fullOf(rate), at: now, capacity: rate.capacity, windowMs: rate.windowMs };
      old.delete(id);
      young.set(id, bucket);
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

/** Counts whole milliseconds, from 0, and never backwards. */
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
