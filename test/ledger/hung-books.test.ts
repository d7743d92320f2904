/** Calls that end while the books decide nothing, for longer than a capture is tried: as where the process that has them stands still. */
import { expect, test } from "vitest";
import type { Hold } from "../../src/ledger/contract.ts";
import { createExactLedger } from "../../src/ledger/exact-ledger.ts";
import { createLeasedLedger } from "../../src/ledger/leases/leased-ledger.ts";
import { LockedError } from "../../src/runtime/write-trouble.ts";
import type { Books, BooksOptions, Entry } from "../../src/storage/money/books.ts";
import { endedCall, unlimitedRequest } from "../support/money/ledger.ts";

/** Books that grant holds for single calls, refuse to capture until they are written to, and keep what is written. */
function hungBooks(written: Entry[]): Books {
  return {
    version: () => 1,
    changedSince: () => false,
    mayLease: () => false,
    decide(next) {
      const { captures, releases, holds } = next();
      if (captures.length > 0) return Promise.reject(new LockedError());
      return {
        captures: [],
        releases: releases.map(() => ({ kind: "decided", value: undefined })),
        holds: holds.map(({ max }) => ({ kind: "decided", value: { kind: "held", amount: max } })),
      };
    },
    async write({ entries }) {
      written.push(...entries);
    },
    apply: () => false,
    touch() {},
    releaseLeases() {},
    async renew() {},
    expire: () => 0,
    async close() {},
  };
}

const ledgers = [
  ["leased", createLeasedLedger],
  ["exact", createExactLedger],
] as const;

test.each(ledgers)(
  "the %s ledger has them charged as soon as anything is written again",
  async (_, create) => {
    const written: Entry[] = [];
    const ledger = create({ openBooks: () => hungBooks(written), clock: Date.now, onError: () => {} });
    const hold = (await ledger.hold(unlimitedRequest("req_1", 100, Date.now()))) as Hold;
    const dear = (await ledger.hold(unlimitedRequest("req_2", 100, Date.now()))) as Hold;
    const call = endedCall("req_1", 40, Date.now());
    const beyond = endedCall("req_2", 140, Date.now());
    expect(await Promise.all([ledger.capture(call, hold), ledger.capture(beyond, dear)])).toEqual([
      { cost: 40, waived: 0 },
      { cost: 100, waived: 40 },
    ]);
    expect(written).toEqual([
      expect.objectContaining({ kind: "settle", call, isHeld: true }),
      expect.objectContaining({ kind: "settle", call: { ...beyond, cost: 100, waived: 40 }, isHeld: true }),
    ]);
    await ledger.close();
  },
  60_000,
);

test.each(ledgers)(
  "the %s ledger keeps the hold of a call until its charge is known to be written",
  async (_, create) => {
    const written: Entry[] = [];
    const mayWrite = Promise.withResolvers<void>();
    let holding: BooksOptions["holding"];
    const openBooks = (options: BooksOptions): Books => {
      holding = options.holding;
      const books = hungBooks(written);
      return { ...books, write: (record) => mayWrite.promise.then(() => books.write(record)) };
    };
    const ledger = create({ openBooks, clock: Date.now, onError: () => {} });
    const hold = (await ledger.hold(unlimitedRequest("req_1", 0, Date.now()))) as Hold;
    const captured = ledger.capture(endedCall("req_1", 0, Date.now()), hold);
    expect(holding?.()).toContain("req_1");
    mayWrite.resolve();
    await captured;
    await ledger.close();
    expect(holding?.()).toEqual([]);
  },
);
