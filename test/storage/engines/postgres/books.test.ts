/** The books of Postgres keep the contract: on a server where one is installed, and in this process elsewhere. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { holdMs, sweepMs } from "../../../../src/storage/money/books.ts";
import { hold, holdOf } from "../../../support/storage/books-stage.ts";
import {
  type PgliteServer,
  type PostgresServer,
  postgresPrograms,
  serverAt,
  startPglite,
  startPostgres,
} from "../../../support/storage/postgres.ts";
import { openPostgresStage, type PostgresStage } from "../../../support/storage/postgres-stage.ts";
import { booksContract } from "../../money/books-contract.ts";

if (postgresPrograms) describe("a server of Postgres", onServer);
else describe("PGlite", onPglite);

function onServer(): void {
  let postgres: PostgresServer;

  beforeAll(async () => {
    postgres = await startPostgres();
  });

  afterAll(() => postgres.stop());

  everyContract(async () => openPostgresStage(serverAt(await postgres.copyDatabase())));
}

function onPglite(): void {
  let pglite: PgliteServer;

  beforeAll(async () => {
    pglite = await startPglite();
  });

  afterAll(() => pglite.stop());

  everyContract(async () => openPostgresStage(await pglite.open()));
}

function everyContract(open: () => Promise<PostgresStage>): void {
  booksContract(open);

  test("a hold expires whose call its node does not know, as where a standby has taken over that lacks the call's end", async () => {
    const t = await open();
    await t.addAccount("acc_1", { balance: 1000 });
    await t.addKey("key_1", "acc_1");
    const books = await t.open("nod_a", undefined, () => ["req_1"]);
    expect(await hold(books, holdOf("req_1", 5), holdOf("req_2", 7))).toEqual([5, 7]);
    for (let ms = 0; ms <= holdMs; ms += sweepMs) {
      await t.pass(sweepMs);
      await books.renew();
    }
    expect(await books.expire()).toBe(1);
    expect(await t.holds()).toMatchObject([{ id: "req_1", amount: 5 }]);
    expect(await t.account("acc_1")).toEqual({ balance: 1000, held: 5 });
    expect(await t.call("req_2")).toMatchObject({ cost: 0 });
    expect(await t.faults()).toEqual([]);
    await t.close();
  });
}
