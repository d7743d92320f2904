/** A file's text is followed, whatever becomes of the file meanwhile. */
import { writeFileSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type FollowFileOptions, followFile } from "../../../src/runtime/files/follow-file.ts";
import { eventually } from "../../support/eventually.ts";

let folder: string;
let file: string;
let end = () => {};

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "gateway-test-"));
  file = join(folder, "gateway.yaml");
});
afterEach(async () => {
  end();
  await rm(folder, { recursive: true, force: true });
});

/** quick never relies on the times of a file. */
const quick = { lookMs: 20, stillMs: 10, settleMs: Number.POSITIVE_INFINITY };

/** Follows the file for whoever has read `known` of it, and reads it when it is told to. `seen` are the texts that it was asked about. */
function follow(known: string | undefined, { read, ...more }: Partial<FollowFileOptions> & { read: () => unknown }) {
  const told: unknown[] = [];
  const seen: (string | undefined)[] = [];
  let last: unknown = known;
  end = followFile({
    file,
    isKnown(text) {
      seen.push(text);
      return text === last;
    },
    async onChange() {
      last = await read();
      told.push(last);
    },
    times: quick,
    ...more,
  });
  return { told, seen };
}

/** Resolves when the file was looked at once more. */
const looked = async (seen: readonly unknown[]) => {
  const before = seen.length;
  await eventually(() => expect(seen.length).toBeGreaterThan(before));
};

/** Has the file followed, and reads the text that it was asked about last. */
function followed(known: string | undefined, more: Partial<FollowFileOptions> = {}) {
  const following: ReturnType<typeof follow> = follow(known, { read: () => following.seen.at(-1), ...more });
  return following;
}

test("a change from before it was followed is told", async () => {
  await writeFile(file, "two");
  const { told } = followed("one");
  await eventually(() => expect(told).toEqual(["two"]));
});

test("what is known is not told", async () => {
  await writeFile(file, "one");
  const { told, seen } = followed("one");
  await looked(seen);
  await looked(seen);
  expect(told).toEqual([]);
});

test("a change is told once, however the file has come to hold it", async () => {
  await writeFile(file, "one");
  const { told } = followed("one");
  await writeFile(file, "written in place");
  await eventually(() => expect(told).toEqual(["written in place"]));
  await writeFile(`${file}.new`, "renamed over it");
  await rename(`${file}.new`, file);
  await eventually(() => expect(told).toEqual(["written in place", "renamed over it"]));
  await rm(file);
  await eventually(() => expect(told).toEqual(["written in place", "renamed over it", undefined]));
  await writeFile(file, "there again");
  await eventually(() => expect(told).toEqual(["written in place", "renamed over it", undefined, "there again"]));
});

test("a file is followed by the links of a mounted ConfigMap", async () => {
  for (const version of ["1", "2"]) {
    await mkdir(join(folder, `..${version}`));
    await writeFile(join(folder, `..${version}`, "gateway.yaml"), `version ${version}`);
  }
  await symlink("..1", join(folder, "..data"));
  await symlink(join("..data", "gateway.yaml"), file);
  const { told, seen } = followed("version 1");
  await looked(seen);
  await symlink("..2", join(folder, "..data_tmp"));
  await rename(join(folder, "..data_tmp"), join(folder, "..data"));
  await eventually(() => expect(told).toEqual(["version 2"]));
});

test("a file whose folder comes later is told of when it is there", async () => {
  file = join(folder, "later", "still", "gateway.yaml");
  const { told, seen } = followed(undefined);
  await looked(seen);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, "there");
  await eventually(() => expect(told).toEqual(["there"]));
});

test("a file that has settled is not read again until its times change", async () => {
  await writeFile(file, "one");
  const { told, seen } = followed("one", { times: { ...quick, settleMs: 0 } });
  await looked(seen);
  // Time enough for a few looks; one that read the file would be seen.
  await new Promise((resolve) => setTimeout(resolve, 10 * quick.lookMs));
  expect(seen).toEqual(["one"]);
  await writeFile(file, "two");
  await eventually(() => expect(told).toEqual(["two"]));
});

test("a file that is being written is told of once it stays as it is", async () => {
  await writeFile(file, "");
  const parts = ["ha", "half", "half of it, and the rest"];
  let last: string | undefined = "one";
  const { told } = followed(last, {
    isKnown(text) {
      last = text;
      const next = parts.shift();
      if (next !== undefined) writeFileSync(file, next);
      return told.at(-1) === text;
    },
    onChange: async () => void told.push(last),
  });
  await eventually(() => expect(told).toEqual(["half of it, and the rest"]));
});

test("a change while the one before is being taken is told after it", async () => {
  await writeFile(file, "two");
  const { promise: taken, resolve: take } = Promise.withResolvers<void>();
  let calls = 0;
  const { told, seen } = follow("one", {
    async read() {
      calls++;
      const text = seen.at(-1);
      await taken;
      return text;
    },
  });
  await eventually(() => expect(calls).toBe(1));
  await writeFile(file, "three");
  take();
  await eventually(() => expect(told).toEqual(["two", "three"]));
});

test("nothing is told once it has ended", async () => {
  await writeFile(file, "one");
  const { told, seen } = followed("one");
  await looked(seen);
  end();
  await writeFile(file, "two");
  const others = followed("one");
  await eventually(() => expect(others.told).toEqual(["two"]));
  expect(told).toEqual([]);
});
