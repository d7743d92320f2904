/** Turns an error of opening or reading a database into one line for its operator, which says what to do. */
import { accessSync, constants, statfsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { codeOf, diskRemedy, StorageError } from "../../../runtime/write-trouble.ts";

/** Less than this is not enough for the files that SQLite keeps beside a database. */
const leastBytes = 64 * 1024;

export function openingError(path: string, error: unknown): StorageError {
  if (error instanceof StorageError) return error;
  const cause = causeOf(path, error);
  const remedy = remedyOf(cause);
  const why = remedy === undefined ? (error as Error).message : `${remedy} (DATA_DIR)`;
  return new StorageError(`the database ${path} cannot be opened: ${why}`, { cause: error });
}

/** remedyOf returns what is wrong and what to do; undefined for what is no trouble of the file. */
function remedyOf(cause: unknown): string | undefined {
  const code = codeOf(cause);
  if (code === "ENOENT") return "its folder cannot be made. Choose another place";
  if (code === "EISDIR") return "it is a folder. Choose another place";
  if (/^SQLITE_(?:NOTADB|CORRUPT)/.test(code))
    return `${(cause as Error).message}. Name the folder that the gateway has its data in, or restore a back-up`;
  return diskRemedy(cause);
}

/**
 * causeOf returns the system's error behind one of SQLite's own, which has one code for a file that it cannot make, for whatever reason.
 */
function causeOf(path: string, error: unknown): unknown {
  if (!/^SQLITE_(?:IOERR|CANTOPEN)/.test(codeOf(error))) return error;
  try {
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return { code: "EISDIR" };
    const { bavail, bsize } = statfsSync(dirname(path));
    if (bavail * bsize < leastBytes) return { code: "ENOSPC" };
    accessSync(dirname(path), constants.W_OK);
    return error;
  } catch (cause) {
    return cause;
  }
}
