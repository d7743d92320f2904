/**
 * Gives the room of deleted rows back to the disk. SQLite uses such room again, and leaves the file as long as it was.
 *
 * It is a command and not done by itself: pages that move as they come free (`auto_vacuum`) would have every write keep a map of them,
 * and scatter what is read together; a database whose calls come and go at the same rate uses its room again anyway. The file is written
 * anew in one transaction, so one that is ended amid it, by whatever, is as it was.
 */
import { statSync } from "node:fs";
import { connect, isUnused, keepAlone, usedError } from "./database.ts";
import { openingError } from "./opening-error.ts";

export interface Compacted {
  /** The size of the file before and after, in bytes. */
  readonly before: number;
  readonly after: number;
}

/**
 * compact compacts a database that nobody works on. SQLite writes the new file into its folder for temporary files first. Throws a
 * StorageError, with nothing changed, where somebody does.
 */
export function compact(path: string): Compacted {
  const release = keepAlone(path);
  try {
    if (!release || !isUnused(path)) throw usedError(path);
    const before = statSync(path).size;
    rewrite(path);
    return { before, after: statSync(path).size };
  } catch (error) {
    throw openingError(path, error);
  } finally {
    release?.();
  }
}

function rewrite(path: string): void {
  const sqlite = connect(path);
  try {
    sqlite.exec("VACUUM");
    // What was written is in the log beside the file until now.
    sqlite.pragma("wal_checkpoint(TRUNCATE)");
  } finally {
    sqlite.close();
  }
}
