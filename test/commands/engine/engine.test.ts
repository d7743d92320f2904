/** How V8 is configured in a gateway that serves: a real process, as the kernel sees it. */
import { deepStrictEqual, match, ok } from "node:assert";
import { execFileSync, spawnSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { getPriority, totalmem } from "node:os";
import { join } from "node:path";
import { describe, test } from "vitest";
import { collectWhenIdle } from "../../../src/commands/engine/collect-when-idle.ts";
import { executableOptions, flags, semiSpace } from "../../../src/commands/engine/options.ts";
import { executableArguments } from "../../../src/commands/engine/restart.ts";
import { newId } from "../../../src/runtime/ids.ts";
import { issueKey } from "../../../src/services/keys/issue-key.ts";
import { openStorage } from "../../../src/storage/storage.ts";
import { Running, starter, startServer, temporaryFolder, type Variables } from "../../support/command.ts";
import { eventually } from "../../support/eventually.ts";

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
    [
      "more room for what is young, where there is memory",
      {},
      ["--min-semi-space-size=32", "--max-semi-space-size=96"],
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

  test("it begins anew with little room where the configuration says so", async () => {
    const folder = await temporaryFolder();
    const file = join(folder.path, "gateway.yaml");
    writeFileSync(file, "memory: small\nembedded_models: true\n");
    await whileServing({ GATEWAY_CONFIG: file }, (pid) => {
      const words = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
      deepStrictEqual(
        words.filter((word) => word.startsWith("--")),
        ["--min-semi-space-size=32", "--max-semi-space-size=8"],
      );
    });
    await folder.remove();
  });
});

/** Whether freed memory stays with this process's C library until it is asked for. */
const isGlibc = process.platform === "linux" && !readFileSync("/proc/self/maps", "latin1").includes("/ld-musl-");

describe("memory is given back", () => {
  const megabytes = (count: number) => count * 2 ** 20;

  /**
   * Looks every millisecond at a process of 100 MB without work, of which a collection frees ten and giving back leaves 60. Between looks it
   * grows, to `most` megabytes. Returns the first steps, each with the megabytes that it found.
   */
  async function stepsOf(
    isIdle: (steps: readonly string[]) => boolean,
    most: number,
    count: number,
  ): Promise<string[]> {
    const steps: string[] = [];
    const done = Promise.withResolvers<void>();
    let resident = 100;
    const step = (name: string, left: () => number) => () => {
      steps.push(`${name} at ${resident}`);
      resident = left();
      if (steps.length === count) done.resolve();
    };
    const end = collectWhenIdle({
      isIdle: () => {
        resident = Math.min(resident + 1, most);
        return isIdle(steps);
      },
      residentBytes: () => megabytes(resident),
      collect: step("collect", () => resident - 10),
      trim: step("trim", () => 60),
      workShare: () => 0,
      everyMs: 1,
    });
    await done.promise;
    end();
    return steps;
  }

  test("once nobody calls, and again only after more was taken", async () => {
    const [first, second, third] = await stepsOf(() => true, 120, 4);
    match(first as string, /^collect/);
    match(second as string, /^trim/);
    const [, grown] = /^collect at (\d+)$/.exec(third as string) ?? [];
    ok(Number(grown) >= 60 + 32);
  });

  test("while calls go on, without a pause for garbage, once there is much", async () => {
    const [first, second] = await stepsOf(() => false, 300, 2);
    match(first as string, /^trim/);
    const [, grown] = /^trim at (\d+)$/.exec(second as string) ?? [];
    ok(Number(grown) >= 60 + 192);
  });

  test("by a collection after that, once nobody calls, though no more was taken", async () => {
    const steps = await stepsOf(({ length }) => length > 0, 300, 3);
    deepStrictEqual(
      steps.map((step) => step.replace(/ at .*/, "")),
      ["trim", "collect", "trim"],
    );
    match(steps[1] as string, /^collect at (6|7)\d$/);
  });

  test("by another collection where calls have come since the last, and before its memory was given back", async () => {
    const steps: string[] = [];
    const done = Promise.withResolvers<void>();
    let resident = 500;
    /** busyAnswers is 2 after the first collection: workShare is called once for the pause itself, and once by the next look. */
    let busyAnswers = 0;
    const end = collectWhenIdle({
      isIdle: () => true,
      residentBytes: () => megabytes(resident),
      workShare: () => (busyAnswers-- > 0 ? 1 : 0),
      collect() {
        steps.push(`collect at ${resident}`);
        if (steps.length > 1) return;
        resident = 900;
        busyAnswers = 2;
      },
      trim() {
        steps.push(`trim at ${resident}`);
        done.resolve();
      },
      everyMs: 1,
    });
    await done.promise;
    end();
    deepStrictEqual(steps, ["collect at 500", "collect at 900", "trim at 900"]);
  });

  test("not by a collection while a call is under way", async () => {
    let looks = 0;
    const looked = Promise.withResolvers<void>();
    const end = collectWhenIdle({
      isIdle: () => {
        if (++looks === 20) looked.resolve();
        return looks % 3 === 0;
      },
      collect: () => looked.reject(new Error("collected")),
      residentBytes: () => megabytes(100),
      workShare: () => 0,
      everyMs: 1,
    });
    await looked.promise;
    end();
  });

  test.skipIf(!isGlibc)("by the C library, between what lives, without a warning", async () => {
    const script = `
      import { trimHeap } from ${JSON.stringify(join(import.meta.dirname, "../../../src/runtime/memory/c-heap.ts"))};
      let kept = Array.from({ length: 30_000 }, () => Buffer.allocUnsafeSlow(8_000).fill(1));
      kept = kept.filter((_, i) => i % 50 === 0);
      const rss = () => process.memoryUsage.rss();
      const most = rss();
      for (let i = 0; rss() > most - 150e6 && i < 500; i++) {
        gc();
        await new Promise((resolve) => setTimeout(resolve, 20));
        if (process.argv[1] === "trims") trimHeap();
      }
      console.log(rss() > most - 150e6 ? "kept" : "given back", kept.length);`;
    const outcome = (how: string, count: string) => {
      const source = script.replace("i < 500", `i < ${count}`);
      const args = ["--expose-gc", "--input-type=module", "-e", source, how];
      return spawnSync(process.execPath, args, { encoding: "utf8", timeout: 60_000 });
    };
    const [trimmed, other] = [outcome("trims", "500"), outcome("leaves", "20")];
    deepStrictEqual([trimmed.stdout, trimmed.stderr], ["given back 600\n", ""]);
    deepStrictEqual(other.stdout, "kept 600\n");
  });

  /** Makes an account with a key in a folder's database. */
  async function makeKey(folder: string): Promise<string> {
    const storage = await openStorage(join(folder, "gateway.db"));
    const now = Date.now();
    const accountId = newId("acc", now);
    await storage.accounts.insert({ id: accountId, name: "large", created_at: now });
    const { secret } = await issueKey(storage.keys, { accountId, name: "large", admin: false, now });
    await storage.close();
    return secret;
  }

  test.skipIf(!isGlibc)("by a gateway that was sent bodies of 16 MB, which then nobody calls", async () => {
    const folder = await temporaryFolder();
    const config = join(folder.path, "gateway.yaml");
    writeFileSync(
      config,
      'embedded_models: true\ntiers: [{ name: Free, recharge: "0", requests_per_minute: 1000000 }]\n',
    );
    const headers = { authorization: `Bearer ${await makeKey(folder.path)}`, "content-type": "application/json" };
    const { server, rootUrl } = await startServer([], { DATA_DIR: folder.path, GATEWAY_CONFIG: config });
    const memory = (name: "VmRSS" | "VmHWM") => {
      const status = readFileSync(`/proc/${server.child.pid}/status`, "latin1");
      return Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(status)?.[1]) * 1024;
    };
    const resident = () => memory("VmRSS");
    const begin = '{"model":"embedded-chat","max_tokens":2,"messages":[{"role":"user","content":"Hi"}],"x":';
    const bodies = ["[", '{"a":', '[1],[2,"text"],'].map((unit) => Buffer.alloc(16_000_000, unit));
    for (const body of bodies) body.write(begin);
    const send = async (body: Buffer) => {
      const answer = await fetch(`${rootUrl}/v1/chat/completions`, {
        method: "POST",
        headers,
        body: Uint8Array.from(body),
      });
      await answer.arrayBuffer();
      return answer.status;
    };
    try {
      const before = resident();
      const statuses = new Set<number>();
      for (let turn = 0; turn < 4; turn++) {
        const sent = [...bodies, ...bodies].map(send);
        for (const status of await Promise.all(sent)) statuses.add(status);
      }
      deepStrictEqual([...statuses], [400]);
      // Some of it may have been given back already.
      const most = memory("VmHWM");
      ok(most > before + megabytes(100), `${before}, and then ${most}`);
      await eventually(() => ok(resident() < before + megabytes(50), `${most}, and then ${resident()}`));
    } finally {
      await server.stop();
      await folder.remove();
    }
  });

  test("by V8 itself, in a process that serves", async () => {
    const script = `
      import { collectWhenIdle } from ${JSON.stringify(join(import.meta.dirname, "../../../src/commands/engine/collect-when-idle.ts"))};
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
