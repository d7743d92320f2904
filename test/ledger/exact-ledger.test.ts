/** The plain ledger: the database decides each hold and each charge, and nothing waits to be written. */
import { expect, test } from "vitest";
import { createPlainLedger } from "../support/accelerators.ts";
import { endedCall, holdRequest, ledgersOfTests, unlimitedRequest } from "../support/money/ledger.ts";

const plainOf = ledgersOfTests(createPlainLedger);
const ample = 1_000_000;

test("a hold and a charge are in the database when they are answered, also where credit is ample", async () => {
  const t = await plainOf({ balance: ample });
  expect(await t.ledger.hold(unlimitedRequest("r1", 10, t.now()))).toEqual({ kind: "held", amount: 10 });
  expect(await t.account()).toEqual({ balance: ample, held: 10 });
  expect(await t.key()).toEqual({ spent: 0, held: 10 });
  expect(await t.ledger.capture(endedCall("r1", 4, t.now()))).toEqual({ cost: 4, waived: 0 });
  expect(await t.account()).toEqual({ balance: ample - 4, held: 0 });
  expect(await t.key()).toEqual({ spent: 4, held: 0 });
  expect((await t.storage.reconcile({ now: 0 })).findings).toEqual([]);
});

test("a call is charged once, at most what it holds, and the rest is waived", async () => {
  const t = await plainOf({ balance: 10 });
  await t.ledger.hold(holdRequest("r1", 10, 5, t.now()));
  expect(await t.ledger.hold(holdRequest("r2", 10, 5, t.now()))).toMatchObject({ kind: "short" });
  expect(await t.ledger.capture(endedCall("r1", 14, t.now()))).toEqual({ cost: 10, waived: 4 });
  expect(await t.ledger.capture(endedCall("r1", 14, t.now()))).toBeUndefined();
  expect(await t.account()).toEqual({ balance: 0, held: 0 });
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
