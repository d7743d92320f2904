/** What a container has taken is read from its control group, of either version, wherever that is found. */
import { mkdirSync, writeFileSync } from "node:fs";
import { totalmem } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { createAvailable, memoryBytesHere, takenIn, usageFile } from "../../../src/runtime/memory/machine-memory.ts";
import { temporaryFolder } from "../../support/command.ts";

const folder = await temporaryFolder();
afterAll(() => folder.remove());
let made = 0;

/** Makes a root with these files, and returns its path. */
function rootWith(files: Readonly<Record<string, string>>): string {
  const root = join(folder.path, String(++made));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return root;
}

const second = "anon 1000\nfile 5000\nkernel 20\n";
const first = "cache 5000\nrss 900\nhierarchical_memory_limit 9\ntotal_cache 5000\ntotal_rss 1000\n";

test.each<[string, Readonly<Record<string, string>>, string]>([
  ["of version 2", { "proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.stat": second }, "a/b/memory.stat"],
  [
    "of version 2, in a container",
    { "proc/self/cgroup": "0::/../x\n", "sys/fs/cgroup/memory.stat": second },
    "memory.stat",
  ],
  [
    "of version 1",
    { "proc/self/cgroup": "7:cpu:/q\n3:memory:/a\n0::/\n", "sys/fs/cgroup/memory/a/memory.stat": first },
    "memory/a/memory.stat",
  ],
  [
    "of version 1, in a container",
    { "proc/self/cgroup": "3:memory:/docker/abc\n", "sys/fs/cgroup/memory/memory.stat": first },
    "memory/memory.stat",
  ],
])("%s", (_, files, path) => {
  const root = rootWith(files);
  expect(usageFile(root)).toBe(join(root, "sys/fs/cgroup", path));
});

test("where there is none, there is no file", () => {
  expect(usageFile(rootWith({ "proc/self/cgroup": "0::/a\n" }))).toBeUndefined();
  expect(usageFile(rootWith({ "etc/x": "" }))).toBeUndefined();
});

test("what files have in memory is not counted", () => {
  expect([takenIn(second), takenIn(first), takenIn("file 3\n")]).toEqual([1000, 1000, undefined]);
});

test("there is memory left on this machine, and no more than it has", () => {
  const available = createAvailable()();
  expect(available).toBeGreaterThan(0);
  expect(available).toBeLessThan(memoryBytesHere());
  expect(memoryBytesHere()).toBeLessThanOrEqual(totalmem());
});
