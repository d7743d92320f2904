/** Says in one line what keeps a file from being read or written, and what to do about it. */
import { codeOf, StorageError } from "./write-trouble.ts";

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
  [/^ENOENT/, "there is no such file"],
  [/^EISDIR/, "it is a folder. Name a file"],
  [/^(?:ENOTDIR|EEXIST)/, "it is below a file. Name a folder"],
];

/** diskRemedy returns what is wrong and what to do, for an error of the disk; undefined for any other. */
export function diskRemedy(error: unknown): string | undefined {
  return remedies.find(([code]) => code.test(codeOf(error)))?.[1];
}

/** diskMessage returns the same after the error's own words, for errors that name no file. */
export function diskMessage(error: unknown): string | undefined {
  const remedy = diskRemedy(error);
  if (remedy === undefined) return undefined;
  const { path, message } = error as NodeJS.ErrnoException;
  return `${path ?? message}: ${remedy}`;
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
