/**
 * Gives memory back to the system: V8 and the C library by themselves keep what they took for the start, or for a busy hour.
 *
 * Garbage is collected when no calls run, for a collection is a pause of a tenth of a second or two. What the C library keeps of freed
 * memory is given back a second later, when V8 has freed all that it found, and besides while there is little to do, so that a gateway that
 * is never idle is not as large for ever as it was once: that is a pause of some ten milliseconds for each hundred megabytes. Both come
 * only after seconds without much work, and again only after work that took memory.
 */
import { trimHeap } from "../../runtime/memory/c-heap.ts";
import { collectAll } from "../../runtime/memory/collect.ts";

export interface IdleOptions {
  /** Reports whether no call is under way, nor was since it was asked last. It is asked every second, and may not throw. */
  readonly isIdle: () => boolean;
  /** Collects all that is garbage. */
  readonly collect?: () => void;
  /** trim gives back what is free. Default: `trimHeap`. */
  readonly trim?: () => void;
  /** Returns the resident memory, in bytes. */
  readonly residentBytes?: () => number;
  /** Returns the share of time in which the event loop had work since it was asked last, 0 to 1. */
  readonly workShare?: () => number;
  /** The time between two looks, in milliseconds. */
  readonly everyMs?: number;
}

/** quietLooks is how many looks in a row must find no work, or little. */
const quietLooks = 5;
/** idleShare is the share of time below which an event loop has no work. */
const idleShare = 0.02;
/** calmShare is the share of time below which a pause of some ten milliseconds delays few calls. */
const calmShare = 0.2;
/** worthBytes is how much more memory than after the last time makes another collection worth its pause. */
const worthBytes = 32 * 2 ** 20;
/**
 * trimBytes is how much more memory makes giving back alone worth its pause: more than V8's young generation, which holds nothing to give
 * back.
 */
const trimBytes = 192 * 2 ** 20;

/** collectWhenIdle looks at the process again and again, until the returned function is called. */
export function collectWhenIdle({
  isIdle,
  collect = collectAll,
  trim = trimHeap,
  residentBytes = () => process.memoryUsage.rss(),
  workShare = createWorkShare(),
  everyMs = 1000,
}: IdleOptions): () => void {
  let [quiet, calm] = [0, 0];
  /** left is the memory after the last pause of either kind; clean is that after the last collection, with what it freed given back. */
  let [left, clean] = [0, 0];
  let isCollected = false;
  const timer = setInterval(() => {
    const share = workShare();
    calm = share < calmShare ? calm + 1 : 0;
    quiet = share < idleShare && isIdle() ? quiet + 1 : 0;
    // Work after a collection has brought new garbage: what is left of it is no measure of a clean heap.
    if (calm === 0) isCollected = false;
    if (calm < quietLooks) return;
    const bytes = residentBytes();
    if (!isCollected && quiet >= quietLooks && bytes - clean >= worthBytes) {
      collect();
      isCollected = true;
      quiet = 0;
    } else if (isCollected || (quiet === 0 && bytes - left >= trimBytes)) {
      trim();
      if (isCollected) clean = residentBytes();
      isCollected = false;
      calm = 0;
    } else return;
    left = residentBytes();
    // The pause was no work.
    workShare();
  }, everyMs);
  timer.unref();
  return () => clearInterval(timer);
}

function createWorkShare(): () => number {
  let seen = performance.eventLoopUtilization();
  return () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, seen);
    seen = now;
    return utilization;
  };
}
