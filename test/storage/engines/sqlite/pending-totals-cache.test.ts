/** Pending totals are merged from memory where this process has written all of them, and come to what the tables say whoever writes. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { createLeasingLedger } from "../../../support/accelerators.ts";
import { reconcile } from "../../../support/money/proof.ts";
import { addKeys, endedCall, ledgersOfTests, mergeAll, type TestLedger } from "../../../support/money/sqlite-ledger.ts";

const open = ledgersOfTests(createLeasingLedger);
/** More than are written at once. */
const count = 20;
const keyOf = (i: number) => `key_due${i.toString().padStart(2, "0")}`;

async function withKeys(): Promise<TestLedger> {
  const t = await open({ balance: 1_000_000_000 });
  addKeys(
    t,
    Array.from({ length: count }, (_, i) => keyOf(i)),
  );
  return t;
}

let calls = 0;

/** A call of each key that is over, for so many times its number and one. */
function batch(t: TestLedger, times: number) {
  return Array.from({ length: count }, (_, i) => {
    const call = endedCall(`req_${++calls}`, times * (i + 1), t.now(), { key_id: keyOf(i) });
    return { kind: "settle", call, isHeld: false, isLimited: false } as const;
  });
}

const apply = (t: TestLedger, times = 1) =>
  t.engine.books.transact(() => t.parts.apply(batch(t, times), "nod_1", t.now() + 90_000, true));
const merge = (t: TestLedger, part: number) => t.engine.books.transact(() => t.parts.pendingTotals.merge(part));

/** How often each key was charged its number and one, by what its own row says; expects that all of them were as often. */
function timesCharged(t: TestLedger): number {
  const rows = t.engine.books
    .prepare<[], { spent: number; held: number }>("SELECT spent, held FROM api_keys WHERE id <> 'key_1' ORDER BY id")
    .all();
  const times = rows[0]?.spent ?? 0;
  expect(rows).toEqual(Array.from({ length: count }, (_, i) => ({ spent: times * (i + 1), held: 0 })));
  return times;
}

function forgetTables(t: TestLedger): void {
  t.engine.books.prepare("DELETE FROM due_sums").run();
}

test("what this process has written since it last merged is not read again", async () => {
  const t = await withKeys();
  mergeAll(t);
  for (let i = 0; i < 3; i++) apply(t);
  forgetTables(t);
  mergeAll(t);
  expect(timesCharged(t)).toBe(3);
});

test("what it has found when it began is read, and what comes then is not", async () => {
  const t = await withKeys();
  apply(t);
  const next = await open({}, t.path);
  apply(next);
  mergeAll(next);
  expect(timesCharged(next)).toBe(2);
  apply(next);
  forgetTables(next);
  mergeAll(next);
  expect(timesCharged(next)).toBe(3);
});

test.each(["before", "after"])("what another process has written %s is merged with it", async (when) => {
  const t = await withKeys();
  const other = await open({}, t.path);
  for (const one of [t, other]) mergeAll(one);
  for (const one of when === "before" ? [other, t] : [t, other]) apply(one);
  mergeAll(t);
  expect(timesCharged(t)).toBe(2);
  expect(t.parts.pendingTotals.isAny()).toBe(false);
});

test("what another process has merged meanwhile is not merged again, though as much is pending", async () => {
  const t = await withKeys();
  const other = await open({}, t.path);
  mergeAll(t);
  apply(t);
  mergeAll(other);
  apply(other, 10);
  mergeAll(t);
  expect(timesCharged(t)).toBe(11);
  expect((await reconcile(t.engine)).findings).toEqual([]);
});

test("what was undone is not known: a batch, a part of one, and a merge", async () => {
  const t = await withKeys();
  mergeAll(t);
  const undone = (work: () => void) =>
    expect(() =>
      t.engine.books.transact(() => {
        work();
        throw new Error("undone");
      }),
    ).toThrow("undone");
  undone(() => apply(t));
  apply(t);
  t.engine.books.transact(() => {
    undone(() => apply(t));
    apply(t);
  });
  undone(() => mergeAll(t));
  expect(timesCharged(t)).toBe(0);
  forgetTables(t);
  mergeAll(t);
  expect(timesCharged(t)).toBe(2);
});

test("what waits for a commit is done after the outermost, in its order, and not where its part is undone", async () => {
  const { books } = (await withKeys()).engine;
  const done: number[] = [];
  const noted = (number: number) => books.whenCommitted(() => done.push(number));
  books.transact(() => {
    noted(1);
    books.transact(() => noted(2));
    expect(() =>
      books.transact(() => {
        noted(3);
        throw new Error("undone");
      }),
    ).toThrow("undone");
    noted(4);
    expect(done).toEqual([]);
  });
  expect(done).toEqual([1, 2, 4]);
  expect(() =>
    books.transact(() => {
      books.transact(() => noted(5));
      throw new Error("undone");
    }),
  ).toThrow("undone");
  books.transact(() => {});
  expect(done).toEqual([1, 2, 4]);
  expect(() => noted(6)).toThrow("no transaction");
});

test("whoever writes, merges and fails in whatever order, each call counts once", async () => {
  const parts = fc.array(fc.nat(63), { minLength: 1, maxLength: 64 });
  const step = fc.oneof(
    fc.record({ kind: fc.constant("apply" as const), who: fc.nat(1), isUndone: fc.boolean() }),
    fc.record({ kind: fc.constant("merge" as const), who: fc.nat(1), isUndone: fc.boolean(), parts }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 12 }), async (steps) => {
      const t = await withKeys();
      const both = [t, await open({}, t.path)];
      let posted = 0;
      for (const [i, asked] of steps.entries()) {
        const one = both[asked.who] as TestLedger;
        const work = () => {
          if (asked.kind === "apply") apply(one, 2 ** i);
          else for (const part of asked.parts) merge(one, part);
          if (asked.isUndone) throw new Error("undone");
        };
        if (asked.isUndone) expect(() => one.engine.books.transact(work)).toThrow("undone");
        else one.engine.books.transact(work);
        if (asked.kind === "apply" && !asked.isUndone) posted += 2 ** i;
        expect((await reconcile(t.engine)).findings).toEqual([]);
      }
      mergeAll(both[1] as TestLedger);
      expect(timesCharged(t)).toBe(posted);
    }),
    { numRuns: 40 },
  );
});
