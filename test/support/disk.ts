/** A small disk of memory, to be filled. */
import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, statfsSync, writeFileSync } from "node:fs";
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

/** Fills a disk to its last block. Returns what makes room again. */
export function fillDisk(path: string): () => void {
  const file = join(path, "fill");
  const { bavail, bsize } = statfsSync(path);
  writeFileSync(file, Buffer.alloc(bavail * bsize));
  return () => rmSync(file, { force: true });
}
