/**
 * Workers whose owner dies after their program was replaced by one that changes the database: they let go of it, their calls end and are
 * charged by the next owner, and others take their place.
 */
import Sqlite from "better-sqlite3";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { openStorage, type Storage } from "../../../src/storage/storage.ts";
import { bearer } from "../../support/dashboard/session.ts";
import { eventually } from "../../support/eventually.ts";
import { openAccount, type Payer } from "../../support/payer.ts";
import { streamCost as cost, streamUntil, wholeStream } from "../../support/workers/held-stream.ts";
import { startWorkers, type WorkersStage } from "../../support/workers/stage.ts";

// Processes take seconds to start, and more on a busy machine.
vi.setConfig({ testTimeout: 600_000, hookTimeout: 180_000 });
const patience = 180_000;

const funds = 1_000_000;
/** The last migration, which adds an index: without its row, and the index, the database is of the version before. */
const last = "0026-acts-by-actor";

let stage: WorkersStage;
let payer: Payer;
let storage: Storage | undefined;
/** Resolves when the upstream may end its answers. */
let mayEnd: PromiseWithResolvers<void>;

beforeEach(async () => {
  stage = await startWorkers({ workers: 2, settings: { drain_seconds: 600 } });
  payer = await openAccount(stage, { recharge: funds });
  // This process works on the database, too, and would keep the new program from it.
  await stage.storage.close();
  mayEnd = Promise.withResolvers();
  stage.upstream.script = streamUntil(mayEnd.promise);
});

afterEach(async () => {
  mayEnd.resolve();
  await storage?.close();
  await stage.close();
});

async function beginStream(): Promise<Response> {
  return fetch(`${stage.rootUrl}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", connection: "close", ...bearer(payer.apiKey) },
    body: JSON.stringify({ model: "m", max_tokens: 8, messages: [{ role: "user", content: "Hello" }], stream: true }),
  });
}

/** Makes the database one of the version before, and returns how many migrations it had. */
function ageDatabase(): void {
  const sqlite = new Sqlite(stage.databasePath);
  sqlite.exec("DROP INDEX acts_actor");
  const { changes } = sqlite.prepare("DELETE FROM kysely_migration WHERE name = ?").run(last);
  sqlite.close();
  expect(changes).toBe(1);
}

function isBroughtUpToDate(): boolean {
  const sqlite = new Sqlite(stage.databasePath, { readonly: true });
  const found = sqlite.prepare("SELECT 1 FROM kysely_migration WHERE name = ?").get(last);
  sqlite.close();
  return found !== undefined;
}

test("calls that run end and are charged, new ones are served by new workers meanwhile, and the log says why", async () => {
  const before = await stage.processes();
  const running = [await beginStream(), await beginStream(), await beginStream()];
  for (const { status } of running) expect(status).toBe(200);
  ageDatabase();
  process.kill(before.owner, "SIGKILL");
  await eventually(
    () => expect(stage.server.stderr).toContain("replaced by a version that changes the database"),
    patience,
  );
  await eventually(() => expect(isBroughtUpToDate()).toBe(true), patience);
  // Some worker of before has calls yet, and others serve beside it.
  const more: Response[] = [];
  await eventually(async () => {
    const answer = await beginStream();
    if (answer.status === 200) more.push(answer);
    else await answer.text();
    expect(answer.status).toBe(200);
  }, patience);
  expect((await stage.processes()).workers.some((pid) => before.workers.includes(pid))).toBe(true);
  mayEnd.resolve();
  for (const answer of [...running, ...more]) expect(await answer.text()).toMatch(wholeStream);
  await eventually(async () => {
    const { workers } = await stage.processes();
    expect(workers).toHaveLength(2);
    for (const pid of before.workers) expect(workers).not.toContain(pid);
  }, patience);
  expect((await beginStream()).status).toBe(200);
  expect((await stage.server.stop("SIGTERM")).code).toBe(0);
  storage = await openStorage(stage.databasePath);
  const { balance, held } = (await storage.accounts.find(payer.accountId)) ?? {};
  const calls = running.length + more.length + 1;
  expect({ balance, held }).toEqual({ balance: funds - calls * cost, held: 0 });
  expect((await storage.reconcile({ isFull: true })).findings).toEqual([]);
});
