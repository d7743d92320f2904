/** Reads how much memory this machine has, or its container where it has less. */
import { existsSync, readFileSync } from "node:fs";
import { totalmem } from "node:os";
import { join } from "node:path";

/** memoryBytesHere returns the memory of this machine, or of its container where that is less. */
export function memoryBytesHere(): number {
  return Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY);
}

/**
 * createAvailable returns a function that returns how many bytes are left: of the container what none of its processes has taken for itself, of
 * a machine what its system says, and where that is not told what this process has not taken. What files have in memory counts as free:
 * the system gives it up before it ends a process.
 */
export function createAvailable(): () => number {
  const total = memoryBytesHere();
  const usage = total < totalmem() ? usageFile() : undefined;
  if (usage) return () => total - (takenIn(readFileSync(usage, "utf8")) ?? process.memoryUsage.rss());
  if (process.platform === "linux" && total === totalmem()) return () => process.availableMemory();
  return () => total - process.memoryUsage.rss();
}

/** usageFile returns the file with the memory of this process's control group; undefined where there is none. cgroups(7). */
export function usageFile(root = "/"): string | undefined {
  const base = join(root, "sys/fs/cgroup");
  const groups = linesOf(join(root, "proc/self/cgroup")).map((line) => /^\d+:(.*?):(.*)$/.exec(line)?.slice(1) ?? []);
  const second = groups.find(([controllers]) => controllers === "")?.[1];
  const first = groups.find(([controllers]) => controllers?.split(",").includes("memory"))?.[1];
  // In a container the path is often one outside of it, and its own group is at the root.
  const paths = first === undefined ? [second, ""] : [join("memory", first), "memory"];
  return paths
    .filter((path) => path !== undefined)
    .map((path) => join(base, path, "memory.stat"))
    .find((file) => existsSync(file));
}

/** takenIn returns what processes have taken for themselves, in bytes; undefined where it is not told. */
export function takenIn(stat: string): number | undefined {
  const taken = /^(?:total_rss|anon) (\d+)$/m.exec(stat)?.[1];
  return taken === undefined ? undefined : Number(taken);
}

function linesOf(file: string): readonly string[] {
  try {
    return readFileSync(file, "utf8").split("\n");
  } catch {
    return [];
  }
}
