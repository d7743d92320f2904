/** Merges what is due of the sums of keys and hours (`storage/journal/pending-totals.ts`), a part at a time, while there is any. */
import type { LedgerStore } from "../storage/money/ledger.ts";

export interface MergingOptions {
  readonly store: Pick<LedgerStore, "due" | "transact" | "withoutWaiting">;
  /** Told of what went wrong where nobody waits. */
  readonly onError: (error: unknown) => void;
}

export interface Merging {
  /** Sees to it that all is merged in the end. */
  start(): void;
  /** Merges all at once. */
  close(): void;
}

/** Once round all parts takes some thirteen seconds, in which a key's calls come together. */
const everyMs = 200;

export function createMerging({ store, onError }: MergingOptions): Merging {
  const { due, transact, withoutWaiting } = store;
  let part = 0;
  let isClosed = false;
  let waiting: NodeJS.Timeout | undefined;

  /** Where another process writes just then, the part's next turn will do. */
  function merge(): void {
    try {
      withoutWaiting(() => transact(() => due.merge(part)));
    } catch (error) {
      onError(error);
    }
    part = (part + 1) % due.parts;
  }

  /** Nobody's write fails for it: the next one starts it. */
  function isAny(): boolean {
    try {
      return due.isAny();
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
      for (let parts = 0; parts < due.parts && isAny(); parts++) merge();
    },
  };
}
