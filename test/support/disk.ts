/** A small disk of memory, to be filled. */
import { execFileSync } from "node:child_process";
import { closeSync, mkdirSync, openSync, rmSync, statfsSync, writeSync } from "node:fs";
import { join } from "node:path";

/** Reports whether one can be had here. */
export function mayMount(): boolean {
  try {
    execFileSync("unshare", ["--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"], { stdio: "ignore" });
    return process.getuid?.() === 0;
  } catch {
    return false;
  }
}

/** Mounts one of a size, such as "2m". Returns what takes it away. */
export function mountDisk(path: string, size: string): () => void {
  mkdirSync(path);
  execFileSync("mount", ["-t", "tmpfs", "-o", `size=${size}`, "tmpfs", path]);
  return () => {
    // A journal that could not be posted stays, and is open until this process ends.
    execFileSync("umount", ["--lazy", path]);
    rmSync(path, { recursive: true });
  };
}

/** Fills a disk to its last block, whoever else writes there. Returns what makes room again. */
export function fillDisk(path: string): () => void {
  const file = join(path, "fill");
  const fd = openSync(file, "w");
  const block = Buffer.alloc(statfsSync(path).bsize);
  try {
    for (;;) writeSync(fd, block);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
  } finally {
    closeSync(fd);
  }
  return () => rmSync(file, { force: true });
}
