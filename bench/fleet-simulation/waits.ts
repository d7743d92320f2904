/** Counts waits in classes of a fiftieth each: enough for percentiles, and little to keep. Times are microseconds. */

export interface Waits {
  add(wait: number, times: number): void;
  /** Forgets what was added so far. */
  clear(): void;
  /** Returns the time that this part did not exceed; 0 of nobody. */
  percentile(part: number): number;
  count(): number;
}

const step = Math.log(1.02);

export function createWaits(): Waits {
  const classes = new Map<number, number>();
  let total = 0;
  return {
    add(wait, times) {
      const at = Math.round(Math.log(Math.max(1, wait)) / step);
      classes.set(at, (classes.get(at) ?? 0) + times);
      total += times;
    },
    clear() {
      classes.clear();
      total = 0;
    },
    percentile(part) {
      let left = part * total;
      for (const at of [...classes.keys()].sort((a, b) => a - b)) {
        left -= classes.get(at) as number;
        if (left <= 1e-9) return Math.exp(at * step);
      }
      return 0;
    },
    count: () => total,
  };
}
