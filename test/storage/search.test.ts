/**
 * Calls that no index leads to, of a key, of a model, or that cost something: all of them are found, newest first, page by
 * page, and others have their turn meanwhile.
 */

import fc from "fast-check";
import { afterEach, beforeEach, expect, test } from "vitest";
import { holdMs } from "../../src/ledger/contract.ts";
import { newId } from "../../src/runtime/ids.ts";
import type { RequestFilter } from "../../src/storage/calls/requests-query.ts";
import { searchAll } from "../../src/storage/calls/search.ts";
import type { CallRow } from "../../src/storage/columns.ts";
import { openDatabase } from "../../src/storage/engines/sqlite/database.ts";
import type { Capture } from "../../src/storage/money/contract.ts";
import { type Bank, openBank } from "../support/money/bank.ts";
import { onSqlite } from "../support/storage/test-database.ts";

const hourMs = 3_600_000;
const begun = Date.UTC(2026, 0, 1);
let bank: Bank;

beforeEach(async () => {
  bank = await openBank();
  for (const id of ["acc_1", "acc_2"]) {
    await bank.storage.accounts.insert({ id, name: id, created_at: 1 });
    await bank.storage.entries.record({ id: `led_${id}`, accountId: id, kind: 1, amount: 1e9, note: null, now: 1 });
  }
});

afterEach(() => bank.close());

const callAt = (cameAt: number, call: Partial<Capture> & { readonly key_id: string }) => ({
  ...{ id: newId("req", cameAt), created_at: cameAt, cost: 1 },
  ...call,
});
const charge = (account: string, ...[cameAt, call]: Parameters<typeof callAt>) =>
  bank.charge(account, callAt(cameAt, call));

async function found(filter: Partial<RequestFilter>, limit: number): Promise<CallRow[]> {
  const all: CallRow[] = [];
  for (;;) {
    const page = await bank.storage.requests.page({ accountId: "acc_1", ...filter }, all.at(-1)?.id, limit);
    all.push(...page);
    if (page.length < limit) return all;
  }
}

function isMeant(call: CallRow, { keyId, model, isCharged, outcomes = [], from, to }: Partial<RequestFilter>): boolean {
  return (
    (keyId === undefined || call.key_id === keyId) &&
    (model === undefined || call.model === model) &&
    (!isCharged || call.cost > 0) &&
    (outcomes.length === 0 || outcomes.includes(call.outcome)) &&
    (from === undefined || call.created_at >= from) &&
    (to === undefined || call.created_at < to)
  );
}

const option = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });
const moment = fc.integer({ min: begun - hourMs, max: begun + 51 * hourMs });
const filters = fc.record({
  ...{ keyId: option(fc.constantFrom("key_1", "key_2", "key_9")), model: option(fc.constantFrom("m", "n")) },
  ...{
    isCharged: fc.boolean(),
    outcomes: fc.constantFrom([], [1], [2], [2, 5]),
    from: option(moment),
    to: option(moment),
  },
});

test("every filter finds what it means, in order, whatever the size of its pages", async () => {
  const calls = fc.sample(
    fc.record({
      at: fc.integer({ min: 0, max: 50 * hourMs }),
      /** How long its body took: up to an hour. */
      body: fc.oneof(fc.nat({ max: 1000 }), fc.nat({ max: hourMs })),
      call: fc.record({
        ...{ key_id: fc.constantFrom("key_1", "key_1", "key_1", "key_2"), model: fc.constantFrom("m", "m", "n") },
        ...{ cost: fc.constantFrom(0, 0, 3), outcome: fc.constantFrom(1, 1, 2, 5) },
      }),
    }),
    { numRuns: 400, seed: 7 },
  );
  for (const { at, body, call } of calls) await charge("acc_1", begun + at, { ...call, created_at: begun + at + body });
  await charge("acc_2", begun, { key_id: "key_9" });
  const all = await found({}, 1000);
  expect(all).toHaveLength(400);
  await fc.assert(
    fc.asyncProperty(filters, fc.integer({ min: 1, max: 60 }), async (filter, limit) => {
      expect(await found(filter, limit)).toEqual(all.filter((call) => isMeant(call, filter)));
    }),
    { numRuns: 200 },
  );
});

test("a rare key among many calls is found step by step, while others have their turn", async () => {
  const { requests } = bank.storage;
  await charge("acc_1", begun, { key_id: "key_2" });
  const busy = Array.from({ length: 5000 }, (_, i) => callAt(begun + i + 1, { key_id: "key_1" }));
  await bank.charge("acc_1", ...busy);
  let turns = 0;
  const counting = setInterval(() => turns++, 0);
  const [only, ...others] = await requests.page({ accountId: "acc_1", keyId: "key_2" }, undefined, 50);
  clearInterval(counting);
  expect([only?.created_at, others.length]).toEqual([begun, 0]);
  expect(turns).toBeGreaterThan(0);
});

test("a call is found whose clock was set back while it came", async () => {
  const at = begun + 5 * hourMs;
  await charge("acc_1", at + 1, { key_id: "key_1", created_at: at - 1 });
  expect(await found({ keyId: "key_1" }, 5)).toHaveLength(1);
  expect(await found({ isCharged: true }, 5)).toHaveLength(1);
});

test("a search ends when its caller disconnects", async () => {
  for (let hour = 0; hour < 5; hour++) await charge("acc_1", begun + hour * hourMs, { key_id: "key_1" });
  const signal = { aborted: false };
  const searching = bank.storage.requests.page({ accountId: "acc_1", keyId: "key_1" }, undefined, 50, signal);
  signal.aborted = true;
  expect((await searching).length).toBeLessThan(5);
});

test("a charge is found behind many hours of calls that cost nothing", async () => {
  await charge("acc_1", begun, { key_id: "key_1" });
  for (let hour = 1; hour <= 120; hour++) await charge("acc_1", begun + hour * hourMs, { key_id: "key_1", cost: 0 });
  expect(await found({ isCharged: true }, 5)).toMatchObject([{ created_at: begun }]);
});

test("a call that was lost is found by its key, and counts for no sum", async () => {
  await charge("acc_1", begun, { key_id: "key_1" });
  const names = { accountId: "acc_1", keyId: "key_1", operation: "chat", model: "lost" };
  const now = begun + 5 * hourMs;
  const requestId = newId("req", now);
  await bank.money.hold({ requestId, ...names, max: 9, min: 9, now });
  await bank.money.expire(now + holdMs);
  expect(await found({ keyId: "key_1", model: "lost" }, 5)).toMatchObject([{ id: requestId, outcome: 5 }]);
  const span = { from: begun, to: begun + 24 * hourMs, bucketMs: hourMs, byKey: false, byModel: true, limit: 9 };
  expect(await bank.storage.requests.sums({ accountId: "acc_1", ...span })).toMatchObject([
    { model: "m", requests: 1 },
  ]);
});

onSqlite(() =>
  test("the hours of a key and of a model are looked up along an index", async () => {
    const { db, engine } = await openDatabase(bank.database.path);
    for (const [column, index] of [
      ["key_id", "usage_hours_of_key"],
      ["model", "usage_hours_of_model"],
    ]) {
      const sql = `SELECT hour FROM usage_hours WHERE account_id = ? AND ${column} = ? AND hour < ? ORDER BY hour DESC LIMIT 1`;
      const plan = engine.prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`).all("a", "b", 1);
      expect(plan.map(({ detail }) => detail).join("; ")).toMatch(new RegExp(`USING (COVERING )?INDEX ${index} `));
      expect(plan.map(({ detail }) => detail).join("; ")).not.toContain("TEMP B-TREE");
    }
    await db.destroy();
  }),
);

onSqlite(() =>
  test("a search among all accounts pauses after so many calls, and goes on from there until all are found", async () => {
    const rare = [3, 2500, 4999].map((at) => begun + at);
    const calls = Array.from({ length: 5000 }, (_, at) =>
      callAt(begun + at, { key_id: "key_1", upstream: rare.includes(begun + at) ? "rare" : "usual" }),
    );
    await bank.charge("acc_1", ...calls.filter((_, at) => at % 2 === 0));
    await bank.charge("acc_2", ...calls.filter((_, at) => at % 2 === 1));
    const { db } = await openDatabase(bank.database.path);
    const pages: number[][] = [];
    for (let before: string | undefined; ; ) {
      const page = await searchAll(db, { filter: { upstream: "rare" }, before, limit: 2 }, undefined, 2000);
      pages.push(page.rows.map(({ created_at }) => created_at));
      before = page.readUntil;
      if (before === undefined) break;
    }
    await db.destroy();
    // Two thousand calls a page: the second has none.
    expect(pages).toEqual([[begun + 4999], [begun + 2500], [begun + 3]]);
  }),
);
