/** Keeps something for each id that is used, without a timer, and forgets ids that were idle for a while. */

export interface Rotating<T> {
  /** Returns what is kept of an id, which counts as used now. It is kept for `keptMs` after that at least, unless there are too many. */
  find(id: string, keptMs: number, now: number): T | undefined;
  /** Keeps something of an id that nothing was found of, and returns it. */
  add(id: string, kept: T): T;
}

/** createRotating keeps something of about `maxIds` ids, of twice as many at most; beyond that the least recently used are forgotten. */
export function createRotating<T>(maxIds = Number.POSITIVE_INFINITY): Rotating<T> {
  // What was used since the last rotation, and in the period before it.
  let recent = new Map<string, T>();
  let old = new Map<string, T>();
  let rotatedAt = Number.NEGATIVE_INFINITY;
  let longestMs = 0;
  return {
    find(id, keptMs, now) {
      if (keptMs > longestMs) longestMs = keptMs;
      if (now - rotatedAt >= longestMs || recent.size >= maxIds) {
        old = recent;
        recent = new Map();
        rotatedAt = now;
      }
      const used = recent.get(id);
      if (used !== undefined) return used;
      const idle = old.get(id);
      if (idle === undefined) return undefined;
      old.delete(id);
      recent.set(id, idle);
      return idle;
    },
    add(id, kept) {
      recent.set(id, kept);
      return kept;
    },
  };
}
