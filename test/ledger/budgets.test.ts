/**
 * Budgets over random calls, jumps of the clock and changes, in two processes on one database, beside a model: no window ever has more than
 * its budget, and no call is refused that fits. It runs with and without leases and journal, as `ACCELERATORS` says, and on either engine.
 */
import fc from "fast-check";
import { test, vi } from "vitest";
import { budgetCommands, newBudgetModel, openBudgets } from "../support/money/budget-commands.ts";
import { dialect } from "../support/storage/test-database.ts";

vi.setConfig({ testTimeout: 180_000 });

// Before the clocks of Europe and Havana go back, and those of Lord Howe go on.
const begin = Date.UTC(2026, 8, 28, 3, 4, 5);

test("no window has more than its budget at any moment, and no call is refused that fits", async () => {
  await fc.assert(
    fc.asyncProperty(budgetCommands, async (commands) => {
      const real = await openBudgets(begin);
      try {
        await fc.asyncModelRun(() => ({ model: newBudgetModel(begin), real }), commands);
      } finally {
        await real.close();
      }
    }),
    { numRuns: dialect === "postgres" ? 20 : 60, endOnFailure: true, verbose: 1 },
  );
});
