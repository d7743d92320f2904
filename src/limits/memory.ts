/**
 * Buckets within one process: exact, without timers, and without memory of ids that were idle for a while. `createMemoryLimiter`
 * decides each call from them; `createMemorySlices` leases them to other processes.
 */
import { type Bucket, decide, drawFrom, newBucket, refill } from "./bucket.ts";
import { type Ask, type Slice, type Slices, spareParts } from "./contract.ts";
import type { Decision, Limiter, Rate } from "./limiter.ts";
import { createRotating } from "./rotating.ts";

interface MemoryLimiter extends Limiter {
  take(id: string, rate: Rate, cost: number): Decision;
  draw(id: string, rate: Rate, cost: number): void;
}

/**
 * createMemoryLimiter creates a limiter of this process alone. `clock` returns milliseconds. A clock that steps back counts as one that
 * stands still: nothing is refilled, and no wait gets longer. Buckets of about `maxIds` ids are kept, of twice as many at most; beyond that
 * the least recently used are full again.
 */
export function createMemoryLimiter(clock: () => number, maxIds = Number.POSITIVE_INFINITY): MemoryLimiter {
  const bucketOf = createBuckets(clock, maxIds);
  return {
    take(id, rate, cost) {
      const bucket = bucketOf(id, rate);
      const decision = decide(rate, bucket.parts, cost);
      if (decision.allowed) bucket.parts -= cost * rate.windowMs;
      return decision;
    },
    draw: (id, rate, cost) => drawFrom(bucketOf(id, rate, true), cost),
  };
}

interface MemorySlices extends Slices {
  take(asks: readonly Ask[]): readonly Slice[];
}

/**
 * createMemorySlices creates the keeper of slices in this process's memory. `nodes` returns how many processes lease from it. It is never
 * away.
 */
export function createMemorySlices(clock: () => number, nodes: () => number): MemorySlices {
  const bucketOf = createBuckets(clock, Number.POSITIVE_INFINITY);
  return {
    take: (asks) => asks.map((ask) => grant(bucketOf(ask.id, ask.rate), ask)),
    giveBack(unused) {
      for (const { id, rate, units } of unused) drawFrom(bucketOf(id, rate), -units);
    },
    isAway: () => false,
    nodes,
  };
}

/** Grants what `redis/scripts.ts` grants of the same bucket. */
function grant(bucket: Bucket, { least, need, spare, drawn }: Ask): Slice {
  drawFrom(bucket, drawn);
  const held = Math.max(0, Math.floor(bucket.parts / bucket.windowMs));
  const ample = Math.max(need, Math.min(need + spare, Math.floor(held / spareParts)));
  const units = held < least ? 0 : Math.min(held, ample);
  bucket.parts -= units * bucket.windowMs;
  return { units, parts: bucket.parts };
}

/**
 * createBuckets returns a function that finds an id's bucket, refilled up to now, and of the rate that is given unless it is to keep its
 * own.
 */
function createBuckets(clock: () => number, maxIds: number): (id: string, rate: Rate, keepsRate?: boolean) => Bucket {
  const time = forwardTime(clock);
  const buckets = createRotating<Bucket>(maxIds);
  return (id, rate, keepsRate = false) => {
    const now = time();
    // One window pays the deepest debt and another fills the bucket. A bucket that was not used for so long is full, and a full
    // bucket is the same as none.
    const keptMs = 2 * rate.windowMs;
    const bucket = buckets.find(id, keptMs, now) ?? buckets.add(id, keptMs, newBucket(rate, now));
    refill(bucket, keepsRate ? bucket : rate, now);
    return bucket;
  };
}

/** forwardTime returns a clock of integer milliseconds that begins at 0 and never goes back. */
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
