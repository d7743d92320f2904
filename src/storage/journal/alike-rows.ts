/**
 * Puts rows together that are alike in what a statement binds once for many of them. The order in which they came is not kept,
 * and what is left over at the end, fewer than a statement writes, is written one by one.
 */

export interface AlikeRows<T> {
  /** Adds a row. It is written now, or with those that come after it. */
  add(row: T): void;
  /** Writes what is not written yet. */
  end(): void;
}

export interface AlikeRowsParts<T> {
  /** Whether one statement may write both. */
  readonly isAlike: (one: T, other: T) => boolean;
  /** Writes `atOnce` rows that are alike; it may keep none of the list. */
  readonly writeMany: (rows: readonly T[]) => void;
  readonly writeOne: (row: T) => void;
}

/** How many rows a statement writes. */
export const atOnce = 16;
/** What is of yet another kind than these many is written one by one. */
const mostKinds = 8;

export function createAlikeRows<T>({ isAlike, writeMany, writeOne }: AlikeRowsParts<T>): AlikeRows<T> {
  const kinds: T[][] = [];

  /** Returns those that a row is written together with, of which none may be there yet; undefined where all kinds are others. */
  function alikeOf(row: T): T[] | undefined {
    let free: T[] | undefined;
    for (const alike of kinds) {
      const [first] = alike;
      if (first === undefined) free ??= alike;
      else if (isAlike(first, row)) return alike;
    }
    if (free || kinds.length === mostKinds) return free;
    const made: T[] = [];
    kinds.push(made);
    return made;
  }

  return {
    add(row) {
      const alike = alikeOf(row);
      if (!alike) writeOne(row);
      else if (alike.push(row) === atOnce) {
        writeMany(alike);
        alike.length = 0;
      }
    },
    end() {
      for (const alike of kinds.splice(0)) alike.forEach(writeOne);
    },
  };
}

/** Returns the values of so many rows, each of so many values, for a statement. */
export function placesOf(values: number, rows = atOnce): string {
  return Array(rows)
    .fill(`(${Array(values).fill("?").join(", ")})`)
    .join(", ");
}
