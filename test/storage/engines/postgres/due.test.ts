/** What calls have spent and no node has added to its account yet counts for whoever looks: the proof, its repair, and answers of changes. */
import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openManagement } from "../../../../src/storage/engines/postgres/management.ts";
import { reconciled } from "../../../../src/storage/proof/proof.ts";
import { proveAndRepair } from "../../../../src/storage/proof/repair.ts";
import { storesOver } from "../../../../src/storage/storage.ts";
import { begun, callOf, ended, hold, holdOf, recordsOf } from "../../../support/storage/books-stage.ts";
import { type PostgresServer, postgresPrograms, serverAt, startPostgres } from "../../../support/storage/postgres.ts";
import { openPostgresStage } from "../../../support/storage/postgres-stage.ts";

describe.skipIf(!postgresPrograms)("on Postgres", () => {
  let postgres: PostgresServer;

  beforeAll(async () => {
    postgres = await startPostgres();
  });

  afterAll(() => postgres.stop());

  test("sums hold, nothing is repaired, and an account that is changed is told with all that it spent", async () => {
    const url = await postgres.createDatabase();
    const t = await openPostgresStage(serverAt(url));
    const books = await t.open("nod_a");
    await t.addAccount("acc_1", { balance: 1_000_000 });
    await t.addKey("key_1", "acc_1");
    const taken = { leaseId: "nod_a acc_1", isOfKey: false };
    expect(await hold(books, holdOf("req_1", 10, { lease: { id: taken.leaseId, isOfKey: false } }))).toEqual([
      expect.stringMatching(/^leased/),
    ]);
    const { db, scope } = openManagement(serverAt(url), () => {});
    const apart = openManagement(serverAt(url), () => {});
    await scope.transact(async (within) => {
      // Whoever has the account's lock keeps others from adding up.
      await sql`SELECT 1 FROM accounts FOR NO KEY UPDATE`.execute(within.db);
      await recordsOf(books)(begun("req_1", 10, taken), ended(callOf("req_1", 7), taken));
      expect(await t.query("SELECT paid FROM due_sums WHERE paid > 0")).toEqual([{ paid: 7 }]);
      const proof = await reconciled(proveAndRepair(apart.db, { isRepairing: true, isFull: true }));
      expect(proof).toMatchObject({ requests: 1, findings: [], repaired: [] });
      const { accounts, entries } = storesOver(within);
      expect(await accounts.update("acc_1", { name: "other" })).toMatchObject({
        name: "other",
        balance: 1_000_000 - 7,
      });
      const grant = { id: "led_2", accountId: "acc_1", kind: 3, amount: 5, note: null, now: 1 } as const;
      expect(await entries.record(grant)).toMatchObject({ kind: "recorded", account: { balance: 1_000_000 - 7 + 5 } });
    });
    for (const one of [db, apart.db]) await one.destroy();
    await t.close();
  });
});
