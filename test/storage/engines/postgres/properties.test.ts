/** Random interleavings of two nodes on a server of Postgres. */
import { afterAll, beforeAll, describe } from "vitest";
import { type PostgresServer, postgresPrograms, serverAt, startPostgres } from "../../../support/storage/postgres.ts";
import { openPostgresStage } from "../../../support/storage/postgres-stage.ts";
import { booksProperties } from "../../money/books-properties.ts";

describe.skipIf(!postgresPrograms)("two nodes on Postgres", () => {
  let postgres: PostgresServer;

  beforeAll(async () => {
    postgres = await startPostgres();
  });

  afterAll(() => postgres.stop());

  booksProperties(async () => openPostgresStage(serverAt(await postgres.copyDatabase())), 25);
});
