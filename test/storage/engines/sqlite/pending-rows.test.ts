/** What of a batch of calls may stay pending and what may not, row by row; and that a merge which fails has merged nothing. */
import { expect, test } from "vitest";
import { createLeasingLedger } from "../../../support/accelerators.ts";
import { reconcile } from "../../../support/money/proof.ts";
import { addKeys, endedCall, ledgersOfTests, mergeAll, type TestLedger } from "../../../support/money/sqlite-ledger.ts";

const open = ledgersOfTests(createLeasingLedger);
const hourMs = 3_600_000;
const count = 20;
const keyOf = (i: number) => `key_row${i.toString().padStart(2, "0")}`;

async function withKeys(): Promise<TestLedger> {
  const t = await open({ balance: 1_000_000 });
  addKeys(
    t,
    Array.from({ length: count }, (_, i) => keyOf(i)),
  );
  return t;
}

type Entries = Parameters<TestLedger["parts"]["apply"]>[0];

/** Writes entries as the journal does, where nobody else has written anything since. */
function apply(t: TestLedger, entries: Entries): void {
  t.engine.books.transact(() => t.parts.apply(entries, "nod_1", t.now() + 90_000, true));
}

/** A call of a key that is over and reserved nothing. */
function ended(t: TestLedger, id: string, key: number, cost: number, more: Parameters<typeof endedCall>[3] = {}) {
  const call = endedCall(id, cost, t.now(), { key_id: keyOf(key), ...more });
  return { kind: "settle", call, isHeld: false } as const;
}

const others = (t: TestLedger) =>
  Array.from({ length: count }, (_, i) => ({ ...ended(t, `req_o${i}`, i, 10 + i), isLimited: false }));

function rowOf(t: TestLedger, key: number, table = "api_keys") {
  const found = t.engine.books
    .prepare<[string], object>(`SELECT spent, held FROM ${table} WHERE id = ?`)
    .get(keyOf(key));
  return { ...found };
}

test("of one key those of two hours and two models are merged each into its own", async () => {
  const t = await withKeys();
  const hour = Math.floor(t.now() / hourMs) * hourMs;
  const entries = Array.from({ length: count }, (_, i) =>
    [0, 1, 2, 3].map((n) => {
      const more = { model: n % 2 === 0 ? "one" : "two", created_at: hour + (n < 2 ? 0 : hourMs) };
      return { ...ended(t, `req_${i}_${n}`, i, 10 ** n, more), isLimited: false };
    }),
  );
  apply(t, entries.flat());
  expect(t.parts.pendingTotals.isAny()).toBe(true);
  mergeAll(t);
  const hours = t.engine.books
    .prepare<[string], object>("SELECT hour, model, requests, cost FROM usage_hours WHERE key_id = ? ORDER BY cost")
    .all(keyOf(7));
  expect(hours).toEqual([
    { hour, model: "one", requests: 1, cost: 1 },
    { hour, model: "two", requests: 1, cost: 10 },
    { hour: hour + hourMs, model: "one", requests: 1, cost: 100 },
    { hour: hour + hourMs, model: "two", requests: 1, cost: 1000 },
  ]);
  expect(rowOf(t, 7)).toEqual({ spent: 1111, held: 0 });
  expect((await reconcile(t.engine)).findings).toEqual([]);
});

test("a call that has a row already releases what it held at once, and adds nothing to what is pending", async () => {
  const t = await withKeys();
  apply(t, [{ ...ended(t, "req_twice", 3, 5), isLimited: false }]);
  const names = { accountId: "acc_1", keyId: keyOf(3), operation: "chat", model: "m" };
  const times = { now: t.now(), expiresAt: t.now() + 90_000 };
  t.engine.books.transact(() =>
    t.parts.steps.hold({ requestId: "req_twice", ...names, max: 7, min: 7, node: "nod_1", ...times }),
  );
  expect(rowOf(t, 3)).toEqual({ spent: 5, held: 7 });
  const again = { ...ended(t, "req_twice", 3, 5), isHeld: true, isLimited: false };
  apply(t, [again, ...others(t)]);
  expect(t.parts.pendingTotals.isAny()).toBe(true);
  expect(rowOf(t, 3)).toEqual({ spent: 5, held: 0 });
  mergeAll(t);
  expect(rowOf(t, 3)).toEqual({ spent: 5 + 13, held: 0 });
  expect((await reconcile(t.engine)).findings).toEqual([]);
});

test("records of an older version, which do not say whether a key has a limit, are charged at once", async () => {
  const t = await withKeys();
  apply(
    t,
    others(t).map(({ isLimited: _, ...entry }) => entry),
  );
  for (let i = 0; i < count; i++) expect(rowOf(t, i)).toEqual({ spent: 10 + i, held: 0 });
});

test("a merge that fails has merged nothing, and is reported", async () => {
  const t = await withKeys();
  apply(t, others(t));
  t.engine.prepare("CREATE TRIGGER no BEFORE UPDATE ON due_merged BEGIN SELECT raise(ABORT, 'not now'); END").run();
  await t.ledger.close();
  expect(t.errors.length).toBeGreaterThan(0);
  for (let i = 0; i < count; i++) {
    expect(rowOf(t, i)).toEqual({ spent: 0, held: 0 });
    expect(rowOf(t, i, "api_keys_now")).toEqual({ spent: 10 + i, held: 0 });
  }
  expect((await reconcile(t.engine)).findings).toEqual([]);
});
