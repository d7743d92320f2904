/** Files that appear under their name whole, and stay after a loss of power. */
import { randomBytes } from "node:crypto";
import { closeSync, fsyncSync, linkSync, openSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { dayMs } from "../time/durations.ts";
import { codeOf } from "../write-trouble.ts";

/** unusedName returns a name that no other process has: in containers of one volume each may be the process 1. */
export function unusedName(path: string): string {
  return `${path}-${randomBytes(6).toString("hex")}`;
}

/** leftMs is for how long nobody has written what a process has left that was killed, in milliseconds. */
const leftMs = dayMs;

/**
 * removeLeft removes what processes that were killed have left in a folder under names that `unusedName` made of a path that ends with a
 * word, and what SQLite and the journal keep beside it. What anybody has written within a day stays, for its process may live, and so does
 * what cannot be removed.
 */
export function removeLeft(folder: string, word: string): void {
  const pattern = new RegExp(`^(.*\\.${word}-[0-9a-f]{12})(?:-journal|-wal|-shm|\\.lock|\\.notes)?$`);
  const found = Map.groupBy(namesIn(folder), (name) => pattern.exec(name)?.[1]);
  found.delete(undefined);
  for (const names of found.values()) {
    const paths = names.map((name) => join(folder, name));
    const writtenAt = Math.max(...paths.map((path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0));
    if (writtenAt > Date.now() - leftMs) continue;
    for (const path of paths) removeIfPossible(path);
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function removeIfPossible(path: string): void {
  try {
    rmSync(path, { force: true, recursive: true });
  } catch {
    // Another user's, or on a disk that is read-only.
  }
}

/**
 * publish gives a file that is whole its name, in one step. Where `replaces` is not set and there is such a file, it throws EEXIST and
 * changes nothing. Both names are of one file system.
 */
export function publish(from: string, to: string, replaces: boolean): void {
  syncFile(from);
  if (replaces) renameSync(from, to);
  else renameUnlessThere(from, to);
  syncFolder(dirname(to));
}

/** A rename replaces what is there, a link does not. */
function renameUnlessThere(from: string, to: string): void {
  try {
    linkSync(from, to);
    rmSync(from);
  } catch (error) {
    // Some file systems have no links: there the look before the rename has to do.
    if (!/^(?:EPERM|ENOTSUP|ENOSYS|EOPNOTSUPP|EMLINK)$/.test(codeOf(error))) throw error;
    closeSync(openSync(to, "wx", 0o600));
    renameSync(from, to);
  }
}

export function syncFile(path: string): void {
  sync(path, "r+");
}

/** syncFolder has a folder, which the names of its files are in, survive a loss of power. Windows has no such call, and needs none. */
export function syncFolder(path: string): void {
  if (process.platform !== "win32") sync(path, "r");
}

function sync(path: string, flags: string): void {
  const fd = openSync(path, flags);
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
