/**
 * Three gateways over one Postgres: money is counted once, what one of them changes the others know, and a database that goes away
 * and comes back costs nobody an answer that was under way.
 */
import { setTimeout as delay } from "node:timers/promises";
import { pino } from "pino";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type Gateway, startGateway } from "../../src/composition/gateway.ts";
import { loadConfig } from "../../src/config/config.ts";
import { newId } from "../../src/runtime/ids.ts";
import type { Taken } from "../../src/storage/money/books.ts";
import { unreachedLimit } from "../../src/storage/money/bounds.ts";
import type { Storage } from "../../src/storage/storage.ts";
import { openStorageOnPostgres } from "../../src/storage/storage-on-postgres.ts";
import { withLeases } from "../support/accelerators.ts";
import { temporaryFolder } from "../support/command.ts";
import { askRpc, bearer } from "../support/dashboard/session.ts";
import { environment } from "../support/environment.ts";
import { eventually } from "../support/eventually.ts";
import { openAccount, type Payer } from "../support/payer.ts";
import { timed } from "../support/run/running-time.ts";
import { eventStream, type ScriptedUpstream, startScriptedUpstream } from "../support/scripted-upstream.ts";
import { begun, callOf, ended, hold, holdOf } from "../support/storage/books-stage.ts";
import { type PostgresServer, postgresPrograms, startPostgres } from "../support/storage/postgres.ts";
import { served, wholeAnswer } from "../support/upstreams/two-upstreams.ts";
import { chatChunk } from "../support/vendors.ts";

const operatorKey = "operator-key-of-the-fleet";
const tiers = [{ name: "All", recharge: 0, requestsPerMinute: 100_000, tokensPerMinute: undefined }];
/** With prices of a unit and of two for a million tokens, 15 millionths. */
const { usage } = wholeAnswer;

interface Node {
  readonly gateway: Gateway;
  readonly storage: Storage;
  readonly rootUrl: string;
  readonly logged: () => string;
}

const closing: (() => Promise<unknown>)[] = [];
let postgres: PostgresServer;
let upstream: ScriptedUpstream;
let nodes: readonly [Node, Node, Node];
/** chosen are the accelerators of tests that are about some. */
let chosen: Partial<typeof withLeases> = {};

async function startNode(url: string): Promise<Node> {
  const folder = await temporaryFolder();
  closing.push(folder.remove);
  const storage = await openStorageOnPostgres({
    ...{ url, dataDir: folder.path, poolSize: 4, version: "test", isSynced: false },
    onError: () => {},
  });
  closing.push(() => storage.close());
  const model = served([{ upstream: "far", model: "far", priority: 0, weight: 1 }]);
  const config = {
    ...loadConfig(undefined, environment),
    ...chosen,
    ...{ port: 0, dataDir: folder.path, drainMs: 2000, tiers, operatorKey, embeddedModels: false, models: [model] },
    ...{ metrics: { host: "127.0.0.1", port: 0, isAsked: true }, retries: { attempts: 1, share: 0 } },
    upstreams: [{ name: "far", kind: "openai" as const, base_url: upstream.baseUrl, api_key: "k" }],
  };
  const lines: string[] = [];
  const log = pino({ level: "info" }, { write: (line: string) => void lines.push(line) });
  const gateway = await startGateway({ config, storage, log });
  closing.push(() => gateway.close());
  return { gateway, storage, rootUrl: `http://127.0.0.1:${gateway.port}`, logged: () => lines.join("") };
}

function chat({ rootUrl }: Node, { apiKey }: Pick<Payer, "apiKey">, headers = {}, more = {}): Promise<Response> {
  const messages = [{ role: "user", content: "Hello" }];
  return fetch(`${rootUrl}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", ...bearer(apiKey), ...headers },
    body: JSON.stringify({ model: "m", max_tokens: 3, messages, ...more }),
  });
}

async function statusOf(answer: Promise<Response>): Promise<number> {
  const { status, ...response } = await answer.then(async (one) => ({ status: one.status, text: await one.text() }));
  return response.text === "" ? 0 : status;
}

const answerOf = (used: object) => ({ ...wholeAnswer, usage: used });

const readyOf = async ({ rootUrl }: Node) => {
  const answer = await fetch(`${rootUrl}/readyz`);
  return { status: answer.status, text: await answer.text() };
};

/** What an account has when nothing of it is under way: leases have come back, and what calls cost is in its sums. */
async function settled({ storage }: Node, id: string) {
  await storage.recall(id);
  const { balance = 0, held = 0 } = (await storage.accounts.find(id)) ?? {};
  return { balance, held };
}

describe.skipIf(!postgresPrograms)("three gateways over one Postgres", () => {
  beforeAll(async () => {
    postgres = await startPostgres();
    upstream = await startScriptedUpstream();
  });

  afterAll(async () => {
    await upstream.close();
    await postgres.stop();
  });

  beforeEach(async () => {
    upstream.script = (exchange) => exchange.json(200, answerOf(usage));
    const url = await postgres.createDatabase();
    // The first makes the tables while the others wait for it.
    nodes = await Promise.all([startNode(url), startNode(url), startNode(url)]);
    // The first account's models are free where they have no price; nobody here is the first.
    await nodes[0].storage.accounts.insert({ id: newId("acc"), name: "first", created_at: 1 });
  });

  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close();
  });

  test("credit for exactly 40 calls answers exactly 40 of 120 at once, and all sums agree", async () => {
    // What one call holds, for the answers to cost just that.
    const held = Promise.withResolvers<number>();
    const short = await openAccount({ storage: nodes[0].storage }, { recharge: 1_000 });
    upstream.script = async (exchange) => {
      held.resolve((await nodes[0].storage.accounts.find(short.accountId))?.held ?? 0);
      exchange.json(200, answerOf(usage));
    };
    expect(await statusOf(chat(nodes[0], short))).toBe(200);
    const each = await held.promise;
    expect(each).toBeGreaterThan(15);
    const prompt = each - 2 * 3;
    const whole = { prompt_tokens: prompt, completion_tokens: 3, total_tokens: prompt + 3 };
    upstream.script = (exchange) => exchange.json(200, answerOf(whole));
    const payer = await openAccount({ storage: nodes[1].storage }, { recharge: 40 * each });
    const told = await Promise.all(Array.from({ length: 120 }, (_, i) => statusOf(chat(nodes[i % 3] as Node, payer))));
    expect([...new Set(told)].sort()).toEqual([200, 402]);
    expect(told.filter((status) => status === 200)).toHaveLength(40);
    expect(await settled(nodes[2], payer.accountId)).toEqual({ balance: 0, held: 0 });
    for (const { storage } of nodes) expect((await storage.reconcile({ isFull: true })).findings).toEqual([]);
  });

  test("a key that is revoked at one is refused at the others within a second, and a new one is known", async () => {
    const payer = await openAccount({ storage: nodes[0].storage }, { admin: true });
    for (const node of nodes) expect(await statusOf(chat(node, payer))).toBe(200);
    const made = await askRpc(nodes[0], "KeyService.CreateKey", { name: "new" }, bearer(payer.apiKey));
    expect(made.status, JSON.stringify(made.json)).toBe(200);
    const { id, secret } = keyOf(made.json);
    for (const node of nodes) expect(await statusOf(chat(node, { apiKey: secret }))).toBe(200);
    expect((await askRpc(nodes[1], "KeyService.DeleteKey", { id }, bearer(payer.apiKey))).status).toBe(200);
    expect(await statusOf(chat(nodes[1], { apiKey: secret }))).toBe(401);
    const [, { runningMs }] = await timed(async () => {
      for (const node of nodes) while ((await statusOf(chat(node, { apiKey: secret }))) !== 401) await delay(20);
    });
    expect(runningMs).toBeLessThan(1000);
    for (const node of nodes) expect(await statusOf(chat(node, payer))).toBe(200);
  });

  test("a call that is repeated at another under its key is answered again, and charged once", async () => {
    const payer = await openAccount({ storage: nodes[0].storage }, { recharge: 1_000_000 });
    const asked = upstream.received.length;
    const first = await chat(nodes[0], payer, { "idempotency-key": "one" });
    const text = await first.text();
    for (const node of nodes) {
      const again = await chat(node, payer, { "idempotency-key": "one" });
      expect([again.status, again.headers.get("x-gateway-replayed")]).toEqual([200, "true"]);
      expect(await again.text()).toBe(text);
    }
    expect(upstream.received.length - asked).toBe(1);
    expect(await settled(nodes[1], payer.accountId)).toEqual({ balance: 1_000_000 - 15, held: 0 });
  });

  test("while the database is away calls are refused, a stream ends, and it is charged once when that is back", async () => {
    const payer = await openAccount({ storage: nodes[0].storage }, { recharge: 1_000_000 });
    for (const node of nodes) expect(await statusOf(chat(node, payer))).toBe(200);
    upstream.script = undefined;
    const asked = chat(nodes[0], payer, {}, { stream: true });
    const exchange = await upstream.next();
    exchange.head(200, eventStream);
    await exchange.write(`data: ${JSON.stringify(chatChunk({ content: "Hel" }))}\n\n`);
    const stream = await asked;
    expect(stream.status).toBe(200);
    await postgres.crash();
    const [, { runningMs }] = await timed(async () => {
      for (const node of nodes) {
        await eventually(async () => {
          const { status, text } = await readyOf(node);
          expect([status, JSON.parse(text).message]).toEqual([503, expect.stringMatching(/does not answer/)]);
        }, 2_000);
        const refused = await chat(node, payer);
        expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, expect.stringMatching(/^\d+$/)]);
        expect(((await refused.json()) as { error: { code: string } }).error.code).toBe("service_unavailable");
      }
    });
    expect(runningMs).toBeLessThan(4_000);
    expect(await metricOf(nodes[0], "up")).toBe(0);
    await exchange.write(`data: ${JSON.stringify({ ...chatChunk({ content: "lo" }), usage })}\n\n`);
    exchange.end("data: [DONE]\n\n");
    expect(await stream.text()).toMatch(/lo.*\[DONE\]/s);
    await eventually(async () => expect(await metricOf(nodes[0], "kept_records")).toBeGreaterThan(0));
    await postgres.start();
    upstream.script = (one) => one.json(200, answerOf(usage));
    for (const node of nodes) {
      await eventually(async () => expect((await readyOf(node)).status).toBe(200));
      await eventually(async () => expect(await statusOf(chat(node, payer))).toBe(200));
    }
    await eventually(async () => {
      const { storage } = nodes[1];
      const rows = await storage.requests.page({ accountId: payer.accountId }, undefined, 50);
      expect(rows.filter(({ cost }) => cost > 0).map(({ cost }) => cost)).toEqual(Array.from({ length: 7 }, () => 15));
      expect(await settled(nodes[1], payer.accountId)).toEqual({ balance: 1_000_000 - 7 * 15, held: 0 });
    });
    expect((await nodes[2].storage.reconcile()).findings).toEqual([]);
    expect([await metricOf(nodes[0], "up"), await metricOf(nodes[0], "kept_records")]).toEqual([1, 0]);
  });

  describe("that lease what accounts have", () => {
    beforeAll(() => {
      chosen = withLeases;
    });

    afterAll(() => {
      chosen = {};
    });

    test("what others keep idle in leases is refunded, and every page has the calls of all", async () => {
      const payer = await openAccount({ storage: nodes[0].storage }, { recharge: 1_000_000, admin: true });
      for (const node of nodes) expect(await statusOf(chat(node, payer))).toBe(200);
      const { held = 0 } = (await nodes[0].storage.accounts.find(payer.accountId)) ?? {};
      expect(held).toBeGreaterThan(15);
      const refund = { account: payer.accountId, kind: "ENTRY_KIND_REFUND", amount: String(1_000_000 - 45) };
      const told = await askRpc(nodes[2], "OperatorService.RecordEntry", refund, bearer(operatorKey));
      expect(told.status, JSON.stringify(told.json)).toBe(200);
      expect(await settled(nodes[1], payer.accountId)).toEqual({ balance: 0, held: 0 });
      expect(await statusOf(chat(nodes[1], payer))).toBe(402);
      for (const node of nodes) {
        const page = await askRpc(node, "UsageService.ListRequests", {}, bearer(payer.apiKey));
        const rows = (page.json as { requests: { cost: string }[] }).requests;
        expect(rows.filter(({ cost }) => cost === "15")).toHaveLength(3);
      }
      expect((await nodes[0].storage.reconcile()).findings).toEqual([]);
    });

    test("refuse a key's first limit below what its calls hold that run at others", async () => {
      const payer = await openAccount({ storage: nodes[0].storage }, { admin: true });
      for (const node of nodes) expect(await statusOf(chat(node, payer))).toBe(200);
      for (let spent = 45; spent < 165; spent += 15) {
        const mayEnd = Promise.withResolvers<void>();
        const begun = Promise.withResolvers<void>();
        upstream.script = async (exchange) => {
          begun.resolve();
          await mayEnd.promise;
          exchange.json(200, answerOf(usage));
        };
        const calling = statusOf(chat(nodes[0], payer));
        await begun.promise;
        const change = { id: payer.keyId, creditLimit: { amount: String(spent) } };
        const told = await askRpc(nodes[2], "KeyService.UpdateKey", change, bearer(payer.apiKey));
        expect(told.status, JSON.stringify(told.json)).toBe(400);
        mayEnd.resolve();
        expect(await calling).toBe(200);
      }
    });

    test("refuse a key's first limit while one does not say what its calls cost, and look at that once it does", async () => {
      const payer = await openAccount({ storage: nodes[0].storage }, { admin: true });
      const taken = { leaseId: "lea_cut", isOfKey: false };
      const leases: string[] = [];
      const open = nodes[0].storage.openBooks(true);
      const cutOff = open({
        ...{ node: "nod_cut", clock: Date.now, onError: () => {}, holding: () => [] },
        recall: () => ({ records: [], leases: leases.splice(0) }),
      });
      closing.push(() => cutOff.close());
      await cutOff.renew();
      await hold(cutOff, holdOf("req_0", 100, { ...payer, lease: { id: taken.leaseId, isOfKey: false } }));
      const setLimit = () =>
        askRpc(
          nodes[2],
          "KeyService.UpdateKey",
          { id: payer.keyId, creditLimit: { amount: "39" } },
          bearer(payer.apiKey),
        );
      const told = await setLimit();
      expect([told.status, JSON.stringify(told.json)]).toEqual([503, expect.stringContaining("STORAGE_UNAVAILABLE")]);
      const call = callOf("req_1", 40, { account_id: payer.accountId, key_id: payer.keyId });
      const of = { accountId: payer.accountId, keyId: payer.keyId };
      await cutOff.write({
        ...{ seq: 1, at: Date.now() },
        entries: [{ ...begun("req_1", 100, taken), ...of }, ended(call, taken)],
      });
      leases.push(taken.leaseId);
      expect((await setLimit()).status).toBe(400);
      expect((await nodes[0].storage.reconcile()).findings).toEqual([]);
    });

    test("refuse a key's first limit below what its calls have drawn that came to others before those knew of it", async () => {
      const payer = await openAccount({ storage: nodes[0].storage }, { admin: true });
      const [first, second] = ["lea_1", "lea_2"].map((leaseId) => ({ leaseId, isOfKey: false })) as [Taken, Taken];
      const of = { accountId: payer.accountId, keyId: payer.keyId };
      const ask = (id: string, { leaseId, isOfKey }: Taken) =>
        hold(late, holdOf(id, 100, { ...of, lease: { id: leaseId, isOfKey } }));
      const call = callOf("req_1", 40, { account_id: payer.accountId, key_id: payer.keyId });
      const entries = [{ ...begun("req_1", 100, second), ...of }, ended(call, second)];
      let knows = false;
      let asking: Promise<unknown> | undefined;
      /** Gives back what it is asked for, and leases again at once; that it keeps until it has heard that the key has a limit. */
      const recall = () => {
        if (!asking) {
          asking = ask("req_1", second);
          return { records: [], leases: [first.leaseId] };
        }
        return knows
          ? { records: [{ seq: 1, at: Date.now(), entries }], leases: [second.leaseId] }
          : { records: [], leases: [] };
      };
      const late = nodes[0].storage.openBooks(true)({
        ...{ node: "nod_late", clock: Date.now, onError: () => {}, holding: () => [], recall },
      });
      closing.push(() => late.close());
      await late.renew();
      await ask("req_0", first);
      const change = { id: payer.keyId, creditLimit: { amount: "39" } };
      const setting = askRpc(nodes[2], "KeyService.UpdateKey", change, bearer(payer.apiKey));
      const limitOf = async () => (await nodes[0].storage.keys.find(payer.accountId, payer.keyId))?.credit_limit;
      await eventually(async () => expect(await limitOf()).not.toBeNull());
      knows = true;
      const { status, json } = await setting;
      expect([status, json.code]).toEqual([400, "invalid_argument"]);
      // One that nobody reaches, and nobody sees.
      expect([await limitOf(), await asking]).toEqual([unreachedLimit, [expect.stringContaining("leased")]]);
      expect((await nodes[0].storage.reconcile()).findings).toEqual([]);
    });

    test("have metrics of the database and of the nodes", async () => {
      const payer = await openAccount({ storage: nodes[0].storage });
      for (const node of nodes) expect(await statusOf(chat(node, payer))).toBe(200);
      await eventually(async () => expect(await metricOf(nodes[0], "nodes")).toBe(3));
      expect(await metricOf(nodes[0], "up")).toBe(1);
      expect(await metricOf(nodes[0], "kept_records")).toBe(0);
      for (const kind of ["decide", "write"]) {
        expect(await metricOf(nodes[0], "batches_total", kind)).toBeGreaterThan(0);
        expect(await metricOf(nodes[0], "batch_items_total", kind)).toBeGreaterThan(0);
        const seconds = await metricOf(nodes[0], "batch_seconds_total", kind);
        expect(seconds).toBeGreaterThan(0);
        expect(seconds).toBeLessThan(10);
      }
      // The others have idle leases, which a refund would ask for.
      const before = await metricOf(nodes[2], "recalls_total");
      await nodes[2].storage.recall(payer.accountId);
      expect(await metricOf(nodes[2], "recalls_total")).toBe(before + 1);
    });
  });
});

/** Reads a metric of the database; NaN where there is none. */
async function metricOf({ gateway }: Node, name: string, kind?: string): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${gateway.metricsPort}/metrics`)).text();
  const label = kind === undefined ? "" : `{kind="${kind}"}`;
  const line = text.split("\n").find((one) => one.startsWith(`model_gateway_database_${name}${label} `));
  return Number(line?.split(" ").at(-1) ?? Number.NaN);
}

function keyOf(json: unknown): { readonly id: string; readonly secret: string } {
  const { key, secret } = json as { key: { id: string; secret?: string }; secret?: string };
  return { id: key.id, secret: secret ?? key.secret ?? "" };
}
