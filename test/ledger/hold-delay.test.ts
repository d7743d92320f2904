/** Books for which a write is dear have the entry of a hold wait for others: how long, and what takes it along before. */
import { setTimeout as delay, setImmediate as turn } from "node:timers/promises";
import { beforeEach, describe, expect, test } from "vitest";
import { holdMs } from "../../src/ledger/contract.ts";
import type { BooksOptions } from "../../src/storage/money/books.ts";
import { createLeasingLedger } from "../support/accelerators.ts";
import { eventually } from "../support/eventually.ts";
import { endedCall, ledgersOfTests, type TestLedger, unlimitedRequest } from "../support/money/ledger.ts";
import { createLedger, type LedgerByIds } from "../support/money/ledger-by-ids.ts";

const ledgerOf = ledgersOfTests(createLeasingLedger);

/** Longer than any test takes, but for those that wait for it. */
const long = 60_000;

describe("the entry of a hold", () => {
  let t: TestLedger;
  /** The kinds of the entries of each record that was written, and when leases were released. */
  let written: (string[] | "released")[];
  let recall: BooksOptions["recall"];

  beforeEach(async () => {
    t = await ledgerOf({ balance: 1_000_000 });
    written = [];
  });

  /** Opens a ledger that has a lease already. */
  async function opened(holdDelayMs: number, writeEveryMs = 0): Promise<LedgerByIds> {
    const openBooks = (options: BooksOptions) => {
      recall = options.recall;
      const books = t.openBooks(options);
      const write: typeof books.write = (record) => {
        written.push(record.entries.map(({ kind }) => kind));
        return books.write(record);
      };
      const releaseLeases: typeof books.releaseLeases = (ids) => {
        written.push("released");
        return books.releaseLeases(ids);
      };
      return { ...books, holdDelayMs, writeEveryMs, write, releaseLeases };
    };
    const onError = (error: unknown) => t.errors.push(error);
    const ledger = createLedger({ openBooks, clock: t.now, onError }, createLeasingLedger);
    await ledger.hold(unlimitedRequest("first", 10, t.now()));
    await ledger.capture(endedCall("first", 10, t.now()));
    written = [];
    return ledger;
  }

  const twoTurns = async () => {
    await turn();
    await turn();
  };

  test("is written with what its call comes to, at once, where that comes first", async () => {
    const ledger = await opened(long);
    await ledger.hold(unlimitedRequest("r1", 10, t.now()));
    await twoTurns();
    expect(written).toEqual([]);
    expect(await ledger.capture(endedCall("r1", 4, t.now()))).toEqual({ cost: 4, waived: 0 });
    expect(written).toEqual([["hold", "settle"]]);
    await ledger.close();
    expect(await t.account()).toEqual({ balance: 1_000_000 - 14, held: 0 });
  });

  test("goes along with what another call comes to", async () => {
    const ledger = await opened(long);
    await ledger.hold(unlimitedRequest("r1", 10, t.now()));
    await ledger.hold(unlimitedRequest("r2", 10, t.now()));
    await twoTurns();
    await ledger.capture(endedCall("r2", 4, t.now()));
    expect(written).toEqual([["hold", "hold", "settle"]]);
    await ledger.capture(endedCall("r1", 4, t.now()));
    await ledger.close();
  });

  test("is written alone once it has waited for long enough", async () => {
    const ledger = await opened(30);
    await ledger.hold(unlimitedRequest("r1", 10, t.now()));
    await twoTurns();
    expect(written).toEqual([]);
    await eventually(() => expect(written).toEqual([["hold"]]));
    await ledger.capture(endedCall("r1", 4, t.now()));
    expect(written).toEqual([["hold"], ["settle"]]);
    await ledger.close();
  });

  test("is never written of a call that was released before", async () => {
    const ledger = await opened(long);
    await ledger.hold(unlimitedRequest("r1", 10, t.now()));
    await twoTurns();
    await ledger.release("r1");
    await ledger.close();
    expect(written.flat()).toEqual([]);
    expect(await t.account()).toEqual({ balance: 1_000_000 - 10, held: 0 });
  });

  test("is among the records that are given back with a lease", async () => {
    const ledger = await opened(long);
    await ledger.hold(unlimitedRequest("r1", 10, t.now()));
    await twoTurns();
    const entries = recall("acc_1").records.flatMap((record) => record.entries);
    expect(entries.map(({ kind }) => kind)).toEqual(["hold"]);
    await ledger.capture(endedCall("r1", 4, t.now()));
    await ledger.close();
  });

  test("does not wait for the end of its time where the gateway closes", async () => {
    const ledger = await opened(long);
    await ledger.hold(unlimitedRequest("r1", 10, t.now()));
    await ledger.close();
    expect(written).toEqual([["hold"]]);
  });

  test("comes before its lease is released, also where the process stood still", async () => {
    const ledger = await opened(long);
    await ledger.hold(unlimitedRequest("r1", 10, t.now()));
    await twoTurns();
    t.pass(holdMs + 1);
    await ledger.sweep();
    expect(written).toEqual([["hold"], "released"]);
    await ledger.close();
  });

  test("waits for nothing where a write costs little", async () => {
    const ledger = await opened(0);
    await ledger.hold(unlimitedRequest("r1", 10, t.now()));
    await twoTurns();
    expect(written).toEqual([["hold"]]);
    await ledger.capture(endedCall("r1", 4, t.now()));
    await ledger.close();
  });

  test("and of ends of calls: after one that is written at once, those that come within a while are written together", async () => {
    const ledger = await opened(long, 1000);
    const ids = ["r1", "r2", "r3", "r4"];
    for (const id of ids) await ledger.hold(unlimitedRequest(id, 10, t.now()));
    // The distance from what `opened` wrote.
    await delay(1010);
    await ledger.capture(endedCall("r1", 4, t.now()));
    expect(written).toEqual([["hold", "hold", "hold", "hold", "settle"]]);
    const captures = [];
    for (const id of ids.slice(1)) {
      captures.push(ledger.capture(endedCall(id, 4, t.now())));
      await turn();
    }
    await Promise.all(captures);
    expect(written.slice(1)).toEqual([["settle", "settle", "settle"]]);
    await ledger.close();
    expect(await t.account()).toEqual({ balance: 1_000_000 - 26, held: 0 });
  });
});
