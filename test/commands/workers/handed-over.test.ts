/** Workers that leave after a SIGHUP, and what becomes of their calls where owners die, or everything is to end, in that moment. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { bearer } from "../../support/dashboard/session.ts";
import { eventually } from "../../support/eventually.ts";
import { openAccount, type Payer } from "../../support/payer.ts";
import { streamCost as cost, streamUntil, wholeStream } from "../../support/workers/held-stream.ts";
import { type Processes, startWorkers, type WorkersStage } from "../../support/workers/stage.ts";

// Processes take seconds to start, and more on a busy machine.
vi.setConfig({ testTimeout: 240_000, hookTimeout: 120_000 });
const patience = 90_000;

let stage: WorkersStage;
let payer: Payer;
/** Resolves when the upstream may end its answers. */
let mayEnd: PromiseWithResolvers<void>;

const funds = 1_000_000;

beforeEach(async () => {
  stage = await startWorkers({ workers: 2 });
  payer = await openAccount(stage, { recharge: funds });
  mayEnd = Promise.withResolvers();
  stage.upstream.script = streamUntil(mayEnd.promise);
});

afterEach(() => {
  mayEnd.resolve();
  return stage.close();
});

async function beginStream(): Promise<Response> {
  const answer = await fetch(`${stage.rootUrl}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", ...bearer(payer.apiKey) },
    body: JSON.stringify({ model: "m", max_tokens: 8, messages: [{ role: "user", content: "Hello" }], stream: true }),
  });
  expect(answer.status).toBe(200);
  return answer;
}

/** Waits until processes are as `isSo` says. */
async function processesThat(isSo: (now: Processes) => boolean): Promise<Processes> {
  let now = await stage.processes();
  await eventually(async () => {
    now = await stage.processes();
    expect(isSo(now), JSON.stringify(now)).toBe(true);
  }, patience);
  return now;
}

async function expectCharged(calls: number): Promise<void> {
  const { balance, held } = (await stage.storage.accounts.find(payer.accountId)) ?? {};
  expect({ balance, held }).toEqual({ balance: funds - calls * cost, held: 0 });
  expect((await stage.storage.reconcile({ isFull: true })).findings).toEqual([]);
}

/** Replaces all processes, and waits until only those of before are left whose calls run on. */
async function replaceAll(): Promise<Processes> {
  stage.server.child.kill("SIGHUP");
  await eventually(() => expect(stage.server.stderr).toContain("the new workers serve"), patience);
  return processesThat(({ workers }) => workers.length === 3);
}

test("SIGTERM while a worker of before leaves: its calls end, and are charged, though all new workers have ended", async () => {
  const before = await stage.processes();
  const stream = await beginStream();
  const { owner } = await replaceAll();
  const stopping = stage.server.stop("SIGTERM");
  const left = await processesThat(({ workers }) => workers.length === 1);
  expect(before.workers).toContain(left.workers[0]);
  expect(left.owner).toBe(owner);
  mayEnd.resolve();
  expect(await stream.text()).toMatch(wholeStream);
  expect((await stopping).code).toBe(0);
  await expectCharged(1);
});

test("an owner that is killed after that, too, is started again for the worker that is left", async () => {
  const stream = await beginStream();
  const { owner } = await replaceAll();
  const stopping = stage.server.stop("SIGTERM");
  await processesThat(({ workers }) => workers.length === 1);
  const logged = stage.server.stderr.length;
  process.kill(owner, "SIGKILL");
  // A worker that ends waits five seconds for an owner, and keeps what comes later for the next gateway: a busy machine takes longer.
  await eventually(() => expect(stage.server.stderr.slice(logged)).toContain("the gateway starts"), patience);
  expect((await stage.processes()).owner).not.toBe(owner);
  mayEnd.resolve();
  expect(await stream.text()).toMatch(wholeStream);
  expect((await stopping).code).toBe(0);
  await expectCharged(1);
});

test("an owner that was starting again for workers that were handed over meanwhile does not get them", async () => {
  const before = await stage.processes();
  const stream = await beginStream();
  process.kill(before.owner, "SIGKILL");
  // The one that is started in its place stands still until the new processes serve.
  const { owner: late } = await processesThat(({ owner }) => owner !== 0 && owner !== before.owner);
  process.kill(late, "SIGSTOP");
  stage.server.child.kill("SIGHUP");
  await eventually(() => expect(stage.server.stderr).toContain("the processes are replaced"), patience);
  // They go by the new owner only when the late one is there, too.
  for (const pid of before.workers) process.kill(pid, "SIGSTOP");
  // The second new worker is started once the first serves.
  await processesThat(({ workers }) => workers.length === 4);
  const logged = stage.server.stderr.length;
  process.kill(late, "SIGCONT");
  await eventually(() => expect(stage.server.stderr.slice(logged)).toContain("the gateway starts"), patience);
  for (const pid of before.workers) process.kill(pid, "SIGCONT");
  await processesThat(({ workers }) => workers.length === 3);
  mayEnd.resolve();
  expect(await stream.text()).toMatch(wholeStream);
  await processesThat(({ workers }) => workers.length === 2);
  expect((await stage.server.stop("SIGTERM")).code).toBe(0);
  await expectCharged(1);
});
