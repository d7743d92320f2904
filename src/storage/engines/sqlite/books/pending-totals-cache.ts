/**
 * The cache of pending totals: what this process has written of them and nobody has merged yet, partition by partition, so
 * that a merge need not read it again. An answer counts only while the tables say that nothing else is pending: whatever else
 * writes or merges, in this process or another, makes them say otherwise.
 */
import { createTotals, type Total, type Totals } from "../../../money/totals.ts";

export interface PendingTotalsCache {
  /** Adds the rows of a batch, once it is committed. */
  add(rows: readonly Total[]): void;
  /** Records that a partition is merged up to this batch, and that no batch came after it. */
  merged(part: number, batch: number): void;
  /**
   * Returns what is pending of a partition that is merged up to `batch`, after which came `count` batches; undefined where this
   * process has not written all of those.
   */
  of(part: number, batch: number, count: number): readonly Total[] | undefined;
}

/** KnownPart is what is known of a partition since it was merged. */
interface KnownPart {
  /** The last batch that was merged. */
  readonly batch: number;
  /** written is how many batches were written here by then. */
  readonly written: number;
  readonly totals: Totals;
}

export function createPendingTotalsCache(parts: number, partOf: (row: Total) => number): PendingTotalsCache {
  const known: (KnownPart | undefined)[] = Array(parts).fill(undefined);
  let written = 0;
  return {
    add(rows) {
      written++;
      for (const row of rows) known[partOf(row)]?.totals.addTotal(row);
    },
    merged(part, batch) {
      known[part] = { batch, written, totals: createTotals() };
    },
    of(part, batch, count) {
      const found = known[part];
      return found && found.batch === batch && written - found.written === count ? found.totals.rows : undefined;
    },
  };
}
