/**
 * Budgets over random calls, bursts, jumps of the clock and changes, by two nodes on one server of Postgres, with leases and without: no
 * window ever has more than its budget, and no call is refused that fits.
 */
import fc from "fast-check";
import { afterAll, beforeAll, describe, test } from "vitest";
import { chooseAccelerators } from "../../../../src/composition/accelerators.ts";
import { budgetCommands, newBudgetModel, openBudgets, openNodes } from "../../../support/money/budget-commands.ts";
import { type PostgresServer, postgresPrograms, startPostgres } from "../../../support/storage/postgres.ts";
import { databaseAt } from "../../../support/storage/test-database.ts";

// Before the clocks of Europe and Havana go back, and those of Lord Howe go on.
const begin = Date.UTC(2026, 8, 28, 3, 4, 5);

describe.skipIf(!postgresPrograms)("budgets of two nodes on Postgres", () => {
  let postgres: PostgresServer;

  beforeAll(async () => {
    postgres = await startPostgres();
  });

  afterAll(() => postgres.stop());

  test.each([
    ["with leases", ["leases", "journal"]],
    ["without leases", []],
  ] as const)("hold at every moment, %s", async (_, names) => {
    const kind = await chooseAccelerators(new Set(names));
    await fc.assert(
      fc.asyncProperty(budgetCommands, async (commands) => {
        const database = await databaseAt(await postgres.createDatabase());
        const real = await openBudgets(begin, (options) => openNodes(database, options, kind));
        try {
          await fc.asyncModelRun(() => ({ model: newBudgetModel(begin), real }), commands);
        } finally {
          await real.close();
        }
      }),
      { numRuns: 6, endOnFailure: true, verbose: 1 },
    );
  });
});
