/**
 * Budgets over random calls, jumps of the clock and changes, in two processes on one database, beside a model: no window ever has more than
 * its budget, and no call is refused that fits. It runs with and without leases and journal, as `ACCELERATORS` says, and on either engine.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import { chooseAccelerators } from "../../src/composition/accelerators.ts";
import { type BudgetLeft, maxOutside, storedBudgets } from "../../src/storage/money/budgets.ts";
import {
  budgetCommands,
  newBudgetModel,
  type OpenProcesses,
  openBudgets,
  openHere,
  openWorkers,
} from "../support/money/budget-commands.ts";
import { endedCall } from "../support/money/ledger.ts";
import { dialect, onSqlite } from "../support/storage/test-database.ts";

// Before the clocks of Europe and Havana go back, and those of Lord Howe go on.
const begin = Date.UTC(2026, 8, 28, 3, 4, 5);

/** Plays random commands, each time in processes of their own. */
async function holdsBeside(open: OpenProcesses, numRuns: number): Promise<void> {
  await fc.assert(
    fc.asyncProperty(budgetCommands, async (commands) => {
      const real = await openBudgets(begin, open);
      try {
        await fc.asyncModelRun(() => ({ model: newBudgetModel(begin), real }), commands);
      } finally {
        await real.close();
      }
    }),
    { numRuns, endOnFailure: true, verbose: 1 },
  );
}

test("no window has more than its budget at any moment, and no call is refused that fits", async () => {
  await holdsBeside(openHere, dialect === "postgres" ? 20 : 40);
});

onSqlite(() => {
  test.each([
    ["leases and a journal", ["leases", "journal"]],
    ["neither", []],
  ] as const)("the same of two workers who ask an owner, with %s", async (_, names) => {
    const chosen = await chooseAccelerators(new Set(names));
    await holdsBeside((options) => openWorkers(options, chosen), 6);
  });
});

test("a window has what its own calls hold, however many run from before it", async () => {
  const real = await openBudgets(Date.UTC(2026, 8, 28, 23, 59));
  try {
    const [{ ledger, storage }] = real.processes as [(typeof real.processes)[number]];
    const aDay = { id: "bud_1", amount: 1000, period: "day", rolling: false } as const;
    const budgets = storedBudgets([aDay, { id: "bud_2", amount: 5000, period: "month", rolling: true }]);
    await storage.accounts.update("acc_1", { budgets }, begin);
    await storage.keys.update("acc_1", "key_1", { budgets: storedBudgets([{ ...aDay, amount: 700 }]) }, begin);
    const names = { accountId: "acc_1", operation: "chat", model: "m", isLimited: false };
    const days = [Date.UTC(2026, 8, 28, 23, 59), Date.UTC(2026, 8, 29, 0, 1)] as const;
    const held = new Map<number, string[]>();
    for (const now of days) {
      await real.setNow(now);
      const ids = Array.from({ length: maxOutside + 40 }, () => real.newId());
      held.set(now, ids);
      const asked = ids.map((requestId, i) =>
        ledger.hold({ requestId, ...names, keyId: `key_${1 + (i % 2)}`, max: 2, min: 2, now }),
      );
      expect((await Promise.all(asked)).map(({ kind }) => kind)).toEqual(ids.map(() => "held"));
    }
    const ask = async (keyId: string) => {
      const requestId = real.newId();
      const one = await ledger.hold({ requestId, ...names, keyId, max: 1, min: 1, now: days[1] });
      await ledger.release(requestId);
      return (one as { budget?: BudgetLeft }).budget?.left;
    };
    const count = maxOutside + 40;
    // With as many from the day before, with fewer than are looked at, and with none.
    for (const left of [count, maxOutside - 1, 0]) {
      const before = held.get(days[0]) as string[];
      for (const id of before.splice(left)) await ledger.release(id);
      expect(await ask("key_1")).toBe(Math.min(700 - count - 1, 1000 - 2 * count - 1));
      expect(await ask("key_2")).toBe(1000 - 2 * count - 1);
      await real.prove(days[1]);
    }
  } finally {
    await real.close();
  }
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
