/** Sums of keys and hours that are merged later: read whole at any time, merged once, and never where a limit decides. */
import { expect, test, vi } from "vitest";
import { newId } from "../../../../src/runtime/ids.ts";
import { requestStore } from "../../../../src/storage/calls/requests.ts";
import { type BooksParts, createBooksParts } from "../../../../src/storage/engines/sqlite/books/parts.ts";
import { openDatabase } from "../../../../src/storage/engines/sqlite/database.ts";
import { createJournalBooks } from "../../../../src/storage/engines/sqlite/journal/journal-books.ts";
import { keyStore } from "../../../../src/storage/keys.ts";
import { createLeasingLedger } from "../../../support/accelerators.ts";
import { createLedger } from "../../../support/money/ledger-by-ids.ts";
import { reconcile } from "../../../support/money/proof.ts";
import {
  addKeys,
  endedCall,
  holdRequest,
  ledgersOfTests,
  mergeAll,
  type TestLedger,
  unlimitedRequest,
} from "../../../support/money/sqlite-ledger.ts";

const open = ledgersOfTests(createLeasingLedger);
const hourMs = 3_600_000;
const keyOf = (i: number) => `key_many${i.toString().padStart(2, "0")}`;
const count = 40;
const balance = 1_000_000_000;

/** Opens a ledger whose account has many keys besides, and has written once since. */
async function withKeys(limit: number | null = null, path?: string): Promise<TestLedger> {
  const t = await open({ balance }, path);
  if (path) return t;
  addKeys(
    t,
    Array.from({ length: count }, (_, i) => keyOf(i)),
    limit,
  );
  await call(t, 0, 1);
  t.ledger.flushCallsOf("acc_1");
  return t;
}

async function call(t: TestLedger, key: number, cost: number, isLimited = false): Promise<string> {
  const id = newId("req", t.now());
  const asked = isLimited ? holdRequest(id, cost + 5, cost + 5, t.now()) : unlimitedRequest(id, cost + 5, t.now());
  const asOf = t.engine.changes.version();
  expect(await t.ledger.hold({ ...asked, asOf, keyId: keyOf(key) })).toMatchObject({ kind: "held" });
  await t.ledger.capture(endedCall(id, cost, t.now(), { key_id: keyOf(key) }));
  return id;
}

/** Has every key call once, for as much as its number and ten, and all of it written. */
async function callAll(t: TestLedger, isLimited = false): Promise<void> {
  await Promise.all(Array.from({ length: count }, (_, i) => call(t, i, 10 + i, isLimited)));
  // On a busy machine it may have been written meanwhile.
  t.ledger.flushCallsOf("acc_1");
}

/** What the rows of keys say, or what is told of them, past whoever would write first. */
function spentOf(t: TestLedger, table: "api_keys" | "api_keys_now"): Record<string, number> {
  const rows = t.engine.books
    .prepare<[], { id: string; spent: number; held: number }>(
      `SELECT id, spent, held FROM ${table} WHERE id <> 'key_1'`,
    )
    .all();
  expect(rows.filter(({ held }) => held !== 0 && table === "api_keys_now")).toEqual([]);
  return Object.fromEntries(rows.map(({ id, spent }) => [id, spent]));
}

function usageOf(t: TestLedger, table: "usage_hours" | "usage_hours_now") {
  return t.engine.books
    .prepare<[], { calls: number; cost: number }>(
      `SELECT coalesce(sum(requests), 0) AS calls, coalesce(sum(cost), 0) AS cost FROM ${table}`,
    )
    .get();
}

const whole = Object.fromEntries(Array.from({ length: count }, (_, i) => [keyOf(i), 10 + i + (i === 0 ? 1 : 0)]));
const before = Object.fromEntries(Array.from({ length: count }, (_, i) => [keyOf(i), i === 0 ? 1 : 0]));
const allCost = Object.values(whole).reduce((sum, cost) => sum + cost, 0);

test("of many keys they stay pending, and are read whole and proved all the same", async () => {
  const t = await withKeys();
  await callAll(t);
  expect(spentOf(t, "api_keys")).toEqual(before);
  expect(spentOf(t, "api_keys_now")).toEqual(whole);
  expect(usageOf(t, "usage_hours")).toEqual({ calls: 1, cost: 1 });
  expect(usageOf(t, "usage_hours_now")).toEqual({ calls: count + 1, cost: allCost });
  expect(t.account().balance).toBe(balance - allCost);
  expect((await reconcile(t.engine)).findings).toEqual([]);
});

test("merged they are the rows' own, and nothing is pending", async () => {
  const t = await withKeys();
  for (let i = 0; i < 3; i++) await callAll(t);
  mergeAll(t);
  const thrice = Object.fromEntries(Object.entries(before).map(([id, first], i) => [id, first + 3 * (10 + i)]));
  expect(spentOf(t, "api_keys")).toEqual(thrice);
  expect(spentOf(t, "api_keys_now")).toEqual(thrice);
  expect(usageOf(t, "usage_hours")).toEqual(usageOf(t, "usage_hours_now"));
  expect(t.parts.pendingTotals.isAny()).toBe(false);
  expect(t.engine.books.prepare<[]>("SELECT 1 FROM due_sums").all()).toEqual([]);
  expect((await reconcile(t.engine)).findings).toEqual([]);
});

test("merged in part, by two processes in turn and more than once, they count once", async () => {
  const t = await withKeys();
  const other = await withKeys(null, t.path);
  await callAll(t);
  expect(spentOf(t, "api_keys")).toEqual(before);
  for (let part = 0; part < t.parts.pendingTotals.parts; part++) {
    for (const { engine, parts } of part % 2 === 0 ? [t, other] : [other, t, other]) {
      engine.books.transact(() => parts.pendingTotals.merge(part));
      expect(spentOf(other, "api_keys_now")).toEqual(whole);
      expect((await reconcile(other.engine)).findings).toEqual([]);
    }
  }
  expect(spentOf(t, "api_keys")).toEqual(whole);
  expect(t.parts.pendingTotals.isAny()).toBe(false);
  // What comes after all was merged is due anew.
  await callAll(t);
  expect(usageOf(t, "usage_hours_now")).toEqual({ calls: 2 * count + 1, cost: 2 * allCost - 1 });
  mergeAll(other);
  expect(usageOf(t, "usage_hours")).toEqual({ calls: 2 * count + 1, cost: 2 * allCost - 1 });
});

test("calls that run are held of their keys, pending or not, and released when they have ended", async () => {
  const t = await withKeys();
  const ids = Array.from({ length: count }, (_, i) => `run_${i}`);
  const asOf = t.engine.changes.version();
  await Promise.all(ids.map((id, i) => t.ledger.hold({ ...unlimitedRequest(id, 7, t.now()), asOf, keyId: keyOf(i) })));
  await callAll(t);
  const held = () =>
    t.engine.books.prepare<[], { held: number }>("SELECT sum(held) AS held FROM api_keys_now").get()?.held;
  expect(held()).toBe(7 * count);
  expect((await reconcile(t.engine)).findings).toEqual([]);
  mergeAll(t);
  expect(held()).toBe(7 * count);
  await Promise.all(ids.map((id, i) => t.ledger.capture(endedCall(id, 3, t.now(), { key_id: keyOf(i) }))));
  t.ledger.flushCallsOf("acc_1");
  expect(held()).toBe(0);
  mergeAll(t);
  expect(held()).toBe(0);
  expect((await reconcile(t.engine)).findings).toEqual([]);
});

test("a key with a limit has them at once", async () => {
  const t = await withKeys(10_000_000);
  // Of the second time nothing but the limit keeps them from staying due, as the hours do.
  await callAll(t, true);
  expect(spentOf(t, "api_keys")).toEqual(whole);
  await callAll(t, true);
  const twice = Object.fromEntries(Object.entries(whole).map(([id, once], i) => [id, once + 10 + i]));
  expect(t.parts.pendingTotals.isAny()).toBe(true);
  expect(spentOf(t, "api_keys")).toEqual(twice);
  expect((await reconcile(t.engine)).findings).toEqual([]);
  mergeAll(t);
  expect(spentOf(t, "api_keys")).toEqual(twice);
});

test("giving a key a limit finds them in its own row", async () => {
  const t = await withKeys();
  const { db, engine } = await openDatabase(t.path);
  await callAll(t);
  const keys = keyStore(engine.scope);
  expect((await keys.find("acc_1", keyOf(5)))?.spent).toBe(15);
  expect(await keys.update("acc_1", keyOf(5), { credit_limit: 14 })).toMatchObject({
    kind: "below",
    key: { spent: 15 },
  });
  expect(await keys.update("acc_1", keyOf(5), { credit_limit: 20 })).toMatchObject({
    kind: "updated",
    key: { spent: 15 },
  });
  expect(spentOf(t, "api_keys")[keyOf(5)]).toBe(15);
  const secret = { hash: "new", mask: "m", previousUntil: null };
  expect(await keys.rotate("acc_1", keyOf(6), secret)).toMatchObject({ spent: 16 });
  expect((await keys.list("acc_1")).find(({ id }) => id === keyOf(7))?.spent).toBe(17);
  expect(await keys.findWithAccount(keyOf(8))).toMatchObject({ spent: 18, account_balance: balance - allCost });
  await db.destroy();
});

test("a key that is given a limit while its call runs is charged at once", async () => {
  const t = await withKeys();
  const { db, engine } = await openDatabase(t.path);
  const asOf = t.engine.changes.version();
  await t.ledger.hold({ ...unlimitedRequest("long", 1000, t.now()), asOf, keyId: keyOf(5) });
  await callAll(t);
  expect(await keyStore(engine.scope).update("acc_1", keyOf(5), { credit_limit: 1100 })).toMatchObject({
    kind: "updated",
  });
  // The first write that finds it changed, and another.
  await call(t, 1, 3);
  t.ledger.flushCallsOf("acc_1");
  await t.ledger.capture(endedCall("long", 1, t.now(), { key_id: keyOf(5) }));
  await callAll(t);
  expect(t.parts.pendingTotals.isAny()).toBe(true);
  const row = t.engine.books.prepare<[string], object>("SELECT spent, held FROM api_keys WHERE id = ?").get(keyOf(5));
  expect(row).toEqual({ spent: 15 + 1, held: 0 });
  await db.destroy();
});

test("where another process has changed anything, they are written at once", async () => {
  const t = await withKeys();
  const other = await withKeys(null, t.path);
  await Promise.all(Array.from({ length: count }, (_, i) => call(t, i, 10 + i)));
  other.engine.prepare<[]>("UPDATE api_keys SET credit_limit = 100 WHERE id = 'key_many05'").run();
  t.ledger.flushCallsOf("acc_1");
  expect(spentOf(t, "api_keys")).toEqual(whole);
});

test("sums of few keys are written at once", async () => {
  const t = await withKeys();
  await Promise.all(Array.from({ length: 16 }, (_, i) => call(t, i, 10)));
  t.ledger.flushCallsOf("acc_1");
  expect(t.parts.pendingTotals.isAny()).toBe(false);
  expect(spentOf(t, "api_keys")[keyOf(15)]).toBe(10);
});

test("a key's calls are found while its hours are pending", async () => {
  const t = await withKeys();
  const { db, engine } = await openDatabase(t.path);
  await callAll(t);
  const requests = requestStore(engine.scope);
  const filter = { accountId: "acc_1", keyId: keyOf(9) };
  const hour = Math.floor(t.now() / hourMs) * hourMs;
  const sums = { from: hour, to: hour + hourMs, bucketMs: hourMs, byKey: false, byModel: false, limit: 10 };
  expect(await requests.sums({ ...filter, ...sums })).toMatchObject([{ requests: 1, cost: 19 }]);
  expect(await requests.page(filter, undefined, 10)).toMatchObject([{ key_id: keyOf(9), cost: 19 }]);
  await db.destroy();
});

test("they are found right after their answers", async () => {
  const t = await withKeys();
  const { db } = await openDatabase(t.path);
  const requests = requestStore(t.engine.scope);
  await Promise.all(Array.from({ length: count }, (_, i) => call(t, i, 10 + i)));
  expect(await requests.page({ accountId: "acc_1", keyId: keyOf(9) }, undefined, 10)).toMatchObject([{ cost: 19 }]);
  await db.destroy();
});

test("they are found while another process writes", async () => {
  const t = await withKeys();
  const { db, engine } = await openDatabase(t.path);
  const requests = requestStore(t.engine.scope);
  await callAll(t);
  engine.books.prepare<[]>("BEGIN IMMEDIATE").run();
  expect(await requests.page({ accountId: "acc_1", keyId: keyOf(9) }, undefined, 10)).toMatchObject([{ cost: 19 }]);
  engine.books.prepare<[]>("COMMIT").run();
  await db.destroy();
});

test("an error in the look for pending totals fails no write", async () => {
  const t = await withKeys();
  const { db, engine } = await openDatabase(t.path);
  const failing = () => {
    throw new Error("disk I/O error");
  };
  const errors: unknown[] = [];
  const made = createBooksParts(engine);
  const parts: BooksParts = { ...made, pendingTotals: { ...made.pendingTotals, isAny: failing } };
  const openBooks: TestLedger["openBooks"] = (options) => createJournalBooks(parts, options);
  const ledger = createLedger({ openBooks, clock: t.now, onError: (error) => errors.push(error) }, createLeasingLedger);
  const other: TestLedger = { ...t, engine, parts, openBooks, ledger };
  for (let i = 0; i < 2; i++) {
    await Promise.all(Array.from({ length: count }, (_, key) => call(other, key, 10)));
    expect(ledger.flushCallsOf("acc_1")).toBe(true);
    expect(ledger.flushCallsOf("acc_1")).toBe(false);
  }
  expect(errors).toContainEqual(new Error("disk I/O error"));
  await ledger.close();
  expect((await reconcile(engine)).findings).toEqual([]);
  await db.destroy();
});

test("they are merged in the end, also those that a process has left which was killed", async () => {
  const t = await withKeys();
  await callAll(t);
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    const next = await withKeys(null, t.path);
    expect(spentOf(next, "api_keys")).toEqual(before);
    vi.advanceTimersByTime(60_000);
    expect(spentOf(next, "api_keys")).toEqual(whole);
    expect(next.parts.pendingTotals.isAny()).toBe(false);
    expect(next.errors).toEqual([]);
  } finally {
    vi.useRealTimers();
  }
});

test("a process that lives merges what it has left pending", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    const t = await withKeys();
    await callAll(t);
    expect(spentOf(t, "api_keys")).toEqual(before);
    vi.advanceTimersByTime(60_000);
    expect(spentOf(t, "api_keys")).toEqual(whole);
    expect(t.parts.pendingTotals.isAny()).toBe(false);
  } finally {
    vi.useRealTimers();
  }
});

test("closing leaves none", async () => {
  const t = await withKeys();
  await callAll(t);
  expect(t.parts.pendingTotals.isAny()).toBe(true);
  await t.ledger.close();
  expect(t.parts.pendingTotals.isAny()).toBe(false);
  expect(spentOf(t, "api_keys")).toEqual(whole);
});
