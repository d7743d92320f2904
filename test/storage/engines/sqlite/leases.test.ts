/**
 * Where credit is ample a process leases some of it and writes charges into a journal: what others see of that, and what is left of it
 * when the process dies. `test/ledger/leases.test.ts` has what every engine does.
 */
import Sqlite from "better-sqlite3";
import { afterEach, describe, expect, test, vi } from "vitest";
import { holdMs } from "../../../../src/ledger/contract.ts";
import { createSegments } from "../../../../src/storage/journal/segments.ts";
import { maxWaitMs } from "../../../../src/storage/money/books.ts";
import { createLeasingLedger } from "../../../support/accelerators.ts";
import { createLedger } from "../../../support/money/ledger-by-ids.ts";
import { reconcile } from "../../../support/money/proof.ts";
import {
  endedCall,
  ledgersOfTests,
  sweptByAnother,
  type TestLedger,
  unlimitedRequest,
} from "../../../support/money/sqlite-ledger.ts";

const ledgerOf = ledgersOfTests(createLeasingLedger);

afterEach(() => void vi.useRealTimers());

const ample = 1_000_000;

/** What is written, as another process would read it: nothing is written up for it. */
function onDisk(path: string): Record<string, number> {
  const sqlite = new Sqlite(path, { readonly: true });
  try {
    const row = (sql: string) => sqlite.prepare(sql).get() as Record<string, number>;
    return {
      ...row("SELECT balance, held FROM accounts"),
      ...row("SELECT spent, held AS held_of_key FROM api_keys"),
      ...row("SELECT count(*) AS requests FROM requests"),
      noted: notedAt(path),
      ...row("SELECT count(*) AS calls FROM holds WHERE operation <> ''"),
    };
  } finally {
    sqlite.close();
  }
}

/** How many notes are not written where they belong, or cannot be. */
function notedAt(path: string): number {
  const sqlite = new Sqlite(path, { readonly: true });
  try {
    const posted = sqlite.prepare("SELECT posted FROM journals WHERE node = ?").pluck();
    const aside = sqlite.prepare("SELECT count(*) FROM set_aside").pluck().get() as number;
    const files = createSegments(`${path}.notes`, false);
    const waiting = files.nodes().flatMap((node) => {
      const before = (posted.get(node) as number | undefined) ?? 0;
      return (files.read(node)?.lines ?? []).filter(({ text }) => JSON.parse(text).seq > before);
    });
    return waiting.length + aside;
  } finally {
    sqlite.close();
  }
}

describe("a lease", () => {
  test("serves calls after the first without another look at the database", async () => {
    const t = await ledgerOf({ balance: ample });
    const grown = vi.spyOn(t.parts.steps, "grant");
    for (let i = 0; i < 100; i++) {
      expect(await t.ledger.hold(unlimitedRequest(`r${i}`, 10, t.now()))).toEqual({ kind: "held", amount: 10 });
      expect(await t.ledger.capture(endedCall(`r${i}`, 4, t.now()))).toEqual({ cost: 4, waived: 0 });
    }
    expect(grown).toHaveBeenCalledTimes(1);
    expect(t.account()).toEqual({ balance: ample - 400, held: 0 });
    expect(t.key()).toEqual({ spent: 400, held: 0 });
  });

  test("that nobody uses is given back", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout"] });
    const t = await ledgerOf({ balance: ample });
    await t.ledger.hold(unlimitedRequest("r1", 10, t.now()));
    await t.ledger.capture(endedCall("r1", 10, t.now()));
    vi.advanceTimersByTime(100);
    expect(onDisk(t.path)).toMatchObject({ balance: ample - 10, held: 31240, noted: 0 });
    vi.advanceTimersByTime(10_000);
    expect(onDisk(t.path)).toMatchObject({ balance: ample - 10, held: 0 });
  });

  test("that could not be given back while the database was locked for long goes with what is written next", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout"] });
    const t = await ledgerOf({ balance: ample });
    await t.ledger.hold(unlimitedRequest("r1", 10, t.now()));
    await t.ledger.capture(endedCall("r1", 10, t.now()));
    vi.advanceTimersByTime(100);
    const locker = new Sqlite(t.path);
    locker.exec("BEGIN IMMEDIATE");
    await vi.advanceTimersByTimeAsync(20_000);
    locker.exec("ROLLBACK");
    locker.close();
    await t.ledger.hold(unlimitedRequest("r2", 10, t.now()));
    await t.ledger.capture(endedCall("r2", 10, t.now()));
    await vi.advanceTimersByTimeAsync(20_000);
    expect(onDisk(t.path)).toMatchObject({ balance: ample - 20, held: 0 });
  });
});

describe("the journal of a process that died", () => {
  /** A process that is killed: nothing of it runs any more, and nothing is written up. */
  async function dead(): Promise<TestLedger> {
    vi.useFakeTimers({ toFake: ["setTimeout"] });
    const t = await ledgerOf({ balance: ample });
    await t.ledger.hold(unlimitedRequest("running", 10, t.now()));
    vi.advanceTimersByTime(100);
    await t.ledger.hold(unlimitedRequest("answered", 10, t.now()));
    await t.ledger.capture(endedCall("answered", 4, t.now()));
    expect(onDisk(t.path)).toMatchObject({ balance: ample, requests: 0, noted: 1, calls: 1 });
    return t;
  }

  test("is charged by another, once, and what still ran is lost", async () => {
    const t = await dead();
    const other = await sweptByAnother(ledgerOf({}, t.path));
    const written = { balance: ample - 4, spent: 4, held: 0, held_of_key: 0, requests: 2, noted: 0, calls: 0 };
    expect(onDisk(t.path)).toEqual(written);
    const outcomes = other.engine.prepare("SELECT id, outcome, cost FROM requests ORDER BY id").all();
    expect(outcomes).toEqual([
      { id: "answered", outcome: 1, cost: 4 },
      { id: "running", outcome: 5, cost: 0 },
    ]);
  });

  test("is not charged again by a process that only slept", async () => {
    const t = await dead();
    await sweptByAnother(ledgerOf({}, t.path));
    t.pass(holdMs);
    expect(await t.ledger.capture(endedCall("running", 6, t.now()))).toEqual({ cost: 6, waived: 0 });
    await t.ledger.sweep();
    expect(t.account()).toEqual({ balance: ample - 10, held: 0 });
    expect(t.key()).toEqual({ spent: 10, held: 0 });
  });

  test("is charged where its process slept, and then had it reserve anew for another model", async () => {
    const t = await dead();
    await sweptByAnother(ledgerOf({}, t.path));
    t.pass(holdMs);
    await t.ledger.sweep();
    await t.ledger.release("running");
    expect(await t.ledger.hold(unlimitedRequest("running", 10, t.now()))).toEqual({ kind: "held", amount: 10 });
    expect(await t.ledger.capture(endedCall("running", 6, t.now()))).toEqual({ cost: 6, waived: 0 });
    const rows = t.engine.prepare("SELECT outcome, cost FROM requests WHERE id = 'running'").all();
    expect(rows).toEqual([{ outcome: 1, cost: 6 }]);
    expect(t.account()).toEqual({ balance: ample - 10, held: 0 });
    expect(t.key()).toEqual({ spent: 10, held: 0 });
    expect((await reconcile(t.engine)).findings).toEqual([]);
  });

  test("is charged by what is left, once its process knows that it slept", async () => {
    const t = await dead();
    const other = await sweptByAnother(ledgerOf({}, t.path));
    t.pass(holdMs);
    await t.ledger.sweep();
    other.engine.prepare("UPDATE accounts SET balance = 0").run();
    expect(await t.ledger.capture(endedCall("running", 6, t.now()))).toEqual({ cost: 0, waived: 6 });
  });
});

test("a disk that is full for a while makes no charge disappear", async () => {
  const t = await ledgerOf({ balance: ample });
  const post = vi.spyOn(t.parts, "apply").mockImplementation(() => {
    throw Object.assign(new Error("database or disk is full"), { code: "SQLITE_FULL" });
  });
  const ledger = createLedger({ openBooks: t.openBooks, clock: t.now, onError: () => {} }, createLeasingLedger);
  await ledger.hold(unlimitedRequest("r1", 10, t.now()));
  await ledger.capture(endedCall("r1", 10, t.now()));
  expect(() => t.account()).toThrow("full");
  post.mockRestore();
  expect(t.account()).toEqual({ balance: ample - 10, held: 0 });
  await ledger.close();
});

test("a read does not wait for another process that writes", async () => {
  const t = await ledgerOf({ balance: ample });
  await t.ledger.hold(unlimitedRequest("r1", 10, t.now()));
  const other = new Sqlite(t.path);
  other.exec("BEGIN IMMEDIATE");
  const begun = performance.now();
  expect(t.account().balance).toBe(ample);
  expect(performance.now() - begun).toBeLessThan(maxWaitMs / 2);
  other.exec("COMMIT");
  other.close();
});

test("a call that cannot be written is left for somebody to look at, and keeps no other from it", async () => {
  const t = await ledgerOf({ balance: ample });
  for (const id of ["good", "bad", "fine"]) await t.ledger.hold(unlimitedRequest(id, 10, t.now()));
  await t.ledger.capture(endedCall("good", 4, t.now()));
  await t.ledger.capture(endedCall("bad", 4, t.now(), { model: null as unknown as string }));
  await t.ledger.capture(endedCall("fine", 4, t.now()));
  expect(t.account().balance).toBe(ample - 8);
  expect(t.errors.map(String)).toContainEqual(expect.stringContaining("NOT NULL"));
  expect(onDisk(t.path)).toMatchObject({ requests: 2, noted: 1 });
  await t.ledger.hold(unlimitedRequest("later", 10, t.now()));
  await t.ledger.capture(endedCall("later", 4, t.now()));
  expect(t.account().balance).toBe(ample - 12);
  expect(onDisk(t.path)).toMatchObject({ requests: 3, noted: 1 });
  const { findings } = await reconcile(t.engine);
  expect(findings).toContainEqual(expect.objectContaining({ what: expect.stringContaining("set aside"), derived: 4 }));
});
