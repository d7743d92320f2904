/** The books of Postgres keep the contract: on a server where one is installed, and in this process everywhere. */
import { afterAll, beforeAll, describe } from "vitest";
import {
  openPglite,
  type PostgresServer,
  postgresPrograms,
  serverAt,
  startPostgres,
} from "../../../support/storage/postgres.ts";
import { openPostgresStage } from "../../../support/storage/postgres-stage.ts";
import { booksContract } from "../../money/books-contract.ts";

describe.skipIf(!postgresPrograms)("a server of Postgres", () => {
  let postgres: PostgresServer;

  beforeAll(async () => {
    postgres = await startPostgres();
  });

  afterAll(() => postgres.stop());

  booksContract(async () => openPostgresStage(serverAt(await postgres.createDatabase())));
});

describe.skipIf(postgresPrograms)("PGlite", () => {
  booksContract(async () => openPostgresStage(await openPglite()));
});
