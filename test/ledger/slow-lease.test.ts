/**
 * A lease that the books take long to let grow, as while an owner is away: the ledger does not take it for idle meanwhile. What calls hold of
 * it is held of their account, and all of it is given back in the end.
 */
import { afterEach, expect, test, vi } from "vitest";
import type { Hold } from "../../src/ledger/contract.ts";
import { createLeasedLedger } from "../../src/ledger/leases/leased-ledger.ts";
import type { BooksOptions, OpenBooks } from "../../src/storage/money/books.ts";
import { endedCall, unlimitedRequest } from "../support/money/ledger.ts";
import { reconcile } from "../support/money/proof.ts";
import { ledgersOfTests } from "../support/money/sqlite-ledger.ts";

const ledgerOf = ledgersOfTests();
const ample = 1_000_000;
/** More than the time between two looks for leases that are idle. */
const lookMs = 5_001;

afterEach(() => {
  vi.useRealTimers();
});

test("a lease that is asked for over two looks for idle ones is the one that calls draw on", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const seen = await ledgerOf({ balance: ample });
  let recall: BooksOptions["recall"] = () => ({ records: [], leases: [] });
  let release = async (_: readonly string[]): Promise<void> => {};
  let gate: Promise<void> | undefined;
  const openBooks: OpenBooks = (options) => {
    recall = options.recall;
    // Its ledger is asked by the test alone.
    const books = seen.openBooks({ ...options, isElsewhere: true, recall: () => ({ records: [], leases: [] }) });
    release = async (ids) => books.releaseLeases(ids);
    return {
      ...books,
      async decide(next) {
        const turn = next();
        await gate;
        return books.decide(() => turn);
      },
    };
  };
  const ledger = createLeasedLedger({ openBooks, clock: seen.now, onError: (error) => expect(error).toBeUndefined() });
  await ledger.hold(unlimitedRequest("req_1", 10, seen.now()));
  // So that little is left of the lease.
  const filling = seen.account().held - 15;
  expect(await ledger.hold(unlimitedRequest("req_2", filling, seen.now()))).toMatchObject({ isExact: false });
  const decided = Promise.withResolvers<void>();
  gate = decided.promise;
  const asking = Promise.resolve(ledger.hold(unlimitedRequest("req_3", 10, seen.now())));
  await new Promise((resolve) => setImmediate(resolve));
  for (let looks = 0; looks < 3; looks++) await vi.advanceTimersByTimeAsync(lookMs);
  decided.resolve();
  const last = (await asking) as Hold;
  expect(last).toMatchObject({ kind: "held", amount: 10, isExact: false });
  const named = seen.engine.prepare<[string], { amount: number }>("SELECT amount FROM holds WHERE request_id = ?");
  expect(named.get(last.lease?.id ?? "")?.amount).toBeGreaterThanOrEqual(10);
  expect(await ledger.capture(endedCall("req_3", 8, seen.now()), last)).toEqual({ cost: 8, waived: 0 });
  // All that is idle goes back: what is held then is what the calls hold that run.
  await release(recall("acc_1").leases);
  expect(seen.account()).toEqual({ balance: ample - 8, held: 10 + filling });
  await ledger.close();
  expect((await reconcile(seen.engine)).findings).toEqual([]);
});
