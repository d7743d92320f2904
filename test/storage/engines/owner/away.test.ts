/**
 * Calls that end while their owner is away for long, and have cost more than they hold: each is charged its hold, once, and the rest is
 * waived, whenever the next owner comes.
 */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Outcome } from "../../../../gen/modelgateway/v1/usage_pb.ts";
import type { Hold } from "../../../../src/ledger/contract.ts";
import { createExactLedger } from "../../../../src/ledger/exact-ledger.ts";
import { createLeasedLedger } from "../../../../src/ledger/leases/leased-ledger.ts";
import { eventually } from "../../../support/eventually.ts";
import { endedCall, unlimitedRequest } from "../../../support/money/ledger.ts";
import { reconcile } from "../../../support/money/proof.ts";
import { callsIn, ledgersOfTests, type TestLedger } from "../../../support/money/sqlite-ledger.ts";
import { type OwnedWorkers, ownWorkers } from "../../../support/workers/killed-owners.ts";

// Processes take a second to start, and more on a busy machine; and the ledger tries for ten before it writes what it cannot ask.
vi.setConfig({ testTimeout: 300_000 });

const ledgerOf = ledgersOfTests();
const ample = 1_000_000_000;
/** hold is more than a lease of the scarce account could be. */
const [hold, cost] = [100, 250];

let seen: TestLedger;
let owned: OwnedWorkers;
/** aheadMs is how far the clocks of workers and owners are ahead of the machine's, in milliseconds. */
let aheadMs: number;
const clock = () => Date.now() + aheadMs;

beforeEach(() => {
  aheadMs = 0;
});

afterEach(() => owned.close());

describe.each([
  ["a journal, and ample credit", true, createLeasedLedger, ample],
  ["a journal, and scarce credit", true, createLeasedLedger, 2 * hold],
  ["leases, and no journal", false, createLeasedLedger, ample],
  ["neither", false, createExactLedger, ample],
] as const)("of a worker with %s", (_, hasJournal, create, balance) => {
  test.each(hasJournal && balance === ample ? [60, 600] : [600])(
    "a call that ends while the owner is away for %i seconds",
    async (seconds) => {
      seen = await ledgerOf({ balance });
      owned = await ownWorkers(seen.path, clock);
      const { ledger } = await owned.addWorker(hasJournal, create);
      const held = (await ledger.hold(unlimitedRequest("req_1", hold, clock()))) as Hold;
      expect(held).toMatchObject({ kind: "held", amount: hold });
      await owned.kill();
      const ending = ledger.capture(endedCall("req_1", cost, clock()), held);
      let isTold = false;
      const told = Promise.resolve(ending).then((charged) => {
        isTold = true;
        return charged;
      });
      aheadMs += seconds * 1_000;
      expect(isTold).toBe(false);
      await owned.start(aheadMs);
      expect(await told).toEqual({ cost: hold, waived: cost - hold });
      // And again, whatever was written meanwhile.
      await owned.kill();
      await owned.start(aheadMs);
      await ledger.close();
      await eventually(() => expect(seen.account()).toEqual({ balance: balance - hold, held: 0 }), 60_000);
      expect(callsIn(seen)).toEqual([{ id: "req_1", outcome: Outcome.ANSWERED, cost: hold, waived: cost - hold }]);
      expect(lossOf("req_1")).toBe(cost - hold);
      expect((await reconcile(seen.engine)).findings).toEqual([]);
    },
  );
});

test.each([
  ["leases", createLeasedLedger],
  ["none", createExactLedger],
] as const)(
  "a charge that nobody decides within ten seconds is kept, and written by whatever owner comes, with %s",
  async (_, create) => {
    seen = await ledgerOf({ balance: 2 * hold });
    owned = await ownWorkers(seen.path, clock);
    const { ledger } = await owned.addWorker(true, create);
    const held = (await ledger.hold(unlimitedRequest("req_1", hold, clock()))) as Hold;
    await owned.kill();
    const began = performance.now();
    const told = Promise.resolve(ledger.capture(endedCall("req_1", cost, clock()), held));
    // Until the question is given up: then it is written down for the books, and waits for them.
    await eventually(() => expect(performance.now() - began).toBeGreaterThan(11_000));
    // This one dies before anybody has come to it.
    await owned.start(0, false);
    await owned.kill();
    await owned.start(0);
    expect(await told).toEqual({ cost: hold, waived: cost - hold });
    await ledger.close();
    await eventually(() => expect(seen.account()).toEqual({ balance: hold, held: 0 }), 60_000);
    expect(callsIn(seen)).toMatchObject([{ cost: hold, waived: cost - hold }]);
    expect((await reconcile(seen.engine)).findings).toEqual([]);
  },
);

/** What the operator has lost by a call, by the sums of its hour. */
function lossOf(id: string): number | undefined {
  const select = `SELECT sum(waived) AS waived FROM usage_hours_now WHERE account_id = (SELECT account_id FROM requests WHERE id = ?)`;
  return seen.engine.prepare<[string], { waived: number }>(select).get(id)?.waived;
}
