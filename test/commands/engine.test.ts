/** How V8 is configured in a gateway that serves: a real process, as the kernel sees it. */
import { deepStrictEqual, ok } from "node:assert";
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { getPriority, totalmem } from "node:os";
import { join } from "node:path";
import { describe, test } from "vitest";
import { collectWhenIdle } from "../../src/commands/engine/collect-when-idle.ts";
import { executableOptions, flags, semiSpace } from "../../src/commands/engine/options.ts";
import { executableArguments } from "../../src/commands/engine/restart.ts";
import { Running, starter, temporaryFolder, type Variables } from "../support/command.ts";

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
  const gateway = new Running(process.execPath, [starter, "serve"], { PORT: "0", DATA_DIR: folder.path, ...env });
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
  for (const flag of [...flags, semiSpace]) ok(known.includes(`  ${flag.replace(/=.*/, "")} (`), flag);
});

test("the executable begins anew with all options that its operator gave it, and not over the size that they set", () => {
  const small = "--max-semi-space-size=8";
  const args = (...given: string[]) => executableArguments([...executableOptions(), ...given], small);
  deepStrictEqual(args(), [`--node-options=${small}`]);
  deepStrictEqual(args("--max-old-space-size=300", '--title=a "b\\c'), [
    `--node-options=--max-old-space-size=300 "--title=a \\"b\\\\c" ${small}`,
  ]);
  deepStrictEqual(args("--max-semi-space-size=16"), undefined);
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
    ["more room for what is young, where there is memory", {}, ["--max-semi-space-size=96"]],
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

  test("it begins anew with little room where the configuration says so", async () => {
    const folder = await temporaryFolder();
    const file = join(folder.path, "gateway.yaml");
    writeFileSync(file, "memory: small\nembedded_models: true\n");
    await whileServing({ GATEWAY_CONFIG: file }, (pid) => {
      const words = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
      deepStrictEqual(
        words.filter((word) => word.startsWith("--")),
        ["--max-semi-space-size=8"],
      );
    });
    await folder.remove();
  });
});

describe("memory is given back", () => {
  const megabytes = (count: number) => count * 2 ** 20;

  test("once nobody calls, and again only after more was taken", async () => {
    const resident = [100, 100, 110, 150, 100].map(megabytes);
    let collections = 0;
    const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const end = collectWhenIdle({
      isIdle: () => true,
      residentBytes: () => resident.shift() ?? megabytes(100),
      collect: () => (++collections === 1 ? first : second).resolve(),
      everyMs: 1,
    });
    await first.promise;
    await second.promise;
    end();
    // 100 before and after the first, 110 is no reason, 150 is; then 100 for ever.
    deepStrictEqual([collections, resident], [2, []]);
  });

  test("not while a call is under way", async () => {
    let looks = 0;
    const looked = Promise.withResolvers<void>();
    const end = collectWhenIdle({
      isIdle: () => {
        if (++looks === 20) looked.resolve();
        return looks % 3 === 0;
      },
      collect: () => looked.reject(new Error("collected")),
      everyMs: 1,
    });
    await looked.promise;
    end();
  });

  test("by V8 itself, in a process that serves", async () => {
    const script = `
      import { collectWhenIdle } from ${JSON.stringify(join(import.meta.dirname, "../../src/commands/engine/collect-when-idle.ts"))};
      let kept = Array.from({ length: 2e6 }, (_, i) => ({ i }));
      let most = process.memoryUsage.rss();
      setTimeout(() => {}, 60_000);
      kept = undefined;
      const end = collectWhenIdle({ isIdle: () => true, everyMs: 50, residentBytes: () => {
        const rss = process.memoryUsage.rss();
        most = Math.max(most, rss);
        if (rss < most - 50e6) { console.log("given back"); process.exit(); }
        return rss;
      } });`;
    const printed = execFileSync(process.execPath, ["--input-type=module", "-e", script], {
      encoding: "utf8",
      timeout: 30_000,
    });
    deepStrictEqual(printed, "given back\n");
  });
});
