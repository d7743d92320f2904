/**
 * Collects garbage when no calls run, so that memory goes back to the system: V8 by itself keeps what it took for the start, or for a
 * busy hour.
 *
 * A collection is a pause of a tenth of a second or two. So it comes only after seconds without work, and again only after work that took
 * memory.
 */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

export interface IdleOptions {
  /** Reports whether no call is under way, nor was since it was asked last. It is asked every second, and may not throw. */
  readonly isIdle: () => boolean;
  /** Collects all that is garbage. */
  readonly collect?: () => void;
  /** Returns the resident memory, in bytes. */
  readonly residentBytes?: () => number;
  /** The time between two looks, in milliseconds. */
  readonly everyMs?: number;
}

/** quietLooks is how many looks in a row must find no work. */
const quietLooks = 5;
/** A share of time below which an event loop has no work. */
const idleShare = 0.02;
/** worthBytes is how much more memory than after the last collection makes another worth its pause. */
const worthBytes = 32 * 2 ** 20;

/** Looks at the process again and again, until the returned function is called. */
export function collectWhenIdle({
  isIdle,
  collect = collectAll,
  residentBytes = () => process.memoryUsage.rss(),
  everyMs = 1000,
}: IdleOptions): () => void {
  let seen = performance.eventLoopUtilization();
  let quiet = 0;
  let left = 0;
  const timer = setInterval(() => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, seen);
    seen = now;
    quiet = utilization < idleShare && isIdle() ? quiet + 1 : 0;
    if (quiet < quietLooks || residentBytes() < left + worthBytes) return;
    collect();
    left = residentBytes();
    quiet = 0;
  }, everyMs);
  timer.unref();
  return () => clearInterval(timer);
}

interface Collection {
  readonly type: "major";
  readonly flavor: "last-resort";
}

let gc: ((collection: Collection) => void) | undefined;

/** V8 shrinks what it keeps for young objects only in a collection of the last resort. */
function collectAll(): void {
  setFlagsFromString("--expose-gc");
  gc ??= runInNewContext("gc") as typeof gc;
  gc?.({ type: "major", flavor: "last-resort" });
}
