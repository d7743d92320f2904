/**
 * A gateway on SQLite that is killed: by its lock it is known to have ended, so nobody waits for the deadlines of what it had leased and
 * held, be it the gateway that is started next, or another one on the same file.
 */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Outcome } from "../../gen/modelgateway/v1/usage_pb.ts";
import type { Engine } from "../../src/storage/engines/engine.ts";
import { openDatabase } from "../../src/storage/engines/sqlite/database.ts";
import { openStorage, type Storage } from "../../src/storage/storage.ts";
import { Running, starter, temporaryFolder } from "../support/command.ts";
import { askRpc, bearer } from "../support/dashboard/session.ts";
import { eventually } from "../support/eventually.ts";
import { openAccount, type Payer } from "../support/payer.ts";
import { type ScriptedUpstream, startScriptedUpstream } from "../support/scripted-upstream.ts";
import { answerAsOpenAi } from "../support/vendors.ts";
import { streamUntil } from "../support/workers/held-stream.ts";
import { processesOf } from "../support/workers/stage.ts";

interface Started {
  readonly server: Running;
  readonly rootUrl: string;
}

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let upstream: ScriptedUpstream;
let storage: Storage;
let engine: Engine;
let payer: Payer;
let closeEngine: () => Promise<void>;
const servers: Running[] = [];

beforeEach(async () => {
  [folder, upstream] = await Promise.all([temporaryFolder(), startScriptedUpstream()]);
  const model = { id: "m", family: "m", kind: "chat", price: { input: "1", output: "2" }, max_output_tokens: 64 };
  const targets = [{ upstream: "far", model: "far" }];
  const upstreams = [{ name: "far", kind: "openai", base_url: upstream.baseUrl, api_key: "k" }];
  await writeFile(join(folder.path, "gateway.yaml"), JSON.stringify({ upstreams, models: [{ ...model, targets }] }));
  const path = join(folder.path, "gateway.db");
  storage = await openStorage(path);
  const opened = await openDatabase(path);
  engine = opened.engine;
  closeEngine = () => opened.db.destroy();
  payer = await openAccount({ storage }, { admin: true, recharge: 1e12 });
});

afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop("SIGKILL");
  await storage.close();
  await closeEngine();
  await upstream.close();
  await folder.remove();
});

async function start(options: readonly string[] = [], env: Record<string, string> = {}): Promise<Started> {
  const args = [starter, "serve", "--config", join(folder.path, "gateway.yaml"), ...options];
  const server = new Running(process.execPath, args, { PORT: "0", DATA_DIR: folder.path, LOG_LEVEL: "error", ...env });
  servers.push(server);
  const [, rootUrl = ""] = await server.shows(/serves at (\S+)/);
  return { server, rootUrl };
}

/** A call that runs until it is killed: its gateway has leased credit for it, where it leases, and holds some. */
async function kill(killed: Started, pids: readonly number[]): Promise<void> {
  const ended = Promise.withResolvers<void>();
  upstream.script = streamUntil(ended.promise);
  const streaming = await fetch(`${killed.rootUrl}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", ...bearer(payer.apiKey) },
    body: JSON.stringify({ model: "m", stream: true, messages: [{ role: "user", content: "Hello" }] }),
  });
  expect(streaming.status).toBe(200);
  await eventually(() => expect(held()).toContain("chat"));
  for (const pid of pids) process.kill(pid, "SIGKILL");
  await killed.server.ended;
  ended.resolve();
  await expect(streaming.text()).rejects.toThrow();
}

/** What is held: "" for a lease. */
const held = () =>
  engine
    .prepare<[], { operation: string }>("SELECT operation FROM holds ORDER BY 1")
    .all()
    .map((row) => row.operation);
const outcomes = () => engine.prepare<[], { outcome: number }>("SELECT outcome FROM requests").all();

async function setLimit(at: Started) {
  const change = { id: payer.keyId, creditLimit: { amount: "1000000" } };
  const { status, json } = await askRpc(at, "KeyService.UpdateKey", change, bearer(payer.apiKey));
  return [status, json.code ?? ""];
}

async function expectNothingLeft(): Promise<void> {
  expect(held()).toEqual([]);
  expect(outcomes()).toEqual([{ outcome: Outcome.LOST }]);
  expect((await storage.reconcile({ isFull: true })).findings).toEqual([]);
}

test.each([
  ["one process", [], {}],
  ["one process without accelerators", [], { ACCELERATORS: "off" }],
  ["workers", ["--workers", "2"], {}],
] as const)("what one of %s had leased and held is free at once where it is started anew", async (_, options, env) => {
  const killed = await start(options, env);
  const pid = killed.server.child.pid as number;
  const { owner, workers } = options.length > 0 ? await processesOf(pid) : { owner: 0, workers: [] };
  await kill(
    killed,
    [pid, owner, ...workers].filter((one) => one > 0),
  );
  const anew = await start(options, env);
  await eventually(() => expect(held()).toEqual([]));
  expect(await setLimit(anew)).toEqual([200, ""]);
  await expectNothingLeft();
});

test("what one had leased and held that shared its file is free as soon as another needs it", async () => {
  const [killed, other] = [await start(), await start()];
  await kill(killed, [killed.server.child.pid as number]);
  expect(await setLimit(other)).toEqual([200, ""]);
  await expectNothingLeft();
});

test.each([
  ["one process", []],
  ["workers", ["--workers", "2"]],
] as const)(
  "calls that one of %s did not answer may be repeated under their keys where it is started anew, and its responses have failed",
  async (_, options) => {
    const killed = await start(options);
    const pid = killed.server.child.pid as number;
    const { owner, workers } = options.length > 0 ? await processesOf(pid) : { owner: 0, workers: [] };
    const post = (at: Started, path: string, body: object, more = {}) =>
      fetch(at.rootUrl + path, {
        method: "POST",
        headers: { "content-type": "application/json", ...bearer(payer.apiKey), ...more },
        body: JSON.stringify({ model: "m", ...body }),
      });
    const repeated = { messages: [{ role: "user", content: "Hello" }] };
    const underKey = { "idempotency-key": "once" };
    const made = await post(killed, "/v1/responses", { input: "Hello", background: true });
    const { id } = (await made.json()) as { id: string };
    const unanswered = post(killed, "/v1/chat/completions", repeated, underKey).catch(() => "broken");
    await upstream.next();
    await upstream.next();
    for (const one of [pid, owner, ...workers]) if (one > 0) process.kill(one, "SIGKILL");
    await killed.server.ended;
    expect(await unanswered).toBe("broken");
    const anew = await start(options);
    upstream.script = answerAsOpenAi;
    await eventually(async () => {
      const told = await fetch(`${anew.rootUrl}/v1/responses/${id}`, { headers: bearer(payer.apiKey) });
      expect(await told.json()).toMatchObject({ status: "failed" });
    });
    const again = await post(anew, "/v1/chat/completions", repeated, underKey);
    expect([again.status, again.headers.get("x-gateway-replayed")]).toEqual([200, null]);
    const replayed = await post(anew, "/v1/chat/completions", repeated, underKey);
    expect([replayed.status, replayed.headers.get("x-gateway-replayed")]).toEqual([200, "true"]);
    expect((await storage.reconcile({ isFull: true })).findings).toEqual([]);
  },
);

test("what one holds that stands still is not touched", async () => {
  const [still, other] = [await start(), await start()];
  const ended = Promise.withResolvers<void>();
  upstream.script = streamUntil(ended.promise);
  const streaming = await fetch(`${still.rootUrl}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", ...bearer(payer.apiKey) },
    body: JSON.stringify({ model: "m", stream: true, messages: [{ role: "user", content: "Hello" }] }),
  });
  await eventually(() => expect(held()).toEqual(["", "chat"]));
  still.server.child.kill("SIGSTOP");
  expect(await setLimit(other)).toEqual([503, "unavailable"]);
  expect(held()).toEqual(["", "chat"]);
  still.server.child.kill("SIGCONT");
  ended.resolve();
  await streaming.text();
  await eventually(() => expect(outcomes()).toEqual([{ outcome: Outcome.ANSWERED }]));
  expect((await storage.reconcile({ isFull: true })).findings).toEqual([]);
});
