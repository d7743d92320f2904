/**
 * Holds and captures: what no number of calls, processes and crashes may break.
 */
import { describe, expect, test } from "vitest";
import { holdMs, sweepMs } from "../../src/ledger/contract.ts";
import { endedCall, holdRequest, ledgersOfTests, type TestLedger } from "../support/money/ledger.ts";

const ledgerOf = ledgersOfTests();

async function rowOf(t: TestLedger, id: string) {
  return (await t.calls()).find((call) => call.id === id);
}

/** Lets time pass for a gateway that lives. */
async function liveOn({ pass, ledger }: TestLedger, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += sweepMs) {
    await pass(Math.min(sweepMs, ms - passed));
    await ledger.sweep();
  }
}

/** What is written as held, without a word to the ledgers that hold it. */
const heldOf = ({ database }: TestLedger) => database.query("SELECT held FROM accounts_now");

describe("a hold", () => {
  test("takes what is wanted while the balance covers it, and refuses with what is left", async () => {
    const t = await ledgerOf({ balance: 100 });
    expect(await t.ledger.hold(holdRequest("r1", 60, 60, t.now()))).toEqual({ kind: "held", amount: 60 });
    expect(await t.ledger.hold(holdRequest("r2", 60, 60, t.now()))).toEqual({
      kind: "short",
      of: "balance",
      available: 40,
    });
    expect(await t.account()).toEqual({ balance: 100, held: 60 });
    expect(await t.key()).toEqual({ spent: 0, held: 60 });
  });

  test("names the key's limit where that is what falls short, and leaves the account untouched", async () => {
    const t = await ledgerOf({ balance: 1000, limit: 50 });
    expect(await t.ledger.hold(holdRequest("r1", 60, 60, t.now()))).toEqual({
      kind: "short",
      of: "limit",
      available: 50,
    });
    expect((await t.account()).held).toBe(0);
    expect((await t.key()).held).toBe(0);
  });

  test("frees the key again where the account falls short", async () => {
    const t = await ledgerOf({ balance: 10, limit: 1000 });
    expect(await t.ledger.hold(holdRequest("r1", 60, 60, t.now()))).toMatchObject({ kind: "short", of: "balance" });
    expect((await t.key()).held).toBe(0);
  });

  test("is content with what there is, if that is enough", async () => {
    const t = await ledgerOf({ balance: 100, limit: 80 });
    expect(await t.ledger.hold(holdRequest("r1", 500, 20, t.now()))).toEqual({ kind: "held", amount: 80 });
    expect(await t.ledger.hold(holdRequest("r2", 500, 20, t.now()))).toMatchObject({ kind: "short", available: 0 });
  });

  test("goes below zero for an account that is billed afterwards, and not beyond its key's limit", async () => {
    const t = await ledgerOf({ balance: 0, postpaid: true, limit: 100 });
    expect(await t.ledger.hold(holdRequest("r1", 70, 70, t.now()))).toMatchObject({ kind: "held" });
    expect(await t.ledger.hold(holdRequest("r2", 70, 70, t.now()))).toMatchObject({ kind: "short", of: "limit" });
    await t.ledger.capture(endedCall("r1", 70, t.now()));
    expect(await t.account()).toEqual({ balance: -70, held: 0 });
  });

  test("is never so large that sums could not be counted exactly any more", async () => {
    const t = await ledgerOf({ postpaid: true });
    expect(await t.ledger.hold(holdRequest("r1", 4.9e16, 4.9e16, t.now()))).toMatchObject({
      kind: "short",
      available: 3e15,
    });
    expect(await t.ledger.hold(holdRequest("r2", 3e15, 3e15, t.now()))).toMatchObject({ kind: "held" });
    expect(await t.ledger.hold(holdRequest("r3", 1, 1, t.now()))).toMatchObject({ kind: "short" });
    await t.ledger.capture(endedCall("r2", 7, t.now()));
    expect(await t.account()).toEqual({ balance: -7, held: 0 });
  });

  test("is refused to an account that owes as much as any may, and to a key that has spent it", async () => {
    const t = await ledgerOf({ balance: 100 - 3e15, postpaid: true });
    expect(await t.ledger.hold(holdRequest("r1", 101, 101, t.now()))).toEqual({
      kind: "short",
      of: "balance",
      available: 100,
    });
    expect(await t.ledger.hold(holdRequest("r2", 500, 1, t.now()))).toMatchObject({ kind: "held", amount: 100 });
    await t.ledger.capture(endedCall("r2", 100, t.now()));
    expect(await t.account()).toEqual({ balance: -3e15, held: 0 });
    expect(await t.ledger.hold(holdRequest("r3", 1, 1, t.now()))).toMatchObject({ kind: "short", available: 0 });
    const u = await ledgerOf({ balance: 1000 });
    await u.database.exec("UPDATE api_keys SET spent = 8999999999999995");
    expect(await u.ledger.hold(holdRequest("r1", 6, 6, u.now()))).toEqual({ kind: "short", of: "limit", available: 5 });
    expect(await u.ledger.hold(holdRequest("r2", 5, 5, u.now()))).toMatchObject({ kind: "held" });
  });

  test("is refused to a key that was revoked after it was authenticated", async () => {
    const t = await ledgerOf({ balance: 100 });
    await t.database.exec("UPDATE api_keys SET revoked_at = 1");
    expect(await t.ledger.hold(holdRequest("r1", 10, 10, t.now()))).toMatchObject({ kind: "short" });
  });
});

describe("a capture", () => {
  test("charges the truth, frees the rest, and writes the request and the hour", async () => {
    const t = await ledgerOf({ balance: 100, limit: 100 });
    await t.ledger.hold(holdRequest("r1", 60, 60, t.now()));
    expect(await t.ledger.capture(endedCall("r1", 25, t.now()))).toEqual({ cost: 25, waived: 0 });
    expect(await t.account()).toEqual({ balance: 75, held: 0 });
    expect(await t.key()).toEqual({ spent: 25, held: 0 });
    expect(await rowOf(t, "r1")).toMatchObject({ cost: 25, waived: 0, outcome: 1, input: 25 });
    const hour = Date.UTC(2026, 0, 2, 3);
    const hours = await t.database.query("SELECT hour, requests, input, cost FROM usage_hours_now");
    expect(hours).toEqual([{ hour, requests: 1, input: 25, cost: 25 }]);
  });

  test("is safe to repeat: the second changes nothing", async () => {
    const t = await ledgerOf({ balance: 100 });
    await t.ledger.hold(holdRequest("r1", 60, 60, t.now()));
    await t.ledger.capture(endedCall("r1", 25, t.now()));
    expect(await t.ledger.capture(endedCall("r1", 30, t.now()))).toBeUndefined();
    expect(await t.account()).toEqual({ balance: 75, held: 0 });
  });

  test.each([
    ["prepaid", { balance: 100 }, 100],
    ["of a key with a limit", { balance: 1000, limit: 100 }, 1000],
    ["billed afterwards", { balance: 0, postpaid: true }, 0],
  ])("never takes more than its hold, however much is left, and waives the rest: %s", async (_, standing, balance) => {
    const t = await ledgerOf(standing);
    await t.ledger.hold(holdRequest("r1", 60, 60, t.now()));
    await t.ledger.hold(holdRequest("r2", 30, 30, t.now()));
    for (const cost of [200, Number.MAX_SAFE_INTEGER]) {
      const id = cost === 200 ? "r1" : "r2";
      const most = cost === 200 ? 60 : 30;
      expect(await t.ledger.capture(endedCall(id, cost, t.now()))).toEqual({ cost: most, waived: cost - most });
      expect(await rowOf(t, id)).toMatchObject({ cost: most, waived: cost - most });
    }
    expect(await t.account()).toEqual({ balance: balance - 90, held: 0 });
    expect(await t.key()).toEqual({ spent: 90, held: 0 });
  });

  test("of a call without a hold only remembers it", async () => {
    const t = await ledgerOf({ balance: 100 });
    await t.ledger.capture(endedCall("r1", 0, t.now()));
    expect(await rowOf(t, "r1")).toMatchObject({ cost: 0 });
    expect(await t.account()).toEqual({ balance: 100, held: 0 });
  });
});

describe("a hold whose process died", () => {
  test("lapses after its deadline, and its call is remembered as lost", async () => {
    const t = await ledgerOf({ balance: 100 });
    await t.ledger.hold(holdRequest("r1", 60, 60, t.now()));
    const other = await ledgerOf({}, t.database);
    await t.database.forgetProcesses();
    await liveOn(other, holdMs - 1);
    expect(await heldOf(t)).toEqual([{ held: 60 }]);
    await liveOn(other, 1);
    expect(await heldOf(t)).toEqual([{ held: 0 }]);
    expect(await t.account()).toEqual({ balance: 100, held: 0 });
    expect(await t.key()).toEqual({ spent: 0, held: 0 });
    expect(await rowOf(t, "r1")).toMatchObject({ outcome: 5, cost: 0 });
  });

  test("stays while its process lives, however long the call", async () => {
    const t = await ledgerOf({ balance: 100 });
    await t.ledger.hold(holdRequest("r1", 60, 60, t.now()));
    for (let i = 0; i < 10; i++) {
      await t.pass(holdMs - 1);
      await t.ledger.sweep();
    }
    expect((await t.account()).held).toBe(60);
  });

  test("is charged all the same by a process that only slept, as far as credit is left", async () => {
    const t = await ledgerOf({ balance: 100 });
    await t.ledger.hold(holdRequest("r1", 60, 60, t.now()));
    const other = await ledgerOf({}, t.database);
    await t.database.forgetProcesses();
    await liveOn(other, holdMs);
    expect(await other.ledger.hold(holdRequest("r2", 80, 80, other.now()))).toMatchObject({ kind: "held" });
    expect(await t.ledger.capture(endedCall("r1", 50, t.now()))).toEqual({ cost: 20, waived: 30 });
    expect(await rowOf(t, "r1")).toMatchObject({ outcome: 1, cost: 20, waived: 30 });
    expect(await t.account()).toEqual({ balance: 80, held: 80 });
  });
});

describe("steps of one turn", () => {
  test("do not fail with one among them", async () => {
    const t = await ledgerOf({ balance: 100 });
    const [first, second, third] = await Promise.allSettled([
      t.ledger.hold(holdRequest("r1", 10, 10, t.now())),
      t.ledger.hold({ ...holdRequest("r2", 10, 10, t.now()), model: null as unknown as string }),
      t.ledger.hold(holdRequest("r3", 10, 10, t.now())),
    ]);
    expect([first, third]).toMatchObject([{ value: { kind: "held" } }, { value: { kind: "held" } }]);
    expect(second).toMatchObject({ status: "rejected" });
    expect((await t.account()).held).toBe(20);
    expect((await t.key()).held).toBe(20);
  });
});
