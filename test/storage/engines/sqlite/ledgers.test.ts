/** The ledgers over SQLite's books: one transaction a turn, and what they do while it cannot be written. */
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, expect, test, vi } from "vitest";
import { andThen } from "../../../../src/runtime/maybe-promise.ts";
import type { Engine } from "../../../../src/storage/engines/engine.ts";
import { createBooks } from "../../../../src/storage/engines/sqlite/books/books.ts";
import { createBooksParts } from "../../../../src/storage/engines/sqlite/books/parts.ts";
import type { OpenBooks } from "../../../../src/storage/money/books.ts";
import { createLeasingLedger, createPlainLedger } from "../../../support/accelerators.ts";
import { createLedger } from "../../../support/money/ledger-by-ids.ts";
import { reconcile } from "../../../support/money/proof.ts";
import {
  endedCall,
  holdRequest,
  ledgersOfTests,
  openLedger,
  sweptByAnother,
  unlimitedRequest,
} from "../../../support/money/sqlite-ledger.ts";

const journalOrNot = ledgersOfTests();
const plainOf = ledgersOfTests(createPlainLedger);
const leasingOf = ledgersOfTests(createLeasingLedger);
const ample = 1_000_000;

afterEach(() => void vi.useRealTimers());

/** Opens books whose transactions are these. */
function openWith(engine: Engine, transact: Engine["transact"]): OpenBooks {
  const parts = createBooksParts({ ...engine, books: { ...engine.books, transact } });
  return (options) => createBooks(parts, options);
}

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

test("steps of one turn are one transaction", async () => {
  const t = await journalOrNot({ balance: 100 });
  let transactions = 0;
  const { books } = t.engine;
  const transact: Engine["transact"] = (work) => {
    transactions++;
    return books.transact(work);
  };
  const counted: Engine = { ...t.engine, books: { ...books, transact } };
  const parts = createBooksParts(counted);
  const openBooks: OpenBooks = (options) => createBooks(parts, options);
  const ledger = createLedger({ openBooks, clock: t.now, onError: () => {} });
  await Promise.all(Array.from({ length: 50 }, (_, i) => ledger.hold(holdRequest(`r${i}`, 1, 1, t.now()))));
  expect(transactions).toBe(1);
  await Promise.all(Array.from({ length: 50 }, (_, i) => ledger.capture(endedCall(`r${i}`, 1, t.now()))));
  expect(transactions).toBe(2);
  expect(t.account()).toEqual({ balance: 50, held: 0 });
  await ledger.close();
});

test("while the database is another's, a turn waits for it once, and not once for each of its steps", async () => {
  const t = await openLedger({ balance: 100 });
  let waits = 0;
  const busy = <T>(): T => {
    waits++;
    throw new Error("busy");
  };
  const ledger = createLedger({ openBooks: openWith(t.engine, busy), clock: t.now, onError: () => {} });
  const holds = [1, 2, 3].map((i) => ledger.hold(holdRequest(`r${i}`, 1, 1, t.now())));
  for (const hold of holds) await expect(hold).rejects.toThrow("busy");
  expect(waits).toBe(1);
  await ledger.close();
  await t.close();
});

test("closing waits for the calls that run, and for a capture that has to be tried again", async () => {
  const t = await openLedger({ balance: 100 });
  let isBusy = true;
  const transact = <T>(work: () => T): T => {
    if (!isBusy) return t.engine.transact(work);
    isBusy = false;
    throw new Error("busy");
  };
  const ledger = createLedger({ openBooks: openWith(t.engine, transact), clock: t.now, onError: () => {} });
  await t.ledger.hold(holdRequest("r1", 10, 10, t.now()));
  const settled = ledger.begin();
  const closed = ledger.close();
  void andThen(ledger.capture(endedCall("r1", 5, t.now())), settled);
  await closed;
  expect(t.account()).toEqual({ balance: 95, held: 0 });
  await t.close();
});
