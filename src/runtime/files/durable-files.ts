/** Files that appear under their name whole, and stay after a loss of power. */
import { randomBytes } from "node:crypto";
import { closeSync, fsyncSync, linkSync, openSync, renameSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { codeOf } from "../write-trouble.ts";

/** unusedName returns a name that no other process has: in containers of one volume each may be the process 1. */
export function unusedName(path: string): string {
  return `${path}-${randomBytes(6).toString("hex")}`;
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

/** Syncs a folder: the names of its files are stored there. Windows has no such call, and needs none. */
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
