/**
 * The gateway is killed at the very moment at which it sends a request: each call that an upstream has received has a row, as answered or
 * as lost, be it charged or free.
 */

import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createLeasedLedger } from "../../src/ledger/leases/leased-ledger.ts";
import { issueKey } from "../../src/services/keys/issue-key.ts";
import { holdMs } from "../../src/storage/money/books.ts";
import { openStorage, type Storage } from "../../src/storage/storage.ts";
import { openStorageOnPostgres } from "../../src/storage/storage-on-postgres.ts";
import { Running, starter, temporaryFolder } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { openAccount } from "../support/payer.ts";
import { type PostgresServer, postgresPrograms, query, startPostgres } from "../support/storage/postgres.ts";
import { wholeAnswer } from "../support/upstreams/two-upstreams.ts";

const callers = 12;
const keys = 72;
const later = () => Date.now() + holdMs + 60_000;

interface Upstream {
  readonly port: number;
  /** The numbers of the calls that it has received. */
  readonly received: Set<number>;
  close(): Promise<void>;
}

/** Answers each call when the calls of three callers are there: so several answers come in one turn, and calls follow them. */
async function startUpstream(): Promise<Upstream> {
  const received = new Set<number>();
  let waiting: (() => void)[] = [];
  const server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on("data", (piece: Buffer) => pieces.push(piece));
    request.on("end", () => {
      received.add(Number(/number (\d+)\./.exec(Buffer.concat(pieces).toString())?.[1]));
      waiting.push(() => response.writeHead(200, { "content-type": "application/json" }).end(answer));
      if (waiting.length < 3) return;
      for (const go of waiting) go();
      waiting = [];
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    received,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const answer = JSON.stringify(wholeAnswer);

/** Calls with each key once, free and charged in turn, until the gateway is gone. Returns which were answered. */
async function call(rootUrl: string, secrets: readonly string[]): Promise<Set<number>> {
  const answered = new Set<number>();
  let next = 0;
  const caller = async () => {
    for (let number = next++; number < secrets.length; number = next++) {
      const messages = [{ role: "user", content: `number ${number}.` }];
      const asked = await fetch(`${rootUrl}/v1/chat/completions`, {
        method: "POST",
        headers: { "content-type": "application/json", authorization: `Bearer ${secrets[number]}` },
        body: JSON.stringify({ model: number % 2 === 0 ? "paid" : "free", max_tokens: 3, messages }),
      }).catch(() => undefined);
      if (!asked) return;
      if ((await asked.text().catch(() => "")) === answer && asked.status === 200) answered.add(number);
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  return answered;
}

const configuration = (port: number) =>
  JSON.stringify({
    upstreams: [{ name: "far", kind: "openai", base_url: `http://127.0.0.1:${port}/v1`, api_key: "k" }],
    retries: { attempts: 1 },
    models: ["paid", "free"].map((id) => ({
      ...{ id, family: "f", kind: "chat", max_output_tokens: 8, targets: [{ upstream: "far", model: "far" }] },
      price: id === "paid" ? { input: "1", output: "1000" } : { input: "0", output: "0" },
    })),
  });

/** Opens the database of a test, and has the time pass after which what dead processes held has expired. */
interface Place {
  readonly env: Record<string, string>;
  /** More of the command line. */
  readonly args?: readonly string[];
  open(): Promise<Storage>;
  /** Has all holds expire. */
  expire(storage: Storage): Promise<void>;
}

/** Runs a gateway until it has sent so many requests, and returns the outcome of each call that its upstream has received. */
async function killedAt(count: number, accelerators: string | undefined, folder: string, place: Place) {
  const upstream = await startUpstream();
  const before = await place.open();
  const payer = await openAccount({ storage: before }, { recharge: 1_000_000_000_000 });
  const now = Date.now();
  const issued = await Promise.all(
    Array.from({ length: keys }, () =>
      issueKey(before.keys, { accountId: payer.accountId, name: "k", admin: false, now }),
    ),
  );
  await before.close();
  const config = join(folder, "gateway.yaml");
  await writeFile(config, configuration(upstream.port));
  const gateway = new Running(process.execPath, [starter, "serve", "--config", config, ...(place.args ?? [])], {
    ...{ PORT: "0", DATA_DIR: folder, LOG_LEVEL: "error", KILL_PORT: `${upstream.port}`, KILL_AT: `${count}` },
    NODE_OPTIONS: `--import ${pathToFileURL(join(import.meta.dirname, "kill-at-send.ts")).href}`,
    ...(accelerators === undefined ? {} : { ACCELERATORS: accelerators }),
    ...place.env,
  });
  try {
    const [, rootUrl = ""] = await gateway.shows(/serves at (\S+)/);
    const answered = await call(
      rootUrl,
      issued.map(({ secret }) => secret),
    );
    const ended = await gateway.ended;
    expect(ended.signal, gateway.stderr).toBe("SIGKILL");
    // What was sent is on its way still.
    await eventually(() => expect(upstream.received.size).toBeGreaterThanOrEqual(count));
    const storage = await place.open();
    await place.expire(storage);
    const rows = await storage.requests.page({ accountId: payer.accountId }, undefined, 500);
    const { findings } = await storage.reconcile({ isFull: true });
    const standing = await storage.accounts.find(payer.accountId);
    await storage.close();
    const numbers = new Map(issued.map(({ key }, number) => [key.id, number]));
    const outcomes = new Map(rows.map((row) => [numbers.get(row.key_id) as number, row]));
    return { received: upstream.received, answered, outcomes, findings, held: standing?.held };
  } finally {
    await gateway.stop("SIGKILL");
    await upstream.close();
  }
}

const [answeredOutcome, lostOutcome] = [1, 5];

async function proveEachHasItsRow(count: number, accelerators: string | undefined, folder: string, place: Place) {
  const { received, answered, outcomes, findings, held } = await killedAt(count, accelerators, folder, place);
  expect(received.size).toBeGreaterThanOrEqual(count);
  expect([...received].filter((number) => !outcomes.has(number))).toEqual([]);
  for (const number of answered) expect(outcomes.get(number)?.outcome).toBe(answeredOutcome);
  for (const [number, { outcome, cost }] of outcomes) {
    expect([answeredOutcome, lostOutcome]).toContain(outcome);
    const isCharged = outcome === answeredOutcome && number % 2 === 0;
    expect([number, cost]).toEqual([number, isCharged ? 3009 : 0]);
  }
  const lost = [...outcomes].filter(([, { outcome }]) => outcome === lostOutcome);
  expect(lost.length).toBeGreaterThan(0);
  expect(findings).toEqual([]);
  expect(held).toBe(0);
}

/** How many requests have gone out when the gateway is killed: the first, and in the midst of answers. */
const cases: readonly (readonly [count: number, accelerators: string | undefined])[] = [
  [1, undefined],
  [29, undefined],
  [26, "off"],
];

let folder: Awaited<ReturnType<typeof temporaryFolder>>;

beforeEach(async () => {
  folder = await temporaryFolder();
});

afterEach(() => folder.remove());

function sqlitePlace(folder: string): Place {
  return {
    env: {},
    open: () => openStorage(join(folder, "gateway.db")),
    async expire(storage) {
      const errors: unknown[] = [];
      const onError = (error: unknown) => void errors.push(error);
      const ledger = createLeasedLedger({ openBooks: storage.openBooks(true), clock: later, onError });
      await ledger.sweep();
      await ledger.close();
      expect(errors).toEqual([]);
    },
  };
}

function postgresPlace(folder: string, url: string): Place {
  const pass = (ms: number) =>
    query(
      url,
      `CREATE OR REPLACE FUNCTION now_ms() RETURNS bigint LANGUAGE sql VOLATILE AS
       $$ SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint + ${ms} $$`,
    );
  const throwIt = (error: unknown) => {
    throw error;
  };
  return {
    env: { DATABASE_URL: url },
    async open() {
      const [row] = await query(url, "SELECT count(*) AS count FROM pg_tables WHERE tablename = 'nodes'");
      // What a node that died has left is taken once it counts as dead.
      if (row?.count === 1) await pass(holdMs + 1000);
      const of = { url, dataDir: folder, poolSize: 3, version: "test", isSynced: false };
      return openStorageOnPostgres({ ...of, onError: throwIt });
    },
    async expire(storage) {
      const ledger = createLeasedLedger({ openBooks: storage.openBooks(true), clock: Date.now, onError: throwIt });
      await ledger.sweep();
      await pass(holdMs + 40_000);
      await ledger.sweep();
      await ledger.close();
    },
  };
}

/** Kills a gateway that reads a stream on for its usage, because the caller has left. Returns what the database says then. */
async function killedDraining(folder: string, place: Place) {
  const open = Promise.withResolvers<void>();
  const upstream = createServer((_, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    const delta = { content: "Hello" };
    response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: null }] })}\n\n`);
    response.once("close", open.resolve);
  });
  await new Promise<void>((resolve) => upstream.listen(0, "127.0.0.1", resolve));
  const before = await place.open();
  const payer = await openAccount({ storage: before }, { recharge: 1_000_000_000_000 });
  await before.close();
  const config = join(folder, "gateway.yaml");
  await writeFile(config, configuration((upstream.address() as AddressInfo).port));
  const env = { PORT: "0", DATA_DIR: folder, LOG_LEVEL: "error", ...place.env };
  const gateway = new Running(process.execPath, [starter, "serve", "--config", config], env);
  try {
    const [, rootUrl = ""] = await gateway.shows(/serves at (\S+)/);
    const caller = new AbortController();
    const asked = await fetch(`${rootUrl}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${payer.apiKey}` },
      body: JSON.stringify({ model: "paid", stream: true, messages: [{ role: "user", content: "Hi" }] }),
      signal: caller.signal,
    });
    await asked.body?.getReader().read();
    caller.abort();
    // It is read on: the upstream's connection stands until the gateway is gone.
    const isOver = await Promise.race([open.promise.then(() => true), delay(700).then(() => false)]);
    expect(isOver).toBe(false);
    await gateway.stop("SIGKILL");
    await open.promise;
    const storage = await place.open();
    await place.expire(storage);
    const rows = await storage.requests.page({ accountId: payer.accountId }, undefined, 10);
    const { findings } = await storage.reconcile({ isFull: true });
    const { balance, held } = (await storage.accounts.find(payer.accountId)) ?? {};
    await storage.close();
    return { rows: rows.map(({ outcome, cost }) => ({ outcome, cost })), findings, balance, held };
  } finally {
    await gateway.stop("SIGKILL");
    upstream.closeAllConnections();
    upstream.close();
  }
}

const lostWhileDraining = {
  rows: [{ outcome: lostOutcome, cost: 0 }],
  findings: [],
  balance: 1_000_000_000_000,
  held: 0,
};

describe("on SQLite", () => {
  test.each(cases)(
    "each call that was sent has its row, killed at request %i, with accelerators %s",
    (count, accelerators) => proveEachHasItsRow(count, accelerators, folder.path, sqlitePlace(folder.path)),
  );

  test("a call whose caller has left is lost, and costs nothing, where the gateway dies while it reads on", async () => {
    expect(await killedDraining(folder.path, sqlitePlace(folder.path))).toEqual(lostWhileDraining);
  });
});

describe("of two workers that are killed with their owner and all others", () => {
  test.each(cases)(
    "each call that was sent has its row, killed at request %i of one of them, with accelerators %s",
    async (count, accelerators) => {
      const { env, ...place } = sqlitePlace(folder.path);
      const ofAll = { ...place, env: { ...env, KILL_ALL: "1" }, args: ["--workers", "2"] };
      await proveEachHasItsRow(count, accelerators, folder.path, ofAll);
    },
    120_000,
  );
});

describe.skipIf(!postgresPrograms)("on Postgres", () => {
  let postgres: PostgresServer;

  beforeAll(async () => {
    postgres = await startPostgres();
  });

  afterAll(() => postgres.stop());

  const placeOf = async () => postgresPlace(folder.path, await postgres.createDatabase());

  test.each(cases)(
    "each call that was sent has its row, killed at request %i, with accelerators %s",
    async (count, accelerators) => proveEachHasItsRow(count, accelerators, folder.path, await placeOf()),
  );

  test("a call whose caller has left is lost, and costs nothing, where the gateway dies while it reads on", async () => {
    expect(await killedDraining(folder.path, await placeOf())).toEqual(lostWhileDraining);
  });
});
