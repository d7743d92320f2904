/** The plain ledger: the database decides each hold and each charge, and nothing waits to be written. */
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, expect, test, vi } from "vitest";
import { createLeasingLedger, createPlainLedger } from "../support/accelerators.ts";
import { endedCall, holdRequest, ledgersOfTests, sweptByAnother, unlimitedRequest } from "../support/money/ledger.ts";
import { reconcile } from "../support/money/proof.ts";

const plainOf = ledgersOfTests(createPlainLedger);
const leasingOf = ledgersOfTests(createLeasingLedger);
const ample = 1_000_000;

afterEach(() => vi.useRealTimers());

test("a hold and a charge are in the database when they are answered, also where credit is ample", async () => {
  const t = await plainOf({ balance: ample });
  expect(await t.ledger.hold(unlimitedRequest("r1", 10, t.now()))).toEqual({ kind: "held", amount: 10 });
  expect(t.account()).toEqual({ balance: ample, held: 10 });
  expect(t.key()).toEqual({ spent: 0, held: 10 });
  expect(await t.ledger.capture(endedCall("r1", 4, t.now()))).toEqual({ cost: 4, waived: 0 });
  expect(t.account()).toEqual({ balance: ample - 4, held: 0 });
  expect(t.key()).toEqual({ spent: 4, held: 0 });
  expect(t.engine.segments.nodes()).toEqual([]);
  expect((await reconcile(t.engine)).findings).toEqual([]);
});

test("a call is charged once, at most what it holds, and the rest is waived", async () => {
  const t = await plainOf({ balance: 10 });
  await t.ledger.hold(holdRequest("r1", 10, 5, t.now()));
  expect(await t.ledger.hold(holdRequest("r2", 10, 5, t.now()))).toMatchObject({ kind: "short" });
  expect(await t.ledger.capture(endedCall("r1", 14, t.now()))).toEqual({ cost: 10, waived: 4 });
  expect(await t.ledger.capture(endedCall("r1", 14, t.now()))).toBeUndefined();
  expect(t.account()).toEqual({ balance: 0, held: 0 });
});

test("what is left is reported as holds come and go", async () => {
  const t = await plainOf({ balance: 100 });
  const { credit } = t.ledger;
  credit.learn("acc_1", 100, "key_1", undefined);
  await t.ledger.hold(unlimitedRequest("r1", 60, t.now()));
  expect(credit.remaining("acc_1", "key_1")).toBe(40);
  await t.ledger.capture(endedCall("r1", 10, t.now()));
  await t.ledger.hold(unlimitedRequest("r2", 60, t.now()));
  await t.ledger.release("r2");
  expect(credit.remaining("acc_1", "key_1")).toBe(90);
});

test("a hold that cannot be released is released at the next sweep", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout"] });
  const t = await plainOf({ balance: 100 });
  await t.ledger.hold(unlimitedRequest("r1", 90, t.now()));
  const free = vi.spyOn(t.parts.steps, "release").mockImplementation(() => {
    throw Object.assign(new Error("database is locked"), { code: "SQLITE_BUSY" });
  });
  let failure: unknown;
  const freed = t.ledger.release("r1").catch((error: unknown) => (failure = error));
  while (failure === undefined) {
    await delay(5);
    vi.advanceTimersByTime(1000);
  }
  await freed;
  expect(String(failure)).toContain("holds the lock");
  expect(t.account().held).toBe(90);
  free.mockRestore();
  await t.ledger.sweep();
  expect(t.account().held).toBe(0);
});

test("what a process with leases has journaled, and never posted, is charged by one without", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout"] });
  const dead = await leasingOf({ balance: ample });
  await dead.ledger.hold(unlimitedRequest("answered", 10, dead.now()));
  await dead.ledger.capture(endedCall("answered", 4, dead.now()));
  const other = await sweptByAnother(plainOf({}, dead.path));
  expect(other.account()).toEqual({ balance: ample - 4, held: 0 });
  const rows = other.engine.prepare("SELECT id, outcome, cost FROM requests").all();
  expect(rows).toEqual([{ id: "answered", outcome: 1, cost: 4 }]);
  expect((await reconcile(other.engine)).findings).toEqual([]);
});
