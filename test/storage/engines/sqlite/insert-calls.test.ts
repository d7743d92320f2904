/** Calls that are written many in one transaction: each is written as it says, once, whatever is known of the others. */
import { expect, test } from "vitest";
import { createLeasingLedger } from "../../../support/accelerators.ts";
import { reconcile } from "../../../support/money/proof.ts";
import { endedCall, ledgersOfTests, type TestLedger } from "../../../support/money/sqlite-ledger.ts";

const open = ledgersOfTests(createLeasingLedger);
const ample = 1_000_000;
const count = 100;

type Entries = Parameters<TestLedger["parts"]["apply"]>[0];
type Ended = Entries[number] & { readonly kind: "settle" };

function apply(t: TestLedger, entries: Entries): void {
  t.engine.books.transact(() => t.parts.apply(entries, "nod_1", t.now() + 90_000));
}

function ended(t: TestLedger, i: number, more: Parameters<typeof endedCall>[3] = {}): Ended {
  const numbers = {
    input: i,
    cache_read: i + 1,
    cache_write: i + 2,
    output: i + 3,
    reasoning: i + 4,
    characters: i + 5,
  };
  const times = { duration_ms: i, first_byte_ms: i % 2 === 0 ? null : i };
  const call = endedCall(`req_${i}`, i, t.now() + i, { ...numbers, ...times, tried: null, cached: 0, ...more });
  return { kind: "settle", call, isHeld: false };
}

const all = (t: TestLedger) => Array.from({ length: count }, (_, i) => ended(t, i));

function rows(t: TestLedger): Record<string, unknown>[] {
  return t.engine.prepare<[], Record<string, unknown>>("SELECT * FROM requests ORDER BY created_at").all();
}

const costs = (entries: readonly Ended[]) => entries.reduce((sum, { call }) => sum + call.cost, 0);

async function expectCharged(t: TestLedger, cost: number): Promise<void> {
  expect(t.account()).toEqual({ balance: ample - cost, held: 0 });
  expect(t.key()).toEqual({ spent: cost, held: 0 });
  expect((await reconcile(t.engine)).findings).toEqual([]);
}

test("each is written as it says, of whatever kind it is", async () => {
  const t = await open({ balance: ample });
  const kinds = [{}, { model: "other" }, { upstream: "v" }, { operation: "embeddings" }, { outcome: 3 }];
  const rare = [{ estimated: 1 }, { cached: 1 }, { tried: '[{"upstream":"x"}]' }, { model: "a" }, { model: "b" }];
  const entries = all(t).map((_, i) => ended(t, i, [...kinds, ...rare][i % 10]));
  apply(t, entries);
  expect(rows(t)).toEqual(entries.map(({ call }) => ({ ...call, waived: 0 })));
  const types = t.engine
    .prepare("SELECT DISTINCT typeof(input) || typeof(cost) || typeof(outcome) FROM requests")
    .all();
  expect(types.map((row) => Object.values(row))).toEqual([["integerintegerinteger"]]);
  await expectCharged(t, costs(entries));
});

test("one that is known already, or comes twice, is charged once, and the others all the same", async () => {
  const t = await open({ balance: ample });
  apply(t, [ended(t, 40)]);
  await expectCharged(t, 40);
  const entries = all(t);
  apply(t, [...entries, ended(t, 3), ...entries.slice(0, 50)]);
  expect(rows(t)).toEqual(entries.map(({ call }) => ({ ...call, waived: 0 })));
  await expectCharged(t, costs(entries));
});

test("one that was taken for lost is charged in the midst of others", async () => {
  const t = await open({ balance: ample });
  const insert = t.engine.prepare<[string, number]>(
    `INSERT INTO requests (id, account_id, key_id, operation, model, upstream, outcome, created_at, duration_ms)
     VALUES (?, 'acc_1', 'key_1', 'chat', 'm', '', 5, ?, 0)`,
  );
  insert.run("req_40", t.now());
  const entries = all(t);
  apply(t, entries);
  expect(rows(t)).toEqual(entries.map(({ call }) => ({ ...call, waived: 0 })));
  await expectCharged(t, costs(entries));
});

test("one that cannot be written fails all, and nothing of them is written", async () => {
  const t = await open({ balance: ample });
  const entries = all(t).with(40, ended(t, 40, { input: null as unknown as number }));
  expect(() => apply(t, entries)).toThrow("NOT NULL");
  expect(rows(t)).toEqual([]);
  await expectCharged(t, 0);
});

test("one that cannot even be bound fails all as well, whatever was written before it", async () => {
  const t = await open({ balance: ample });
  const entries = all(t).with(40, ended(t, 40, { input: {} as unknown as number }));
  expect(() => apply(t, entries)).toThrow("parameter");
  expect(rows(t)).toEqual([]);
  await expectCharged(t, 0);
});

test("a disk that is full fails all at once: none is tried alone", async () => {
  const t = await open({ balance: ample });
  const { page_count } = t.engine.books.prepare<[], { page_count: number }>("PRAGMA page_count").get() ?? {};
  t.engine.books.prepare(`PRAGMA max_page_count = ${page_count}`).get();
  const many = all(t).flatMap((_, i) => all(t).map((_, j) => ended(t, i * count + j)));
  expect(() => apply(t, many)).toThrow("full");
  t.engine.books.prepare("PRAGMA max_page_count = 1000000").get();
  expect(rows(t)).toEqual([]);
  apply(t, all(t));
  await expectCharged(t, costs(all(t)));
});

test("one that comes later than calls are kept is set aside, and not charged: it may have been charged and forgotten", async () => {
  const t = await open({ balance: ample });
  t.engine.prepare<[]>("INSERT INTO kept_from VALUES ('requests', 5, 'req_5')").run();
  const entries = all(t).slice(0, 8);
  expect(() => apply(t, entries)).toThrow("req_1 is older than calls are kept");
  for (const entry of entries) {
    const isLate = entry.call.id < "req_5" && entry.call.cost > 0;
    if (isLate) expect(() => apply(t, [entry])).toThrow(RangeError);
    else apply(t, [entry]);
  }
  expect(rows(t).map(({ id }) => id)).toEqual(["req_0", "req_5", "req_6", "req_7"]);
  await expectCharged(t, 18);
});
