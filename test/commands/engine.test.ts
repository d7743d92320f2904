/** How V8 is configured in a gateway that serves: a real process, as the kernel sees it. */
import { deepStrictEqual, ok } from "node:assert";
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { getPriority, totalmem } from "node:os";
import { describe, test } from "vitest";
import { flags } from "../../src/package/engine-options.ts";
import { bin, Running, temporaryFolder, type Variables } from "../support/command.ts";

interface Thread {
  readonly name: string;
  readonly nice: number;
}

function threadsOf(pid: number): Thread[] {
  const folder = `/proc/${pid}/task`;
  return readdirSync(folder).map((thread) => {
    // proc_pid_stat(5): the second field, in brackets, is the name, and the nineteenth how nice it is.
    const [, name = "", rest = ""] = /\((.*)\) (.*)/s.exec(readFileSync(`${folder}/${thread}/stat`, "utf8")) ?? [];
    return { name, nice: Number(rest.split(" ")[16]) };
  });
}

/** whileServing starts a gateway, passes its process id to `look`, and stops it. */
async function whileServing(env: Variables, look: (pid: number) => void): Promise<void> {
  const folder = await temporaryFolder();
  const gateway = new Running(process.execPath, [bin, "serve"], { PORT: "0", DATA_DIR: folder.path, ...env });
  try {
    await gateway.shows(/serves at (\S+)/);
    look(gateway.child.pid as number);
  } finally {
    await gateway.stop();
    await folder.remove();
  }
}

test("what it is told it understands: another version may not", () => {
  const known = execFileSync(process.execPath, ["--v8-options"], { encoding: "utf8" });
  const young = ["--min-semi-space-size", "--max-semi-space-size"];
  for (const flag of [...flags, ...young]) ok(known.includes(`  ${flag.replace(/=.*/, "")} (`), flag);
});

describe.skipIf(process.platform !== "linux")("on Linux", () => {
  test("the threads that collect and compile are behind the one that answers, and no other is", async () => {
    await whileServing({}, (pid) => {
      const threads = threadsOf(pid);
      const [workers, others] = [true, false].map((is) => threads.filter(({ name }) => /V8Worker/.test(name) === is));
      ok(workers && workers.length > 0 && others && others.length > 0);
      deepStrictEqual(new Set(workers.map(({ nice }) => nice)), new Set([getPriority() + 10]));
      deepStrictEqual(new Set(others.map(({ nice }) => nice)), new Set([getPriority()]));
    });
  });

  const isRoomy = Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY) >= 4 * 2 ** 30;
  test.skipIf(!isRoomy).each([
    [
      "more room for what is young, where there is memory",
      {},
      ["--min-semi-space-size=96", "--max-semi-space-size=96"],
    ],
    ["none where an operator has said how much", { NODE_OPTIONS: "--max-semi-space-size=16" }, []],
  ])("it begins with %s", async (_, env, expected) => {
    await whileServing(env, (pid) => {
      const words = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
      deepStrictEqual(
        words.filter((word) => word.startsWith("--")),
        expected,
      );
    });
  });
});
