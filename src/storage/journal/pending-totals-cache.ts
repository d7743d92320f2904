/**
 * What was written through one `DueSums` of what is due and not merged yet, part by part: who merges a part by it need not read
 * that again. It counts only while the tables say that nothing else is due: whatever else writes or merges, in this process or
 * another, makes them say otherwise.
 */
import { createDueRows, type DueRow } from "../money/ledger-rows.ts";

export interface KnownDue {
  /** Notes a batch that is committed. */
  add(rows: readonly DueRow[]): void;
  /** Notes that all of a part is merged, up to this batch, and that nothing came behind it. */
  merged(part: number, batch: number): void;
  /**
   * Returns what is due of a part that is merged up to a batch, behind which there are so many; undefined where not all of
   * them are known.
   */
  of(part: number, batch: number, count: number): readonly DueRow[] | undefined;
}

/** What is known of a part since it was merged. */
interface KnownPart {
  /** Up to which batch it was. */
  readonly batch: number;
  /** How many batches were written here by then. */
  readonly written: number;
  readonly sums: ReturnType<typeof createDueRows>;
}

export function createKnownDue(parts: number, partOf: (row: DueRow) => number): KnownDue {
  const known: (KnownPart | undefined)[] = Array(parts).fill(undefined);
  let written = 0;
  return {
    add(rows) {
      written++;
      for (const row of rows) known[partOf(row)]?.sums.addRow(row);
    },
    merged(part, batch) {
      known[part] = { batch, written, sums: createDueRows() };
    },
    of(part, batch, count) {
      const found = known[part];
      return found && found.batch === batch && written - found.written === count ? found.sums.rows : undefined;
    },
  };
}
