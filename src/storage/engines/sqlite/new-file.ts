/** Makes the file of a database, and the folder that it is in; and removes them again where the database could not be opened. */
import { closeSync, existsSync, mkdirSync, openSync, readdirSync, rmdirSync, rmSync } from "node:fs";
import { basename, dirname } from "node:path";
import { codeOf, StorageError } from "../../../runtime/write-trouble.ts";
import { begunMove } from "./moving/aside.ts";
import { lockFile } from "./presence.ts";

/** MadeFiles is what was made of a database that was not there before. */
export interface MadeFiles {
  /** Removes it. Nobody may have it open. */
  remove(): void;
}

/** makeFile makes the file where it is missing, for its owner only. Throws a StorageError where a command was ended as it moved one aside. */
export function makeFile(path: string): MadeFiles {
  refuseAmidMove(path);
  // SQLite leaves its own files behind where a disk has no room for all of them, and gives them the mode of this one.
  return makeFiles(path, [path, `${path}-wal`, `${path}-shm`]);
}

/**
 * A restore that was killed between moving the old database aside and naming the new one leaves none, and so does `migrate-to` amid moving
 * aside what is at its target. An empty one in its place would look as if all accounts were gone, beside a journal that is not its own.
 */
function refuseAmidMove(path: string): void {
  if (existsSync(path)) return;
  const aside = readdirSync(dirname(path)).filter((name) => name.startsWith(`${basename(path)}.replaced-`));
  // Its other files have this name with an ending.
  const [restored] = aside
    .filter((name) => name.endsWith("Z"))
    .sort()
    .reverse();
  const begun = begunMove(path);
  const last = begun ? basename(begun.to) : restored;
  if (last === undefined) return;
  const command = last === restored ? "restore" : "migrate-to";
  throw new StorageError(
    `there is no database ${path}, but what \`${command}\` moved aside: it was ended amid its work. Run \`model-gateway ${command}\` again, ` +
      `or give ${last} and the files beside it their old names back`,
  );
}

/** makeLockFile makes the file of a database's lock where it is missing, and the folders that both are in, for their owner only. */
export function makeLockFile(path: string): MadeFiles {
  const folders = makeFolders(dirname(path));
  try {
    const file = makeFiles(lockFile(path), [lockFile(path)]);
    const remove = () => {
      file.remove();
      folders.remove();
    };
    return { remove };
  } catch (error) {
    folders.remove();
    throw error;
  }
}

/** makeFiles makes the file at a path. What is missing of `all` is removed with it. */
function makeFiles(path: string, all: readonly string[]): MadeFiles {
  const missing = all.filter((file) => !existsSync(file));
  const remove = () => {
    for (const file of missing) rmSync(file, { force: true });
  };
  try {
    // Never a file that is there: where a process closes one, the system takes back all locks that the process has of it, those of
    // SQLite's connections too. Others would work on the database as if nobody did.
    if (missing.includes(path)) closeSync(openSync(path, "a", 0o600));
  } catch (error) {
    remove();
    throw error;
  }
  return { remove };
}

/**
 * makeFolders makes a folder and those above it, for their owner only; none where that fails. Node's recursive way never ends below a
 * folder that takes no others, such as /proc.
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
