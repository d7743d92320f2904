/** Stores answer the same on every engine: whatever they can do is done once on SQLite and once on Postgres. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Capture } from "../../../src/storage/columns.ts";
import { openPostgresBooks } from "../../../src/storage/engines/postgres/books/books.ts";
import { openManagement } from "../../../src/storage/engines/postgres/management.ts";
import { migrate } from "../../../src/storage/engines/postgres/migrate.ts";
import type { Server } from "../../../src/storage/engines/postgres/session.ts";
import { startWatcher } from "../../../src/storage/engines/postgres/watcher.ts";
import { openStorage, storesOver } from "../../../src/storage/storage.ts";
import { temporaryFolder } from "../../support/command.ts";
import {
  type PostgresServer,
  postgresPrograms,
  serverAt,
  startPglite,
  startPostgres,
} from "../../support/storage/postgres.ts";
import { noSpool } from "../../support/storage/postgres-stage.ts";
import { callRows, runStores } from "../../support/storage/stores-script.ts";

const recall = () => ({ records: [], leases: [] });
const captures = callRows().map((row) => ({ call: row as Capture, most: row.cost }));
const calls = { ...recall(), captures, releases: [], holds: [] };

async function onSqlite() {
  const folder = await temporaryFolder();
  const storage = await openStorage(`${folder.path}/gateway.db`);
  const answers = await runStores(storage, async () => {
    const books = storage.openBooks(false)({
      node: "nod_a",
      clock: Date.now,
      onError: (error) => expect(error).toBeUndefined(),
      recall,
    });
    await books.decide(() => calls);
    await books.close();
  });
  await storage.close();
  await folder.remove();
  return answers;
}

async function onPostgres(server: Server) {
  const watcher = await migratedWatcher(server);
  const { db, scope } = openManagement(server, watcher.changed);
  const books = openPostgresBooks({
    ...{ server, watcher, spool: noSpool(), node: "nod_a", recall },
    ...{ onError: (error) => expect(error).toBeUndefined(), clock: Date.now, version: "test" },
  });
  const answers = await runStores(
    { ...storesOver(scope), transact: (work) => scope.transact((within) => work(storesOver(within))) },
    async () => {
      const captures = callRows().map((row) => ({ call: row as Capture, most: row.cost }));
      await books.decide(() => ({ records: [], leases: [], captures, releases: [], holds: [] }));
    },
  );
  await books.close();
  watcher.close();
  await db.destroy();
  return answers;
}

async function migratedWatcher(server: Server) {
  const { db } = openManagement(server, () => {});
  await migrate(db as never, server.name);
  return startWatcher({ connect: () => server.connect(), onError: () => {} });
}

let expected: Awaited<ReturnType<typeof onSqlite>>;

beforeAll(async () => {
  expected = await onSqlite();
});

test("they do what can be done", () => {
  const failed = expected.filter(
    ([, answer]) => String(answer).startsWith("Error") || String(answer).startsWith("Sqlite"),
  );
  expect(failed.map(([what]) => what)).toEqual(["one that fails", "one that asks outer stores"]);
});

describe.skipIf(!postgresPrograms)("on a server of Postgres", () => {
  let postgres: PostgresServer;

  beforeAll(async () => {
    postgres = await startPostgres();
  });

  afterAll(() => postgres.stop());

  test("each answers as on SQLite", async () => {
    expect(await onPostgres(serverAt(await postgres.createDatabase()))).toEqual(expected);
  });
});

test("on PGlite each answers as on SQLite", async () => {
  const pglite = await startPglite();
  expect(await onPostgres(await pglite.open())).toEqual(expected);
  await pglite.stop();
});
