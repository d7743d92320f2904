/**
 * Streams of workers that end while their disk is full and the owner of the money is killed: each waits, ends as it would have once there
 * is room, and is charged once. New calls are refused meanwhile, with the time to wait.
 */
import { dirname } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { bearer } from "../../../support/dashboard/session.ts";
import { fillDisk, mayMount } from "../../../support/disk.ts";
import { eventually } from "../../../support/eventually.ts";
import { openAccount, type Payer } from "../../../support/payer.ts";
import { streamCost, streamUntil, wholeStream } from "../../../support/workers/held-stream.ts";
import { startWorkers, type WorkersStage } from "../../../support/workers/stage.ts";

// Processes take seconds to start, and more on a busy machine.
vi.setConfig({ testTimeout: 240_000 });
const patience = 60_000;
/** For longer than a charge is tried that may be given up, in milliseconds. */
const longMs = 12_000;
const count = 40;
const recharge = 1_000_000;

let stage: WorkersStage;
let payer: Payer;
let mayEnd: PromiseWithResolvers<void>;
let makeRoom: () => void;

const chat = { model: "m", max_tokens: 8, messages: [{ role: "user", content: "Hello" }] };

const post = (body: object) =>
  fetch(`${stage.rootUrl}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", ...bearer(payer.apiKey) },
    body: JSON.stringify(body),
  });

/** Resolves to a stream that has begun. Calls are refused, with the time to wait, until the next owner serves. */
async function answered(): Promise<Response> {
  let answer = await post({ ...chat, stream: true });
  await eventually(async () => {
    if (answer.status !== 200) answer = await post({ ...chat, stream: true });
    expect(answer.status).toBe(200);
  }, patience);
  return answer;
}

async function killOwner(): Promise<void> {
  const before = await stage.processes();
  process.kill(before.owner, "SIGKILL");
  await eventually(async () => {
    const { owner, workers } = await stage.processes();
    expect(workers).toEqual(before.workers);
    expect([0, before.owner]).not.toContain(owner);
  }, patience);
}

describe.skipIf(!mayMount())("while the disk is full", () => {
  beforeEach(async () => {
    stage = await startWorkers({ workers: 2, diskSize: "8m" });
    payer = await openAccount(stage, { recharge });
    mayEnd = Promise.withResolvers();
    makeRoom = () => {};
    stage.upstream.script = streamUntil(mayEnd.promise);
  });

  afterEach(async () => {
    makeRoom();
    await stage.close();
  });

  test.each([
    ["before it was full", true],
    ["while it was", false],
  ] as const)("streams wait for room, where their owner was killed %s", async (_, isBefore) => {
    const answers = await Promise.all(Array.from({ length: count }, () => post({ ...chat, stream: true })));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    const fill = () => {
      makeRoom = fillDisk(dirname(stage.databasePath));
    };
    if (isBefore) {
      await killOwner();
      // The next one has decided this, and so keeps the books of the worker.
      answers.push(await answered());
    }
    fill();
    if (!isBefore) await killOwner();
    mayEnd.resolve();
    const ends: string[] = [];
    const ending = answers.map(async (answer) => void ends.push(await answer.text()));
    await delay(longMs);
    for (const end of ends) expect(end).toMatch(wholeStream);
    expect(ends.length).toBeLessThan(answers.length);
    const refused = await post(chat);
    expect([refused.status, await refused.json()]).toMatchObject([503, { error: { code: "service_unavailable" } }]);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    // Another takes the owner's place, and finds no room either.
    await killOwner();
    expect((await post(chat)).status).toBe(503);
    makeRoom();
    await Promise.all(ending);
    for (const end of ends) expect(end).toMatch(wholeStream);
    await answered();
    await stage.server.stop("SIGTERM");
    const { balance, held } = (await stage.storage.accounts.find(payer.accountId)) ?? {};
    expect({ balance, held }).toEqual({ balance: recharge - (answers.length + 1) * streamCost, held: 0 });
    expect((await stage.storage.reconcile({ isFull: true })).findings).toEqual([]);
  });
});
