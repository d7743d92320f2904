/**
 * Classifies errors of reading and writing files and the database, and says what to do about them.
 *
 * Trouble, such as a lock of another process or a disk that is full, read-only or broken, may pass, and the same write may succeed
 * later. A fault lies in what is written, and does not pass.
 */

/** StorageError is an error that the operator can resolve. It is reported in one line, without a stack. */
export class StorageError extends Error {
  override readonly name: string = "StorageError";
}

/** NamedFileError is a StorageError of a file that a command was told to read or write: the command line is wrong. */
export class NamedFileError extends StorageError {
  override readonly name = "NamedFileError";
}

/** isWrongPath reports whether an error lies in the path that was named: there is no such file, or it is none. */
export function isWrongPath(error: unknown): boolean {
  return /^(?:ENOENT|EISDIR|ENOTDIR|ELOOP|ENAMETOOLONG|ERR_INVALID_ARG_VALUE|EEXIST)/.test(codeOf(error));
}

/** LockedError says that another process held the database's lock until the wait timed out. Its code is SQLite's own for that. */
export class LockedError extends Error {
  override readonly name = "LockedError";
  readonly code = "SQLITE_BUSY";

  constructor(cause?: unknown) {
    super("another process holds the lock of the database", { cause });
  }
}

/** LetGoError refuses work on a database that this process has let go of, for good. */
export class LetGoError extends Error {
  override readonly name = "LetGoError";
  readonly code = "DATABASE_AWAY";

  constructor() {
    super("this process has let go of the database, which another version of the program brings up to date");
  }
}

export type Trouble = "locked" | "full" | "read_only" | "failing" | "away";

const troubles: readonly (readonly [RegExp, Trouble])[] = [
  [/^SQLITE_(BUSY|LOCKED)/, "locked"],
  [/^(SQLITE_FULL|ENOSPC|EDQUOT)/, "full"],
  [/^(SQLITE_READONLY|EROFS)/, "read_only"],
  [/^(SQLITE_(IOERR|CANTOPEN|CORRUPT|NOTADB)|EIO$)/, "failing"],
  // A database of another machine that does not answer.
  [/^DATABASE_AWAY/, "away"],
];

/** troubleOf returns undefined for any other error. */
export function troubleOf(error: unknown): Trouble | undefined {
  const code = codeOf(error);
  return troubles.find(([pattern]) => pattern.test(code))?.[1];
}

/** mayPass reports whether an error is trouble that may be over later. A file that is damaged, or is none of a database, stays so. */
export function mayPass(error: unknown): boolean {
  return troubleOf(error) !== undefined && !/^SQLITE_(CORRUPT|NOTADB)/.test(codeOf(error));
}

/** isFault reports whether an error lies in what was to be written, so that the same write would fail again. */
export function isFault(error: unknown): boolean {
  const isOfValue = error instanceof TypeError || error instanceof RangeError;
  // Postgres's classes of codes for values and for constraints have five places.
  return isOfValue || /^(?:SQLITE_(CONSTRAINT|MISMATCH|RANGE)|2[23][0-9A-Z]{3}$)/.test(codeOf(error));
}

/** isUnkeptText reports whether an error lies in a text with the character NUL, which Postgres neither keeps nor looks for. */
export function isUnkeptText(error: unknown): boolean {
  return /^(?:22021|22P05)$/.test(codeOf(error));
}

export function codeOf(error: unknown): string {
  return String((error as { readonly code?: unknown } | null)?.code);
}

/** remedies are by the codes of the system and of SQLite. */
const remedies: readonly (readonly [RegExp, string])[] = [
  [/^(?:ENOSPC|EDQUOT|SQLITE_FULL)/, "the disk is full. Make room on it, or choose another place"],
  [/^(?:EROFS|SQLITE_READONLY)/, "it is read-only. Make it writable, or choose another place"],
  [
    /^(?:EACCES|EPERM|SQLITE_CANTOPEN|SQLITE_PERM|SQLITE_AUTH)/,
    "this user may not use it. Run the command as its owner, give the user the right, or choose another place",
  ],
  [/^(?:SQLITE_BUSY|SQLITE_LOCKED)/, "another process holds its lock. Repeat the command when that has ended"],
  [/^(?:SQLITE_IOERR|EIO)/, "the disk fails. Look at the system's log, and restore a back-up where data are lost"],
  [/^EPIPE/, "whoever reads the output has closed it"],
  [/^ENOENT/, "there is no such file or folder. Correct the path"],
  [/^EISDIR/, "it is a folder. Name a file"],
  [/^ENOTDIR/, "it is below a file, which is no folder. Correct the path"],
  [/^(?:ELOOP|ENAMETOOLONG|ERR_INVALID_ARG_VALUE)/, "it is no path that leads to a file. Correct the path"],
  [/^EEXIST/, "it exists already. Choose another place"],
];

/** diskRemedy returns what is wrong and what to do, for an error of the disk; undefined for any other. */
export function diskRemedy(error: unknown): string | undefined {
  return remedies.find(([code]) => code.test(codeOf(error)))?.[1];
}

/** diskMessage returns the same behind the path, or behind the error's own message where it names no path. */
export function diskMessage(error: unknown): string | undefined {
  const remedy = diskRemedy(error);
  if (remedy === undefined) return undefined;
  const { path, message } = error as NodeJS.ErrnoException;
  return `${path ?? message}: ${remedy}`;
}

/** fileRemedy returns why a file cannot be read or written and what to do, for any error of either. */
export function fileRemedy(error: unknown): string {
  return diskRemedy(error) ?? `the system refuses it (${codeOf(error)}). Look at the file and its disk`;
}

/** onDisk runs work on files. Its errors of the disk become a StorageError. */
export async function onDisk<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const message = error instanceof StorageError ? undefined : diskMessage(error);
    throw message === undefined ? error : new StorageError(message, { cause: error });
  }
}
