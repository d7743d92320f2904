/**
 * Workers that die, an owner that dies, and all of them replaced while clients call: nobody is told what is not charged, nor charged for
 * what was not told, and nobody who follows the answers' advice is refused.
 */
import { readFile, writeFile } from "node:fs/promises";
import { Agent, type IncomingMessage, request } from "node:http";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Outcome } from "../../../gen/modelgateway/v1/usage_pb.ts";
import { type ClientCall, startLoad } from "../../crash/load.ts";
import { type Stage, setStage } from "../../crash/stage.ts";
import { mostOutput } from "../../crash/upstream.ts";
import { heldFaults, reconcileFaults, verify } from "../../crash/verify.ts";
import type { Running } from "../../support/command.ts";
import { eventually } from "../../support/eventually.ts";
import { isAlive, processesOf } from "../../support/workers/stage.ts";

// Processes by the dozen take seconds to start, and more on a busy machine.
vi.setConfig({ testTimeout: 300_000 });
const patience = 120_000;
/** What callers of either family get while the database's owner is away, or a machine takes seconds for what takes a moment. */
const busy = new Set<number | undefined>([503, 529]);
const notRefused = ({ status }: ClientCall) => !busy.has(status);

let stage: Stage;
let gateway: Running;
let rootUrl: string;

const processes = () => processesOf(gateway.child.pid as number);
const faultsAfterwards = async () => [...heldFaults(stage.engine), ...(await reconcileFaults(stage))];

beforeEach(async () => {
  stage = await setStage();
  ({ gateway, rootUrl } = await stage.start(undefined, ["--workers", "3"]));
});

afterEach(async () => {
  await gateway.stop("SIGTERM");
  await stage.close();
});

function load(clients = 24) {
  let number = 1000;
  return startLoad({ rootUrl, apiKeys: stage.apiKeys, clients, nextNumber: () => number++ });
}

describe("of three workers", () => {
  test("one that is killed, again and again, loses nothing that was told, and is replaced at once", async () => {
    const calling = load();
    const killed = new Set<number>();
    for (let kill = 1; kill <= 4; kill++) {
      await calling.answers(40 * kill);
      const { workers } = await processes();
      const one = workers.find((pid) => !killed.has(pid)) as number;
      killed.add(one);
      process.kill(one, "SIGKILL");
      await eventually(async () => {
        const now = (await processes()).workers;
        expect(now).not.toContain(one);
        expect(now).toHaveLength(3);
      }, patience);
    }
    await calling.answers(240);
    expect((await gateway.stop("SIGTERM")).code).toBe(0);
    await calling.ended;
    const { faults, lost } = verify(stage, calling.calls.filter(notRefused));
    expect(faults).toEqual([]);
    // What they held is free at once, without a wait for its deadline.
    expect(await faultsAfterwards()).toEqual([]);
    expect(lost).toBeGreaterThan(0);
  });

  test("all live on where the owner of the money is killed, ten times: no call is cut off, and all that was told is charged once", async () => {
    const calling = load();
    const { workers } = await processes();
    let killed = 0;
    for (let kill = 1; kill <= 10; kill++) {
      const { owner } = await processes();
      const answered = wholeOf(calling.calls);
      await calling.answers(answered + 30);
      process.kill(owner, "SIGKILL");
      killed = owner;
      await eventually(async () => {
        const now = await processes();
        expect(now.owner).not.toBe(killed);
        expect(now.owner).toBeGreaterThan(0);
        expect(now.workers).toEqual(workers);
      }, patience);
    }
    await calling.answers(wholeOf(calling.calls) + 60);
    const during = [...calling.calls];
    expect((await gateway.stop("SIGTERM")).code).toBe(0);
    await calling.ended;
    // Each was answered to its end, or refused before it began.
    expect(during.filter(({ end, status }) => end === "broken" && !busy.has(status))).toEqual([]);
    const { faults, lost } = verify(stage, calling.calls.filter(notRefused));
    // Nothing is left for a deadline, and no call is lost.
    expect([...faults, ...(await faultsAfterwards())]).toEqual([]);
    expect(lost).toBe(0);
  });
});

const wholeOf = (calls: readonly ClientCall[]) => calls.filter(({ end }) => end === "whole").length;

describe("SIGHUP", () => {
  /** Calls over a kept connection until it is asked to stop. Returns the statuses and errors that it met. */
  async function callOn(isOver: () => boolean, number: number): Promise<(number | string)[]> {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const met: (number | string)[] = [];
    while (!isOver()) met.push(await callOnce(agent, number).catch((error: NodeJS.ErrnoException) => error.code ?? ""));
    agent.destroy();
    return met;
  }

  function callOnce(agent: Agent, number: number): Promise<number> {
    const headers = { authorization: `Bearer ${stage.apiKeys[1]}`, "content-type": "application/json" };
    const messages = [{ role: "user", content: `This is call ${number}.` }];
    return new Promise((resolve, reject) => {
      const sent = request(`${rootUrl}/v1/chat/completions`, { method: "POST", agent, headers });
      sent.once("error", (error: NodeJS.ErrnoException) => {
        // A busy machine lets a connection be idle for long enough to be closed. What nobody has read is sent anew, as Node's documentation
        // has it; each that was read has a row, below.
        const isUnread = sent.reusedSocket && error.code === "ECONNRESET";
        if (isUnread) callOnce(agent, number).then(resolve, reject);
        else reject(error);
      });
      sent.once("response", (res: IncomingMessage) => {
        res.once("error", reject).once("end", () => resolve(res.statusCode ?? 0));
        res.resume();
      });
      sent.end(JSON.stringify({ model: "over-chat", max_tokens: mostOutput, messages, stream: number % 2 === 0 }));
    });
  }

  test("replaces all processes one by one, by the configuration as it is now, without a refused call", async () => {
    let isOver = false;
    const calling = Array.from({ length: 24 }, (_, i) => callOn(() => isOver, i));
    const before = await processes();
    const written = await readFile(stage.config, "utf8");
    await writeFile(stage.config, `${written}drain_seconds: 29\nlog_level: info\n`);
    gateway.child.kill("SIGHUP");
    await eventually(async () => {
      const now = await processes();
      expect(now.owner).not.toBe(before.owner);
      expect(now.workers).toHaveLength(3);
      for (const pid of before.workers) expect(isAlive(pid)).toBe(false);
      expect(isAlive(before.owner)).toBe(false);
    }, patience);
    isOver = true;
    const met = (await Promise.all(calling)).flat();
    expect([...new Set(met)]).toEqual([200]);
    expect(met.length).toBeGreaterThan(24);
    expect((await gateway.stop("SIGTERM")).code).toBe(0);
    const rows = stage.engine.prepare<[], { outcome: number; count: number }>(
      "SELECT outcome, count(*) AS count FROM requests GROUP BY 1",
    );
    expect(rows.all()).toEqual([{ outcome: Outcome.ANSWERED, count: met.length }]);
    expect(await faultsAfterwards()).toEqual([]);
  });

  test("keeps what serves where the new configuration has its data elsewhere, and says so", async () => {
    const before = await processes();
    const written = await readFile(stage.config, "utf8");
    await writeFile(stage.config, `${written}database:\n  url: postgres://127.0.0.1:1/other\n`);
    gateway.child.kill("SIGHUP");
    await eventually(() => expect(gateway.stderr).toContain("has its data elsewhere"), patience);
    expect(await processes()).toEqual(before);
  });

  test("keeps what serves where the new configuration is wrong, and says so", async () => {
    const before = await processes();
    await writeFile(stage.config, "upstreams: nonsense\n");
    gateway.child.kill("SIGHUP");
    await eventually(() => expect(gateway.stderr).toContain("the new configuration is not taken"), patience);
    expect(await processes()).toEqual(before);
    expect((await fetch(`${rootUrl}/readyz`)).status).toBe(200);
  });
});

test("a worker that is asked to end by itself is replaced", async () => {
  const [first = 0] = (await processes()).workers;
  process.kill(first, "SIGTERM");
  await eventually(async () => {
    const { workers } = await processes();
    expect(workers).not.toContain(first);
    expect(workers).toHaveLength(3);
  }, patience);
  await eventually(async () => expect((await fetch(`${rootUrl}/readyz`)).status).toBe(200), patience);
});

test("SIGTERM ends all of them, and frees the port", async () => {
  const { owner, workers } = await processes();
  expect((await gateway.stop("SIGTERM")).code).toBe(0);
  for (const pid of [owner, ...workers]) expect(isAlive(pid)).toBe(false);
  await expect(fetch(rootUrl)).rejects.toThrow();
});
