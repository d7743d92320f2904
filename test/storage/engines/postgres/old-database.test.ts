/**
 * A database that the first version on Postgres has made, with calls in it, becomes by migrations what a new one is; its money is proved,
 * and nodes of that version go on beside those of this one.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { migrate } from "../../../../src/storage/engines/postgres/migrate.ts";
import type { Server, Session } from "../../../../src/storage/engines/postgres/session.ts";
import { schema, tablesOf } from "../../../../src/storage/engines/tables/all.ts";
import { callOf, capture, hold, holdOf } from "../../../support/storage/books-stage.ts";
import {
  kyselyOf,
  type PostgresServer,
  postgresPrograms,
  serverAt,
  startPostgres,
} from "../../../support/storage/postgres.ts";
import { postgresCatalogue } from "../../../support/storage/postgres-catalogue.ts";
import { openPostgresStage } from "../../../support/storage/postgres-stage.ts";
import { factsOf } from "../../../support/storage/table-facts.ts";

const fixture = join(import.meta.dirname, "../../../fixtures/postgres/0017.sql");

/** Has a node of the first version ask for a hold by its own function. */
async function holdOfOlder(session: Session, requestId: string): Promise<unknown> {
  const [row] = await session.query("SELECT proname AS name FROM pg_proc WHERE proname LIKE 'books_decide_249d7112'");
  const wanted = JSON.stringify([
    { n: 1, i: requestId, a: 1, k: 1, lk: false, o: "chat", m: "m", max: 50, min: 50, t: 1 },
  ]);
  const [told] = await session.query(
    `SELECT ${String(row?.name)}('nod_old', 1, '{acc_1}', '{key_1}', '{}', '{}', '[]', '{}', $1) AS told`,
    [wanted],
  );
  return JSON.parse(String(told?.told));
}

describe.skipIf(!postgresPrograms)("a database of the first version on Postgres", () => {
  let postgres: PostgresServer;
  let server: Server;
  let session: Session;

  beforeAll(async () => {
    postgres = await startPostgres();
    server = serverAt(await postgres.createDatabase());
    session = await server.connect();
    await session.query(await readFile(fixture, "utf8"));
    await migrate(kyselyOf(server), server.name);
  });

  afterAll(async () => {
    session.close();
    await postgres.stop();
  });

  test("has the tables and views that are described, once it is migrated", async () => {
    const { tables, views } = await postgresCatalogue(server);
    const described = tablesOf("postgres").map((table) => [table.name, factsOf(table, "postgres")]);
    expect(tables).toEqual(Object.fromEntries(described));
    expect(views).toEqual(Object.fromEntries(schema.views.map((view) => [view.name, view.columns])));
  });

  test("numbers and names changes as a new one does", async () => {
    const statements = await session.query("SELECT prosrc FROM pg_proc WHERE proname = 'note_change'");
    const fresh = serverAt(await postgres.createDatabase());
    await migrate(kyselyOf(fresh), fresh.name);
    const other = await fresh.connect();
    const triggers = `SELECT c.relname AS table, pg_get_triggerdef(t.oid) AS definition
      FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid WHERE t.tgname = 'note_change' ORDER BY 1`;
    expect(await session.query(triggers)).toEqual(await other.query(triggers));
    expect(statements).toEqual(await other.query("SELECT prosrc FROM pg_proc WHERE proname = 'note_change'"));
    other.close();
    await fresh.pool.end();
    await session.query("UPDATE api_keys SET name = 'other' WHERE id = 'key_2'");
    await session.query(
      "INSERT INTO ledger_entries (id, account_id, kind, amount, created_at) VALUES ('led_9', 'acc_2', 3, 0, 1)",
    );
    const names = await session.query("SELECT name FROM changed_names ORDER BY number DESC LIMIT 2");
    expect(names).toEqual([{ name: "acc_2" }, { name: "key_2" }]);
  });

  test("has its money, and nodes of both versions go on with it", async () => {
    const stage = await openPostgresStage(server);
    expect(await stage.faults()).toEqual([]);
    expect(await stage.account("acc_1")).toMatchObject({ balance: 1_000_000_000 - 30 - 11 });
    const books = await stage.open("nod_new");
    expect(await holdOfOlder(session, "req_8")).toEqual({ captures: [], holds: [["held", 50]] });
    expect(await hold(books, holdOf("req_9", 40))).toEqual([40]);
    expect(await capture(books, callOf("req_9", 4), 40)).toEqual([4, 0]);
    expect((await stage.holds()).map(({ id }) => id)).toContain("req_8");
    expect(await stage.faults()).toEqual([]);
    await stage.close();
  });
});
