/** Tells whether anything in the database has changed, here or by another process, at next to no cost. */

/** How long a change that another process made may go unnoticed: less than anybody needs to make another call. */
const noticedMs = 1;

/** Adds to what was written here, and looks now and then whether others have written: then SQLite tells another version. */
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
