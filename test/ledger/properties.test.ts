/**
 * Money over random interleavings of all that moves it, in two processes on one database: after every step it is as a
 * model of a few lines has it, and the proof of the sums is clean.
 */
import fc from "fast-check";
import { test } from "vitest";
import { moneyCommands } from "../support/money/money-commands.ts";
import { newMoneyModel } from "../support/money/money-model.ts";
import { openMoney } from "../support/money/real-money.ts";
import { dialect } from "../support/storage/test-database.ts";

const begin = Date.UTC(2026, 0, 2, 3, 4, 5);

test("whatever comes, in whatever order, an account is never overdrawn, nothing is charged twice, and the sums hold", async () => {
  await fc.assert(
    fc.asyncProperty(moneyCommands, async (commands) => {
      const real = await openMoney(begin);
      try {
        await fc.asyncModelRun(() => ({ model: newMoneyModel(begin, dialect === "postgres"), real }), commands);
      } finally {
        await real.close();
      }
    }),
    // Each step of them waits for the leases of both on Postgres.
    { numRuns: dialect === "postgres" ? 12 : 60, endOnFailure: true, verbose: 1 },
  );
});
