/**
 * Names what keeps the storage from being written: another process's lock, or a disk that is full, read-only or broken. It is
 * no fault of what is written, which may be written later.
 */

/** What the operator can set right: told in one line, without a stack. */
export class StorageError extends Error {
  override readonly name = "StorageError";
}

/** Another process held the lock of the database for as long as anybody waits. It has the code that SQLite gives the same. */
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

/** Returns undefined for an error that says nothing of the storage. */
export function troubleOf(error: unknown): Trouble | undefined {
  const code = codeOf(error);
  return troubles.find(([pattern]) => pattern.test(code))?.[1];
}

/** Whether something failed by what was to be written, and would fail again. */
export function isFault(error: unknown): boolean {
  const isOfValue = error instanceof TypeError || error instanceof RangeError;
  return isOfValue || /^SQLITE_(CONSTRAINT|MISMATCH|RANGE)/.test(codeOf(error));
}

export function codeOf(error: unknown): string {
  return String((error as { readonly code?: unknown } | null)?.code);
}
