/**
 * Classifies errors of writing to storage. Trouble, a lock of another process or a disk that is full, read-only or broken, may
 * pass, and the same write may succeed later. A fault lies in what is written, and does not pass.
 */

/** An error that the operator can resolve. It is reported in one line, without a stack. */
export class StorageError extends Error {
  override readonly name = "StorageError";
}

/** Another process held the database's lock until the wait timed out. The code is SQLite's own for that. */
export class LockedError extends Error {
  override readonly name = "LockedError";
  readonly code = "SQLITE_BUSY";

  constructor() {
    super("another process holds the lock of the database");
  }
}

export type Trouble = "locked" | "full" | "read_only" | "failing";

const troubles: readonly (readonly [RegExp, Trouble])[] = [
  [/^SQLITE_(BUSY|LOCKED)/, "locked"],
  [/^(SQLITE_FULL|ENOSPC|EDQUOT)/, "full"],
  [/^(SQLITE_READONLY|EROFS)/, "read_only"],
  [/^SQLITE_(IOERR|CANTOPEN|CORRUPT|NOTADB)/, "failing"],
];

/** Returns undefined for any other error. */
export function troubleOf(error: unknown): Trouble | undefined {
  const code = codeOf(error);
  return troubles.find(([pattern]) => pattern.test(code))?.[1];
}

/** Reports whether an error lies in what was to be written, so that the same write would fail again. */
export function isFault(error: unknown): boolean {
  const isOfValue = error instanceof TypeError || error instanceof RangeError;
  return isOfValue || /^SQLITE_(CONSTRAINT|MISMATCH|RANGE)/.test(codeOf(error));
}

export function codeOf(error: unknown): string {
  return String((error as { readonly code?: unknown } | null)?.code);
}
