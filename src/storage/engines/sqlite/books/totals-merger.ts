/** Merges pending totals of keys and hours (`pending-totals.ts`) while there are any, a partition at a time. */
import type { PendingTotals } from "./pending-totals.ts";

export interface TotalsMergerOptions {
  readonly pendingTotals: Pick<PendingTotals, "parts" | "merge" | "isAny">;
  /** Runs work in a transaction. Returns false where another process is writing. */
  readonly tryToWrite: (work: () => void) => boolean;
  /** Receives errors that no caller waits for. */
  readonly onError: (error: unknown) => void;
}

export interface TotalsMerger {
  /** Begins to merge, unless that is under way, and goes on until nothing is pending. */
  start(): void;
  /** Merges everything at once. */
  close(): void;
}

/** Once round all partitions takes some thirteen seconds, in which a key's calls come together. */
const everyMs = 200;

export function createTotalsMerger({ pendingTotals, tryToWrite, onError }: TotalsMergerOptions): TotalsMerger {
  let part = 0;
  let isClosed = false;
  let waiting: NodeJS.Timeout | undefined;

  /** Merges a partition. Where another process is writing, the partition's next turn will do. */
  function merge(): void {
    try {
      tryToWrite(() => pendingTotals.merge(part));
    } catch (error) {
      onError(error);
    }
    part = (part + 1) % pendingTotals.parts;
  }

  /** isAny reports whether anything waits to be merged. An error counts as nothing, so that it fails no write: the next one asks again. */
  function isAny(): boolean {
    try {
      return pendingTotals.isAny();
    } catch (error) {
      onError(error);
      return false;
    }
  }

  function start(): void {
    if (waiting || isClosed || !isAny()) return;
    waiting = setTimeout(() => {
      waiting = undefined;
      merge();
      start();
    }, everyMs).unref();
  }

  // What a process before this one has left.
  start();
  return {
    start,
    close() {
      isClosed = true;
      clearTimeout(waiting);
      for (let parts = 0; parts < pendingTotals.parts && isAny(); parts++) merge();
    },
  };
}
