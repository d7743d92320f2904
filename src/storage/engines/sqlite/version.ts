/** Tells whether anything in the database has changed, by this process or another, at next to no cost. */

/** How long another process's change may go unnoticed: less than a caller needs to make another call. */
const noticedMs = 1;

/**
 * Returns a function that returns another number after every change. It adds the writes of this process (`written`) to the
 * changes of `version`, which SQLite changes whenever another process writes.
 */
export function createVersion(version: () => unknown, written: () => number): (isExact?: boolean) => number {
  let seen = version();
  let byOthers = 0;
  let lookedAt = performance.now();
  return (isExact = false) => {
    const now = performance.now();
    if (isExact || now - lookedAt > noticedMs) {
      lookedAt = now;
      const current = version();
      if (current !== seen) byOthers++;
      seen = current;
    }
    return written() + byOthers;
  };
}
