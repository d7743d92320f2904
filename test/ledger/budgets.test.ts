/**
 * Budgets over random calls, jumps of the clock and changes, in two processes on one database, beside a model: no window ever has more than
 * its budget, and no call is refused that fits. It runs with and without leases and journal, as `ACCELERATORS` says, and on either engine.
 */
import fc from "fast-check";
import { expect, test, vi } from "vitest";
import { storedBudgets } from "../../src/storage/money/budgets.ts";
import { budgetCommands, newBudgetModel, openBudgets } from "../support/money/budget-commands.ts";
import { endedCall } from "../support/money/ledger.ts";
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

test("no number of calls at once, in two processes, spends more than a budget, and all of it can be spent", async () => {
  const real = await openBudgets(begin);
  try {
    const { keys } = (real.processes[0] as (typeof real.processes)[number]).storage;
    const budgets = storedBudgets([{ id: "bud_1", amount: 100, period: "month", rolling: false }]);
    await keys.update("acc_1", "key_1", { budgets }, begin);
    const names = { accountId: "acc_1", keyId: "key_1", operation: "chat", model: "m", isLimited: false };
    const asked = Array.from({ length: 60 }, (_, i) => ({ id: real.newId(), process: i % 2 }));
    const held = await Promise.all(
      asked.map(({ id, process }) =>
        real.processes[process]?.ledger.hold({ requestId: id, ...names, max: 7, min: 2, now: begin }),
      ),
    );
    const amounts = held.map((one) => (one?.kind === "held" ? one.amount : 0));
    expect(amounts.reduce((sum, amount) => sum + amount, 0)).toBe(100);
    expect(held.filter((one) => one?.kind === "short")).toHaveLength(45);
    const charged = asked.map(async ({ id, process }, i) => {
      if (amounts[i] === 0) return;
      await real.processes[process]?.ledger.capture(endedCall(id, 1, begin, { key_id: "key_1" }));
    });
    await Promise.all(charged);
    await real.prove(begin);
  } finally {
    await real.close();
  }
});
