/** Keeps something for each id that is used, without a timer, and forgets ids that were idle for a while. */

export interface Rotating<T> {
  /** Returns what is kept of an id, which counts as used now. It is kept for `keptMs` after that at least, unless there are too many. */
  find(id: string, keptMs: number, now: number): T | undefined;
  /** Keeps something of an id that nothing was found of, for as long as a find keeps it, and returns it. */
  add(id: string, keptMs: number, kept: T): T;
}

/** Generations are what was used since the last rotation, and in the period before it. */
interface Generations<T> {
  recent: Map<string, T>;
  old: Map<string, T>;
  rotatedAt: number;
}

function rotate<T>(generations: Generations<T>, now: number): void {
  generations.old = generations.recent;
  generations.recent = new Map();
  generations.rotatedAt = now;
}

/**
 * createRotating keeps something of about `maxIds` ids for each of the times, of twice as many at most; beyond that the least recently used
 * are forgotten. Each time has generations of its own: one id that is kept for a day keeps no others that long.
 */
export function createRotating<T>(maxIds = Number.POSITIVE_INFINITY): Rotating<T> {
  const byTime = new Map<number, Generations<T>>();

  function generationsOf(keptMs: number): Generations<T> {
    const known = byTime.get(keptMs);
    if (known) return known;
    const added = { recent: new Map(), old: new Map(), rotatedAt: Number.NEGATIVE_INFINITY };
    byTime.set(keptMs, added);
    return added;
  }

  /** Takes an id out of the generations that have it: it is idle, or was kept for another time. */
  function taken(id: string): T | undefined {
    for (const { recent, old } of byTime.values())
      for (const generation of [recent, old]) {
        const kept = generation.get(id);
        if (kept === undefined) continue;
        generation.delete(id);
        return kept;
      }
    return undefined;
  }

  /** Rotates all that are due, so that those which nobody uses any more go, too. */
  function rotateDue(now: number): void {
    for (const [keptMs, generations] of byTime) if (now - generations.rotatedAt >= keptMs) rotate(generations, now);
  }

  return {
    find(id, keptMs, now) {
      const own = generationsOf(keptMs);
      if (now - own.rotatedAt >= keptMs) rotateDue(now);
      else if (own.recent.size >= maxIds) rotate(own, now);
      const used = own.recent.get(id);
      if (used !== undefined) return used;
      const idle = taken(id);
      if (idle !== undefined) own.recent.set(id, idle);
      return idle;
    },
    add(id, keptMs, kept) {
      generationsOf(keptMs).recent.set(id, kept);
      return kept;
    },
  };
}
