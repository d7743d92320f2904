/** Says in one line what keeps a file from being read or written, and what to do about it. */
import { codeOf, StorageError } from "./write-trouble.ts";

/** remedies are by the codes of the system and of SQLite. */
const remedies: readonly (readonly [RegExp, string])[] = [
  [/^(?:ENOSPC|EDQUOT|SQLITE_FULL)/, "the disk is full. Make room on it, or name another place"],
  [/^(?:EROFS|SQLITE_READONLY)/, "it cannot be written. Make it writable for this user, or name another place"],
  [
    /^(?:EACCES|EPERM|SQLITE_CANTOPEN|SQLITE_PERM)/,
    "this user may not use it. Run the command as its owner, give the user the right, or name another place",
  ],
  [/^ENOENT/, "there is no such file"],
  [/^EISDIR/, "it is a folder. Name a file"],
  [/^(?:ENOTDIR|EEXIST)/, "it is below a file. Name a folder"],
];

/** diskRemedy returns what is wrong and what to do, for an error of the disk; undefined for any other. */
export function diskRemedy(error: unknown): string | undefined {
  return remedies.find(([code]) => code.test(codeOf(error)))?.[1];
}

/** onDisk runs work on files. Its errors of the disk become a StorageError. */
export async function onDisk<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const remedy = error instanceof StorageError ? undefined : diskRemedy(error);
    if (remedy === undefined) throw error;
    const { path, message } = error as NodeJS.ErrnoException;
    throw new StorageError(`${path ?? message}: ${remedy}`, { cause: error });
  }
}
