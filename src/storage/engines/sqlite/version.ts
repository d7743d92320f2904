/** Tells whether anything in the database has changed, by this process or another, at next to no cost. */
import type { MaybePromise } from "../../../runtime/maybe-promise.ts";

/** noticedMs is how long another process's change may go unnoticed: less than a caller needs to make another call. */
const noticedMs = 1;

export interface Version {
  /** Returns a greater number after every change; `isExact` says that none may go unnoticed. */
  current(isExact?: boolean): number;
  /** changed says that another connection of this process has written: that is a change from now on. */
  changed(): MaybePromise<void>;
}

/**
 * createVersion adds the writes of a connection (`written`) to the changes of its `version`, which SQLite changes whenever another
 * connection, of whatever process, has written.
 */
export function createVersion(version: () => unknown, written: () => number): Version {
  let seen = version();
  let byOthers = 0;
  let lookedAt = performance.now();
  return {
    current(isExact = false) {
      const now = performance.now();
      if (isExact || now - lookedAt > noticedMs) {
        lookedAt = now;
        const current = version();
        if (current !== seen) byOthers++;
        seen = current;
      }
      return written() + byOthers;
    },
    changed() {
      byOthers++;
      // So that it is no other change later.
      seen = version();
    },
  };
}

/**
 * ownedVersion adds the writes of this process to the changes that its owner tells of: the file changes with every call of other workers,
 * too.
 */
export function ownedVersion(owner: { version(): number; changed(): Promise<void> }, written: () => number): Version {
  let changes = 0;
  return {
    current: () => owner.version() + written() + changes,
    changed() {
      changes++;
      return owner.changed();
    },
  };
}
