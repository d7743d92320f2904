/**
 * Money over random interleavings of all that moves it, in two processes on one database: after every step it is as a
 * model of a few lines has it, and the proof of the sums is clean.
 */
import fc from "fast-check";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { andThen } from "../../src/runtime/maybe-promise.ts";
import type { Engine } from "../../src/storage/engines/engine.ts";
import { createBooks } from "../../src/storage/engines/sqlite/books/books.ts";
import { createBooksParts } from "../../src/storage/engines/sqlite/books/parts.ts";
import type { OpenBooks } from "../../src/storage/money/books.ts";
import { endedCall, holdRequest, openLedger } from "../support/money/ledger.ts";
import { createLedger } from "../support/money/ledger-by-ids.ts";
import { moneyCommands } from "../support/money/money-commands.ts";
import { newMoneyModel } from "../support/money/money-model.ts";
import { openMoney, seedMoney } from "../support/money/real-money.ts";

// Thousands of transactions take seconds, and more on a busy machine.
vi.setConfig({ testTimeout: 120_000 });

const begin = Date.UTC(2026, 0, 2, 3, 4, 5);

let seed: Awaited<ReturnType<typeof seedMoney>>;

beforeAll(async () => {
  seed = await seedMoney();
});

afterAll(() => seed.remove());

test("whatever comes, in whatever order, an account is never overdrawn, nothing is charged twice, and the sums hold", async () => {
  await fc.assert(
    fc.asyncProperty(moneyCommands, async (commands) => {
      const real = await openMoney(seed.file, begin);
      try {
        await fc.asyncModelRun(() => ({ model: newMoneyModel(begin), real }), commands);
      } finally {
        await real.close();
      }
    }),
    { numRuns: 60 },
  );
});

/** Opens books whose transactions are these. */
function openWith(engine: Engine, transact: Engine["transact"]): OpenBooks {
  const parts = createBooksParts({ ...engine, books: { ...engine.books, transact } });
  return (options) => createBooks(parts, options);
}

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
