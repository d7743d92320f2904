/**
 * Nodes over one Postgres that are not alike: by their prices, and by their clocks. Each says so in one line where it can know, a call is
 * charged by the price of the node that it comes to, and no money is wrong.
 */
import { setTimeout as delay } from "node:timers/promises";
import { pino } from "pino";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { configurationName } from "../../src/commands/command.ts";
import { startGateway } from "../../src/composition/gateway.ts";
import { type Config, loadConfig } from "../../src/config/config.ts";
import { newId } from "../../src/runtime/ids.ts";
import type { Books } from "../../src/storage/money/books.ts";
import type { Storage } from "../../src/storage/storage.ts";
import { openStorageOnPostgres } from "../../src/storage/storage-on-postgres.ts";
import { temporaryFolder } from "../support/command.ts";
import { environment } from "../support/environment.ts";
import { eventually } from "../support/eventually.ts";
import { openAccount, type Payer } from "../support/payer.ts";
import { type ScriptedUpstream, startScriptedUpstream } from "../support/scripted-upstream.ts";
import { type PostgresServer, postgresPrograms, startPostgres } from "../support/storage/postgres.ts";
import { answerWell, served } from "../support/upstreams/two-upstreams.ts";

interface Node {
  readonly storage: Storage;
  readonly rootUrl: string;
  /** Errors that nobody waited for, and lines of the log that tell of errors. */
  readonly told: string[];
}

const closing: (() => Promise<unknown>)[] = [];
let postgres: PostgresServer;
let upstream: ScriptedUpstream;

interface NodeInit {
  /** How many times the usual price its model costs. */
  readonly price?: number;
  /** How far its clock is before that of the database, in milliseconds. */
  readonly skewMs?: number;
}

async function startNode(url: string, { price = 1, skewMs = 0 }: NodeInit): Promise<Node> {
  const folder = await temporaryFolder();
  closing.push(folder.remove);
  const usual = served([{ upstream: "far", model: "far", priority: 0, weight: 1 }]);
  const rates = Object.fromEntries(
    Object.entries(usual.price ?? {}).map(([name, rate]) => [name, typeof rate === "number" ? rate * price : rate]),
  );
  const config = {
    ...loadConfig(undefined, environment),
    ...{ port: 0, dataDir: folder.path, drainMs: 2000, embeddedModels: false },
    models: [{ ...usual, price: rates }],
    upstreams: [{ name: "far", kind: "openai" as const, base_url: upstream.baseUrl, api_key: `k${skewMs}` }],
  } as Config;
  const told: string[] = [];
  const storage = await openStorageOnPostgres({
    ...{ url, dataDir: folder.path, poolSize: 3, version: "test", isSynced: false },
    configuration: () => configurationName(config),
    onError: (error) => told.push((error as Error).message),
  });
  closing.push(() => storage.close());
  const log = pino({ level: "error" }, { write: (line: string) => told.push(line) });
  const gateway = await startGateway({ config, storage, log, clock: () => Date.now() + skewMs });
  closing.push(() => gateway.close());
  return { storage, rootUrl: `http://127.0.0.1:${gateway.port}`, told };
}

const unlike = (count: string) =>
  `${count.replace(/ of 1$/, " of 1 other node").replace(/ of (\d+)$/, " of $1 other nodes")} ${count.startsWith("1 ") ? "has" : "have"} another configuration: each call has the models, prices and rates of the node that it comes to. ` +
  "Give all nodes the same gateway.yaml";

interface Asking {
  readonly books: Books;
  readonly told: string[];
}

/** The books of a node alone. */
async function startBooks(url: string, configuration: string | (() => string)): Promise<Asking> {
  const folder = await temporaryFolder();
  const told: string[] = [];
  const onError = (error: unknown) => void told.push((error as Error).message);
  const of = { url, dataDir: folder.path, poolSize: 2, version: "test", isSynced: false };
  const name = typeof configuration === "string" ? () => configuration : configuration;
  const storage = await openStorageOnPostgres({ ...of, configuration: name, onError });
  const recall = () => ({ records: [], leases: [] });
  const books = storage.openBooks(true)({ node: newId("nod"), clock: Date.now, onError, recall });
  closing.push(
    folder.remove,
    () => storage.close(),
    () => books.close(),
  );
  return { books, told };
}

async function chat({ rootUrl }: Node, { apiKey }: Payer): Promise<readonly [number, string | null]> {
  const answer = await fetch(`${rootUrl}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${apiKey}` },
    body: JSON.stringify({ model: "m", max_tokens: 3, messages: [{ role: "user", content: "Hello" }] }),
  });
  await answer.text();
  return [answer.status, answer.headers.get("x-gateway-cost")];
}

/** What an account has when nothing of it is under way. */
async function balanceOf({ storage }: Node, id: string) {
  await storage.recall(id);
  const { balance, held } = (await storage.accounts.find(id)) ?? {};
  return { balance, held };
}

describe.skipIf(!postgresPrograms)("nodes that are not alike", () => {
  beforeAll(async () => {
    postgres = await startPostgres();
    upstream = await startScriptedUpstream(answerWell);
  });

  afterAll(async () => {
    await upstream.close();
    await postgres.stop();
  });

  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close();
  });

  test("by their prices: each says so in one line, and charges by its own, which the row keeps", async () => {
    const url = await postgres.createDatabase();
    const nodes = [await startNode(url, {}), await startNode(url, { price: 3 })] as const;
    const payer = await openAccount({ storage: nodes[0].storage }, { recharge: 1_000_000 });
    expect(await chat(nodes[0], payer)).toEqual([200, "0.000015"]);
    expect(await chat(nodes[1], payer)).toEqual([200, "0.000045"]);
    expect(await balanceOf(nodes[0], payer.accountId)).toEqual({ balance: 1_000_000 - 60, held: 0 });
    const rows = await nodes[0].storage.requests.page({ accountId: payer.accountId }, undefined, 10);
    expect(new Set(rows.map(({ price_id }) => price_id)).size).toBe(2);
    expect((await nodes[1].storage.reconcile({ isFull: true })).findings).toEqual([]);
    // Who starts asks at once, and the other when it moves its deadline on.
    await eventually(async () => expect(nodes[1].told.join("")).toContain(unlike("1 of 1")));
  });

  test("but not by the secrets of their upstreams, in whatever place these are", () => {
    const withSecret = (secret: string) =>
      configurationName({
        ...loadConfig(undefined, environment),
        upstreams: [
          {
            ...{ name: "far", kind: "openai", base_url: "http://127.0.0.1:1", api_key: secret },
            ...{ headers: { "x-key": secret }, query: { key: secret } },
          },
        ],
      } as Config);
    expect(withSecret("one")).toBe(withSecret("another"));
  });

  test("by their configuration: a node tells once, and again where that was mended meanwhile", async () => {
    const url = await postgres.createDatabase();
    const config = loadConfig(undefined, environment);
    const other = {
      ...config,
      models: [served([{ upstream: "far", model: "far", priority: 0, weight: 1 }])],
    } as Config;
    const elsewhere = { ...config, port: 1, dataDir: "/elsewhere", operatorKey: "another" };
    expect(configurationName(elsewhere)).toBe(configurationName(config));
    const nodes = await Promise.all([config, elsewhere, other].map((one) => startBooks(url, configurationName(one))));
    const renew = async (some: readonly (typeof nodes)[number][]) => {
      for (const { books } of some) await books.renew();
    };
    const [one, alike, third] = nodes as [Asking, Asking, Asking];
    await renew([one, alike, one]);
    expect([one.told, alike.told]).toEqual([[], []]);
    await renew([third, one, alike, one]);
    expect(third.told).toEqual([unlike("2 of 2")]);
    expect([one.told, alike.told]).toEqual([[unlike("1 of 2")], [unlike("1 of 2")]]);
    await third.books.close();
    await renew([one]);
    const fourth = await startBooks(url, "0:another");
    await renew([fourth, one]);
    expect(one.told).toEqual([unlike("1 of 2"), unlike("1 of 2")]);
  });

  test("by the version in force: at once where files differ, and later where a node does not take a version", async () => {
    const url = await postgres.createDatabase();
    const names = ["1:a", "1:a"];
    const [one, other] = (await Promise.all(names.map((_, i) => startBooks(url, () => names[i] as string)))) as [
      Asking,
      Asking,
    ];
    const renew = async () => {
      for (const { books } of [one, other, one]) await books.renew();
    };
    await renew();
    // A change takes each node a moment, in which it is no news.
    names[0] = "2:a";
    await one.books.renew();
    names[1] = "2:a";
    await renew();
    expect([one.told, other.told]).toEqual([[], []]);
    names[1] = "2:b";
    await renew();
    expect([one.told, other.told]).toEqual([[unlike("1 of 1")], [unlike("1 of 1")]]);
    names.fill("3:a");
    await renew();
    await renew();
    names[0] = "4:a";
    for (let i = 0; i < 3; i++) await renew();
    expect(one.told.at(-1)).toContain("Their logs say why they do not take the newest version");
    expect(one.told).toHaveLength(2);
  });

  test("by their clocks, two minutes apart: no hold expires, each call is charged once, and a new key is good everywhere", async () => {
    const url = await postgres.createDatabase();
    const nodes = [await startNode(url, { skewMs: -60_000 }), await startNode(url, { skewMs: 60_000 })] as const;
    const payer = await openAccount({ storage: nodes[0].storage }, { recharge: 1_000_000 });
    await nodes[0].storage.accounts.insert({ id: newId("acc", Date.now() + 60_000), name: "later", created_at: 1 });
    let running = 0;
    upstream.script = async (exchange) => {
      running++;
      // Long enough for the other node to look for what has expired.
      await delay(300);
      answerWell(exchange);
    };
    const asked = Array.from({ length: 20 }, (_, i) => chat(nodes[i % 2 === 0 ? 0 : 1], payer));
    await eventually(async () => expect(running).toBeGreaterThan(0));
    for (const node of nodes) {
      const books = node.storage.openBooks(true)({
        ...{ node: newId("nod"), clock: Date.now, onError: () => {} },
        recall: () => ({ records: [], leases: [] }),
      });
      await books.renew();
      expect(await books.expire()).toBe(0);
      await books.close();
    }
    expect(await Promise.all(asked)).toEqual(Array.from({ length: 20 }, () => [200, "0.000015"]));
    expect(await balanceOf(nodes[1], payer.accountId)).toEqual({ balance: 1_000_000 - 20 * 15, held: 0 });
    const rows = await nodes[1].storage.requests.page({ accountId: payer.accountId }, undefined, 50);
    expect(rows.map(({ cost, outcome }) => [cost, outcome])).toEqual(Array.from({ length: 20 }, () => [15, 1]));
    for (const { storage, told } of nodes) {
      expect((await storage.reconcile({ isFull: true })).findings).toEqual([]);
      expect(told).toEqual([]);
    }
    upstream.script = answerWell;
  });
});
