/** Makes the file of a database, and the folder that it is in; and removes them again where the database could not be opened. */
import { closeSync, existsSync, mkdirSync, openSync, rmdirSync, rmSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { codeOf } from "../../../runtime/write-trouble.ts";
import { lockFile } from "./presence.ts";

/** MadeFiles is what was made of a database that was not there before. */
export interface MadeFiles {
  /** Removes it. Nobody may have it open. */
  remove(): void;
}

/** Makes the file and that of its lock where they are missing, and their folders, for their owner only. */
export function makeFile(path: string): MadeFiles {
  // SQLite leaves its own files behind where a disk has no room for all of them.
  const missing = [path, lockFile(path), `${path}-wal`, `${path}-shm`].filter((file) => !existsSync(file));
  const folders = makeFolders(dirname(path));
  const remove = () => {
    for (const file of missing) rmSync(file, { force: true });
    folders.remove();
  };
  try {
    // SQLite gives its own new files the mode of this one.
    for (const file of [path, lockFile(path)]) closeSync(openSync(file, "a", 0o600));
  } catch (error) {
    remove();
    throw error;
  }
  return { remove };
}

/** Makes the file of a database's lock where it is missing. */
export function makeLockFile(path: string): MadeFiles {
  const file = lockFile(path);
  const isMissing = !existsSync(file);
  closeSync(openSync(file, "a", 0o600));
  return { remove: () => isMissing && rmSync(file, { force: true }) };
}

/** Returns what tells a file from another that gets its name; undefined where there is none. */
export function identityOf(path: string): bigint | undefined {
  return statSync(path, { bigint: true, throwIfNoEntry: false })?.ino;
}

/**
 * Makes a folder and those above it, for their owner only; none where that fails. Node's recursive way never ends below a folder that
 * takes no others, such as /proc.
 */
export function makeFolders(path: string): MadeFiles {
  const made: string[] = [];
  const remove = () => made.toReversed().forEach(removeEmpty);
  const make = (folder: string): void => {
    if (existsSync(folder)) return;
    make(dirname(folder));
    try {
      mkdirSync(folder, { mode: 0o700 });
      made.push(folder);
    } catch (error) {
      // Another process may have made it meanwhile.
      if (codeOf(error) !== "EEXIST") throw error;
    }
  };
  try {
    make(path);
  } catch (error) {
    remove();
    throw error;
  }
  return { remove };
}

/** Another process may use the folder meanwhile. */
function removeEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch (error) {
    if (!/^(?:ENOTEMPTY|EEXIST|ENOENT)$/.test(codeOf(error))) throw error;
  }
}
