/** Four workers on one port are one gateway to its callers: one credit, one rate, one queue, one set of keys. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { newId } from "../../../src/runtime/ids.ts";
import { Running, starter, temporaryFolder } from "../../support/command.ts";
import { askRpc, bearer } from "../../support/dashboard/session.ts";
import { environment } from "../../support/environment.ts";
import { eventually } from "../../support/eventually.ts";
import { openAccount, type Payer } from "../../support/payer.ts";
import type { ScriptedExchange } from "../../support/scripted-upstream.ts";
import { wholeAnswer } from "../../support/upstreams/two-upstreams.ts";
import { operatorKey, places, startWorkers, type WorkersStage } from "../../support/workers/stage.ts";

const workers = 4;
const perMinute = 30;
/** momentMs is how long calls run on once enough of them run, in milliseconds. */
const momentMs = 20;
const { usage: used } = wholeAnswer;
const answerOf = (usage: object) => ({ ...wholeAnswer, usage });

let stage: WorkersStage;

/** Makes a call over a connection of its own, which the system gives to any of the workers. */
async function chat({ apiKey }: Pick<Payer, "apiKey">, model = "m"): Promise<Response> {
  const messages = [{ role: "user", content: "Hello" }];
  return fetch(`${stage.rootUrl}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", connection: "close", ...bearer(apiKey) },
    body: JSON.stringify({ model, max_tokens: 3, messages }),
  });
}

async function statusOf(answer: Promise<Response>): Promise<number> {
  const { status, text } = await answer.then(async (one) => ({ status: one.status, text: await one.text() }));
  return text === "" ? 0 : status;
}

interface Made {
  readonly key: { readonly id: string; readonly secret?: string };
  readonly secret?: string;
}

const many = <T>(count: number, one: (i: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, i) => one(i)));

/**
 * An upstream that holds its answers until enough calls run, as `isEnough` says of how many run and how many have begun: then all are
 * answered after a moment, in which one call too many would come.
 */
function createHolding(isEnough: (running: number, begun: number) => boolean) {
  let [begun, most] = [0, 0];
  const held: (() => void)[] = [];
  function look(): void {
    if (held.length === 0 || !isEnough(held.length, begun)) return;
    setTimeout(() => {
      for (const answer of held.splice(0)) answer();
    }, momentMs);
  }
  return {
    look,
    most: () => most,
    script(exchange: ScriptedExchange): void {
      begun++;
      held.push(() => exchange.json(200, answerOf(used)));
      most = Math.max(most, held.length);
      look();
    },
  };
}

/** What an account has once nothing is under way and no worker has a lease of it. */
async function settled({ accountId }: Payer) {
  const headers = bearer(operatorKey);
  await askRpc(
    stage,
    "OperatorService.RecordEntry",
    { account: accountId, kind: "ENTRY_KIND_REFUND", amount: "999999999" },
    headers,
  );
  const { balance = 0, held = 0 } = (await stage.storage.accounts.find(accountId)) ?? {};
  return { balance, held };
}

describe("four workers", () => {
  beforeAll(async () => {
    stage = await startWorkers({ workers });
    await stage.storage.accounts.insert({ id: newId("acc"), name: "first", created_at: 1 });
  });

  afterAll(() => stage.close());

  beforeEach(() => {
    stage.upstream.script = (exchange) => exchange.json(200, answerOf(used));
  });

  test("all serve, and the log of the start says over what", async () => {
    const started = stage.server.stderr.split("\n").find((line) => line.includes("the gateway starts")) ?? "{}";
    expect(JSON.parse(started)).toMatchObject({ database: "sqlite", rates: "memory", workers });
    const payer = await openAccount(stage);
    const served = () =>
      stage.server.stderr
        .split("\n")
        .filter((line) => line.includes(`"account_id":"${payer.accountId}"`))
        .map((line) => (JSON.parse(line) as { worker: number }).worker);
    // Which of those that wait for a connection gets it is the system's choice.
    await eventually(async () => {
      await many(64, async () => expect(await statusOf(chat(payer))).toBe(200));
      expect(new Set(served()).size).toBe(workers);
    });
  });

  test("credit for exactly 40 calls answers exactly 40 of 120 at once, and all sums agree", async () => {
    const { each, whole } = await wholeCost();
    stage.upstream.script = (exchange) => exchange.json(200, answerOf(whole));
    const payer = await openAccount(stage, { recharge: 40 * each });
    const told = await many(120, () => statusOf(chat(payer)));
    expect([...new Set(told)].sort()).toEqual([200, 402]);
    expect(told.filter((status) => status === 200)).toHaveLength(40);
    expect(await settled(payer)).toEqual({ balance: 0, held: 0 });
    expect((await stage.storage.reconcile({ isFull: true })).findings).toEqual([]);
  });

  test("credit that is ample, and leased by all of them, answers every call that it covers until it is gone", async () => {
    const { each, whole } = await wholeCost();
    stage.upstream.script = (exchange) => exchange.json(200, answerOf(whole));
    const covered = 1500;
    const payer = await openAccount(stage, { recharge: covered * each });
    let [answered, refused] = [0, 0];
    await many(24, async () => {
      for (let status = 200; status === 200; ) {
        status = await statusOf(chat(payer));
        if (status === 200) answered++;
        else expect(status).toBe(402);
      }
      refused++;
    });
    expect({ answered, refused }).toEqual({ answered: covered, refused: 24 });
    expect(await settled(payer)).toEqual({ balance: 0, held: 0 });
    expect((await stage.storage.reconcile({ isFull: true })).findings).toEqual([]);
  });

  test("a limit of an upstream's calls holds for all of them together", async () => {
    const payer = await openAccount(stage);
    const calls = 20 * places;
    const upstream = createHolding((running, begun) => running === places || begun === calls);
    stage.upstream.script = upstream.script;
    const told = await many(calls, () => statusOf(chat(payer, "narrow")));
    expect(told.every((status) => status === 200)).toBe(true);
    expect(upstream.most()).toBe(places);
  });

  test("a key has never more calls running than it may, of all of them together, and its rate once", async () => {
    const payer = await openAccount(stage, { recharge: 300_000_000 });
    await stage.storage.keys.update(payer.accountId, payer.keyId, { max_concurrent: 3 });
    const calls = 40;
    let ended = 0;
    // All others are refused while three run, however long that takes.
    const upstream = createHolding((running) => running + ended === calls);
    stage.upstream.script = upstream.script;
    const count = (told: readonly number[], status: number) => told.filter((one) => one === status).length;
    const running = await many(calls, async () => {
      const status = await statusOf(chat(payer));
      ended++;
      upstream.look();
      return status;
    });
    expect({ answered: count(running, 200), refused: count(running, 429) }).toEqual({ answered: 3, refused: 37 });
    expect(upstream.most()).toBe(3);
    stage.upstream.script = (exchange) => exchange.json(200, answerOf(used));
    await stage.storage.keys.update(payer.accountId, payer.keyId, { max_concurrent: null, requests_per_minute: 10 });
    const begunAt = performance.now();
    const toldLimit = async () => {
      const headers = { connection: "close", ...bearer(payer.apiKey) };
      return (await fetch(`${stage.rootUrl}/v1/models`, { headers })).headers.get("x-ratelimit-limit-requests");
    };
    // Each of the workers learns of it by itself: so many connections reach all of them.
    await eventually(async () => expect(new Set(await many(calls, toldLimit))).toEqual(new Set(["10"])));
    const told = await many(calls, () => statusOf(chat(payer)));
    const letIn = ((performance.now() - begunAt) / 60_000) * 10;
    expect(count(told, 200)).toBeLessThanOrEqual(10 + Math.ceil(letIn));
    expect(count(told, 200) + count(told, 429)).toBe(calls);
  });

  test("a key that is revoked over one is refused by all from then on", async () => {
    const payer = await openAccount(stage, { admin: true });
    const made = await askRpc(stage, "KeyService.CreateKey", { name: "new" }, bearer(payer.apiKey));
    const { key, secret = key.secret ?? "" } = made.json as unknown as Made;
    await many(32, async () => expect(await statusOf(chat({ apiKey: secret }))).toBe(200));
    expect((await askRpc(stage, "KeyService.DeleteKey", { id: key.id }, bearer(payer.apiKey))).status).toBe(200);
    // No more than one address may fail, of whose failures each worker has a share.
    await many(32, async () => expect(await statusOf(chat({ apiKey: secret }))).toBe(401));
    await many(16, async () => expect(await statusOf(chat(payer))).toBe(200));
  });

  test("what they hold without need is refunded", async () => {
    const payer = await openAccount(stage, { recharge: 1_000_000 });
    const count = 40;
    await many(count, async () => expect(await statusOf(chat(payer))).toBe(200));
    const amount = String(1_000_000 - count * 15);
    const refund = { account: payer.accountId, kind: "ENTRY_KIND_REFUND", amount };
    const told = await askRpc(stage, "OperatorService.RecordEntry", refund, bearer(operatorKey));
    expect(told.status, JSON.stringify(told.json)).toBe(200);
    expect(await stage.storage.accounts.find(payer.accountId)).toMatchObject({ balance: 0, held: 0 });
    expect(await statusOf(chat(payer))).toBe(402);
  });

  test("a first limit of a key is refused where its calls that run at any of them hold more", async () => {
    const payer = await openAccount(stage, { admin: true });
    expect(await statusOf(chat(payer))).toBe(200);
    for (let i = 0; i < 8; i++) {
      const mayEnd = Promise.withResolvers<void>();
      const begun = Promise.withResolvers<void>();
      stage.upstream.script = async (exchange) => {
        begun.resolve();
        await mayEnd.promise;
        exchange.json(200, answerOf(used));
      };
      const calling = statusOf(chat(payer));
      await begun.promise;
      const change = { id: payer.keyId, creditLimit: { amount: String(15 * (i + 1)) } };
      const told = await askRpc(stage, "KeyService.UpdateKey", change, bearer(payer.apiKey));
      expect(told.status, JSON.stringify(told.json)).toBe(400);
      mayEnd.resolve();
      expect(await calling).toBe(200);
    }
  });

  test("one scrape tells of all of them", async () => {
    const before = await metrics();
    const payer = await openAccount(stage);
    await many(50, async () => expect(await statusOf(chat(payer))).toBe(200));
    const calls = "model_gateway_requests_total";
    const sum = (text: string) =>
      text
        .split("\n")
        .filter((line) => line.startsWith(calls) && line.includes('"m"'))
        .reduce((total, line) => total + Number(line.split(" ").at(-1)), 0);
    let after = "";
    // A worker that is late with its own keeps nobody from reading those of the others.
    await eventually(async () => {
      after = await metrics();
      expect(sum(after) - sum(before)).toBe(50);
    });
    expect(after).toContain(`model_gateway_workers ${workers}\n`);
  });

  /** Finds what one call holds, for the answers to cost just that. */
  async function wholeCost() {
    const payer = await openAccount(stage, { recharge: 1_000 });
    const held = Promise.withResolvers<number>();
    stage.upstream.script = async (exchange) => {
      held.resolve((await stage.storage.accounts.find(payer.accountId))?.held ?? 0);
      exchange.json(200, answerOf(used));
    };
    expect(await statusOf(chat(payer))).toBe(200);
    const each = await held.promise;
    expect(each).toBeGreaterThan(15);
    const prompt = each - 2 * 3;
    return { each, whole: { prompt_tokens: prompt, completion_tokens: 3, total_tokens: prompt + 3 } };
  }

  const metrics = async () => (await fetch(stage.metricsUrl)).text();
});

describe("two workers over one rate", () => {
  test(`admit ${perMinute} calls a minute together`, async () => {
    stage = await startWorkers({
      workers: 2,
      settings: { tiers: [{ name: "All", recharge: "0", requests_per_minute: perMinute }] },
    });
    try {
      stage.upstream.script = (exchange) => exchange.json(200, answerOf(used));
      const payer = await openAccount(stage);
      const begunAt = performance.now();
      const told = await many(3 * perMinute, () => statusOf(chat(payer)));
      const letIn = ((performance.now() - begunAt) / 60_000) * perMinute;
      const admitted = told.filter((status) => status === 200).length;
      expect(told.every((status) => status === 200 || status === 429)).toBe(true);
      expect(admitted).toBeGreaterThanOrEqual(perMinute);
      expect(admitted).toBeLessThanOrEqual(perMinute + Math.ceil(letIn));
    } finally {
      await stage.close();
    }
  });
});

test("one that is killed before anybody serves is started again, and it is said by what it ended", async () => {
  const folder = await temporaryFolder();
  const server = new Running(process.execPath, [starter, "serve", "--workers", "2"], {
    ...{ PORT: "0", DATA_DIR: folder.path, METRICS_PORT: "off", ...environment },
  });
  /** Returns the newest process of a command, of this gateway. */
  const found = async (command: "owner" | "worker") => {
    const { stdout } = await promisify(execFile)("ps", ["-A", "-o", "pid=,ppid=,args="]);
    const rows = stdout.split("\n").map((line) => line.trim().split(/\s+/));
    const childrenOf = (parents: readonly number[]) =>
      rows.flatMap(([pid, of, ...args]) =>
        parents.includes(Number(of)) ? [{ pid: Number(pid), isMeant: args.at(-1) === command }] : [],
      );
    const below = childrenOf([server.child.pid as number]);
    return [...below, ...childrenOf(below.map(({ pid }) => pid))].find(({ isMeant }) => isMeant)?.pid;
  };
  try {
    for (const command of ["owner", "worker"] as const) {
      let pid: number | undefined;
      await eventually(async () => {
        pid = await found(command);
        expect(pid).toBeGreaterThan(0);
      }, 60_000);
      expect(server.stdout).not.toContain("serves at");
      process.kill(pid as number, "SIGKILL");
    }
    const [, rootUrl = ""] = await server.shows(/serves at (\S+)/);
    await eventually(async () => expect((await fetch(`${rootUrl}/readyz`)).status).toBe(200), 60_000);
    expect(server.stderr).toMatch(
      /"signal":"SIGKILL".*the process that owns the database has ended, and is started again/,
    );
    expect(server.stderr).toMatch(/"signal":"SIGKILL".*a worker has ended, and is replaced/);
    expect((await server.stop("SIGTERM")).code).toBe(0);
  } finally {
    await server.stop();
    await folder.remove();
  }
});
