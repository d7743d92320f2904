/**
 * BulkInsert writes rows many to a statement. Rows of one statement share some values, which it binds once; so rows are
 * collected by those values, and their order is not kept. What is left over at the end, fewer than a statement writes, is
 * written row by row.
 */

export interface BulkInsert<Row> {
  /** Adds a row. It is written now, or with rows that come after it. */
  add(row: Row): void;
  /** Writes all that is not written yet. */
  end(): void;
}

export interface BulkInsertParts<Row> {
  /** Reports whether one statement may write both rows. */
  readonly isAlike: (one: Row, other: Row) => boolean;
  /** Writes `rowsAtOnce` rows that are alike. It may not keep the list. */
  readonly writeMany: (rows: readonly Row[]) => void;
  readonly writeOne: (row: Row) => void;
}

/** How many rows a statement writes. */
export const rowsAtOnce = 16;
/** How many groups of alike rows are collected at once. A row that is like none of them is written alone. */
const maxGroups = 8;

export function createBulkInsert<Row>({ isAlike, writeMany, writeOne }: BulkInsertParts<Row>): BulkInsert<Row> {
  const groups: Row[][] = [];

  /** Returns the group that a row belongs to, which may be empty; undefined where all groups are of other rows. */
  function groupOf(row: Row): Row[] | undefined {
    let empty: Row[] | undefined;
    for (const group of groups) {
      const [first] = group;
      if (first === undefined) empty ??= group;
      else if (isAlike(first, row)) return group;
    }
    if (empty || groups.length === maxGroups) return empty;
    const made: Row[] = [];
    groups.push(made);
    return made;
  }

  return {
    add(row) {
      const group = groupOf(row);
      if (!group) writeOne(row);
      else if (group.push(row) === rowsAtOnce) {
        writeMany(group);
        group.length = 0;
      }
    },
    end() {
      for (const group of groups.splice(0)) group.forEach(writeOne);
    },
  };
}

/** Returns the placeholders of so many rows, of so many values each: `(?, ?), (?, ?)`. */
export function placeholders(values: number, rows = rowsAtOnce): string {
  const row = `(${Array(values).fill("?").join(", ")})`;
  return Array(rows).fill(row).join(", ");
}
