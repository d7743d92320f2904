/**
 * A proof goes on from where the last one ended: calls of hours that were proved are not read again, as long as the sums of these hours
 * are what they were. Whatever changes one of them has its calls read again, and no others.
 */

import { sql } from "kysely";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createRetention } from "../../../src/composition/retention.ts";
import { newId } from "../../../src/runtime/ids.ts";
import { openDatabase } from "../../../src/storage/engines/sqlite/database.ts";
import { callsIn, spansOf } from "../../../src/storage/proof/spans.ts";
import { type Bank, openBank } from "../../support/money/bank.ts";
import { onSqlite } from "../../support/storage/test-database.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** Calls are kept for a day, and audit events for good. */
const aDay = { retention: { requestsMs: dayMs, auditMs: undefined } };
const begin = Date.UTC(2026, 5, 1);
/** An hour after the last call: all hours of calls can be closed. */
const now = begin + 3 * dayMs + 2 * hourMs;
const count = 3 * 24 * 4;

let bank: Bank;

beforeEach(async () => {
  bank = await openBank();
  const { accounts, entries } = bank.storage;
  await accounts.insert({ id: "acc_1", name: "one", created_at: 1 });
  await entries.record({
    id: newId("led", begin),
    accountId: "acc_1",
    kind: 1,
    amount: 1_000_000,
    note: null,
    now: begin,
  });
  for (let i = 0; i < count; i++) await call(begin + i * (hourMs / 4));
});

afterEach(() => bank.close());

async function call(at: number, key_id = "key_1"): Promise<string> {
  const id = newId("req", at);
  await bank.charge("acc_1", { id, key_id, cost: 3, created_at: at + 5, duration_ms: 9 });
  return id;
}

const proved = (isFull = false, at = now) => bank.storage.reconcile({ now: at, isFull });

async function found(isFull = false, at = now): Promise<string[]> {
  return (await proved(isFull, at)).findings.map(({ kind, what }) => `${kind}: ${what}`);
}

/** Returns the first call of an hour. */
async function firstIn(hour: number): Promise<string> {
  const sql = "SELECT id FROM requests WHERE created_at >= ? ORDER BY id LIMIT 1";
  const [row] = await bank.database.query<{ id: string }>(sql, hour);
  return row?.id ?? "";
}

test("calls that were proved are not read again, and what comes after them is", async () => {
  expect(await proved()).toMatchObject({ requests: count, provedBefore: 0, findings: [] });
  expect(await proved()).toMatchObject({ requests: 0, provedBefore: count, findings: [] });
  await call(now - 5);
  await call(now);
  expect(await proved()).toMatchObject({ requests: 2, provedBefore: count, findings: [] });
  expect(await proved(true)).toMatchObject({ requests: count + 2, provedBefore: 0, findings: [] });
});

test("an hour is closed only when it has been over for an hour", async () => {
  expect(await proved(false, begin + 3 * hourMs)).toMatchObject({ findings: [] });
  expect(await proved(false, begin + 3 * hourMs)).toMatchObject({ requests: count - 8, provedBefore: 8 });
});

test("a call whose row has changed since is found by a full proof, and the sums of its hour stand for it till then", async () => {
  await proved();
  await bank.tamper(`UPDATE requests SET cost = 4 WHERE id = '${await firstIn(begin + dayMs)}'`);
  expect(await found()).toEqual([]);
  expect(await found(true)).toEqual([
    "balance: balance of acc_1",
    "key_spent: spend of key_1",
    "hour_cost: usage of key_1 with m from 2026-06-02T00:00Z",
  ]);
});

test("a call that comes late has its hour read again, and closed again", async () => {
  await proved();
  await call(begin + dayMs + 7, "key_2");
  expect(await proved()).toMatchObject({ requests: 5, provedBefore: count - 4, findings: [] });
  expect(await proved()).toMatchObject({ requests: 0, provedBefore: count + 1, findings: [] });
});

test("an hour whose sums have changed since is read again, and what is wrong with it is found until it is right", async () => {
  await proved();
  await bank.tamper(`UPDATE usage_hours SET cost = cost + 1 WHERE hour = ${begin + dayMs}`);
  for (const _ of [1, 2]) expect(await found()).toEqual(["hour_cost: usage of key_1 with m from 2026-06-02T00:00Z"]);
  await bank.tamper(`UPDATE usage_hours SET cost = cost - 1 WHERE hour = ${begin + dayMs}`);
  expect(await proved()).toMatchObject({ requests: 0, findings: [] });
});

test("an hour that is gone is read again", async () => {
  await proved();
  await bank.tamper(`DELETE FROM usage_hours WHERE hour = ${begin + dayMs}`);
  expect(await found()).toEqual(["hour_cost: usage of key_1 with m from 2026-06-02T00:00Z"]);
});

test("money that moved between keys within a closed hour is found by what the keys have spent", async () => {
  await call(begin + dayMs, "key_2");
  await proved();
  await bank.tamper(`UPDATE usage_hours SET cost = cost + 1 WHERE hour = ${begin + dayMs} AND key_id = 'key_1';
    UPDATE usage_hours SET cost = cost - 1 WHERE hour = ${begin + dayMs} AND key_id = 'key_2'`);
  expect(await found()).toEqual(["key_spent: spend of key_1", "key_spent: spend of key_2"]);
  // The calls say which of both is wrong.
  expect((await found(true)).map((one) => one.split(":")[0])).toEqual(["hour_cost", "hour_cost"]);
});

test("balances hold while calls of closed hours are forgotten, amid that and after it", async () => {
  await proved();
  const { retention: store } = bank.storage;
  const until = begin + 2 * dayMs;
  let batches = 0;
  const amid: typeof store = {
    ...store,
    async forgetRequests(...before) {
      if (batches++ < 3) expect(await found()).toEqual([]);
      return store.forgetRequests(...before);
    },
  };
  for (let i = 0; i < 900; i++) await call(begin + hourMs + i);
  await proved();
  const parts = { store: amid, settings: () => aDay, clock: () => until + dayMs, onError: fail };
  const job = createRetention(parts);
  await job.run();
  await job.close();
  expect(batches).toBeGreaterThan(3);
  expect(await proved()).toMatchObject({ requests: 0, provedBefore: count / 3, findings: [] });
  expect(await found(true)).toEqual([]);
});

test("the sums of an hour whose calls are forgotten are what they were when they were proved", async () => {
  await proved();
  const { retention: store } = bank.storage;
  const parts = { store, settings: () => aDay, clock: () => begin + 3 * dayMs, onError: fail };
  const job = createRetention(parts);
  await job.run();
  await job.close();
  await bank.tamper(`UPDATE usage_hours SET cost = cost + 1, requests = requests + 1 WHERE hour = ${begin + dayMs}`);
  const { findings } = await proved();
  expect(findings).toMatchObject([
    {
      kind: "forgotten_usage",
      what: "usage of all keys from 2026-06-02T00:00Z: 5 calls are written, 4 follow",
      written: 13,
      derived: 12,
    },
  ]);
  expect((await found(true)).length).toBe(1);
});

test("a call that ran for longer than calls are kept changes its forgotten hour rightly", async () => {
  await proved();
  const { retention: store } = bank.storage;
  const run = async () => {
    const parts = { store, settings: () => aDay, clock: () => begin + 3 * dayMs, onError: fail };
    const job = createRetention(parts);
    await job.run();
    await job.close();
  };
  await run();
  const names = { accountId: "acc_1", keyId: "key_1", operation: "chat", model: "m" };
  const id = newId("req", begin + 5);
  await bank.money.hold({ requestId: id, ...names, max: 9, min: 9, now });
  await bank.charge("acc_1", { id, key_id: "key_1", cost: 5, created_at: begin + 5, duration_ms: 2 * dayMs });
  expect(await found()).toEqual([]);
  await run();
  expect(await found()).toEqual([]);
});

test("many hours here and there are read in a few spans", () => {
  const hours = Array.from({ length: 200 }, (_, i) => begin + 2 * i * hourMs);
  const long = Array.from({ length: 50 }, (_, i) => begin + 100 * dayMs + i * hourMs);
  const { open, closed } = spansOf([...hours, ...long].reverse());
  expect(closed).toHaveLength(40);
  expect(open).toHaveLength(41);
  expect(closed).toContainEqual({ from: begin + 100 * dayMs, to: begin + 100 * dayMs + 50 * hourMs });
  expect(open[0]?.from).toBeUndefined();
  expect(open.at(-1)?.to).toBeUndefined();
  for (const [i, span] of closed.entries()) expect([open[i]?.to, open[i + 1]?.from]).toEqual([span.from, span.to]);
});

onSqlite(() =>
  test("the query of what was not proved follows the index of ids, and reads no other call", async () => {
    const { db } = await openDatabase(bank.database.path);
    try {
      const { open } = spansOf(Array.from({ length: 72 }, (_, i) => begin + i * hourMs));
      const query = callsIn(open, sql`cost`);
      const plan = await sql<{ detail: string }>`EXPLAIN QUERY PLAN ${query}`.execute(db);
      const reads = plan.rows.map(({ detail }) => detail).filter((detail) => detail.includes("requests"));
      expect(reads).toHaveLength(2);
      for (const read of reads) expect(read).toMatch(/^SEARCH requests USING (?:INDEX|.*PRIMARY KEY).*\(id[<>]\?/);
      expect((await query.execute(db)).rows).toHaveLength(0);
    } finally {
      await db.destroy();
    }
  }),
);

function fail(error: unknown): void {
  throw error;
}
