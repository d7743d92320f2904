/** The books of Postgres keep the contract: on a server where one is installed, and in this process elsewhere. */
import { afterAll, beforeAll, describe } from "vitest";
import {
  type PgliteServer,
  type PostgresServer,
  postgresPrograms,
  serverAt,
  startPglite,
  startPostgres,
} from "../../../support/storage/postgres.ts";
import { openPostgresStage } from "../../../support/storage/postgres-stage.ts";
import { booksContract } from "../../money/books-contract.ts";

if (postgresPrograms) describe("a server of Postgres", onServer);
else describe("PGlite", onPglite);

function onServer(): void {
  let postgres: PostgresServer;

  beforeAll(async () => {
    postgres = await startPostgres();
  });

  afterAll(() => postgres.stop());

  booksContract(async () => openPostgresStage(serverAt(await postgres.copyDatabase())));
}

function onPglite(): void {
  let pglite: PgliteServer;

  beforeAll(async () => {
    pglite = await startPglite();
  });

  afterAll(() => pglite.stop());

  booksContract(async () => openPostgresStage(await pglite.open()));
}
