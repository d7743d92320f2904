/** A clock that was set ahead for longer than calls are kept, and back: all calls are forgotten, and those that come then are charged. */
import { expect, test } from "vitest";
import { createRetention } from "../../src/composition/retention.ts";
import { newId } from "../../src/runtime/ids.ts";
import { createLeasingLedger } from "../support/accelerators.ts";
import { endedCall, ledgersOfTests, unlimitedRequest } from "../support/money/ledger.ts";

const ledgerOf = ledgersOfTests(createLeasingLedger);
const dayMs = 24 * 3_600_000;

test("what comes after the clock was set right is charged", async () => {
  const t = await ledgerOf({ balance: 1_000_000 });
  const call = async () => {
    const id = newId("req", t.now());
    await t.ledger.hold(unlimitedRequest(id, 100, t.now()));
    return t.ledger.capture(endedCall(id, 70, t.now()));
  };
  expect(await call()).toEqual({ cost: 70, waived: 0 });
  await t.pass(40 * dayMs);
  const settings = () => ({ retention: { requestsMs: 30 * dayMs, auditMs: undefined } });
  const onError = (error: unknown) => t.errors.push(error);
  const retention = createRetention({ store: t.storage.retention, settings, clock: t.now, onError });
  await t.ledger.sweep();
  await retention.run();
  expect(await t.calls()).toEqual([]);
  await t.pass(-40 * dayMs + 1000);
  await t.ledger.sweep();
  expect(await call()).toEqual({ cost: 70, waived: 0 });
  expect(await t.calls()).toMatchObject([{ cost: 70 }]);
  expect(await t.account()).toEqual({ balance: 1_000_000 - 140, held: 0 });
  expect((await t.storage.reconcile()).findings).toEqual([]);
  expect(t.errors).toEqual([]);
  await retention.close();
});
