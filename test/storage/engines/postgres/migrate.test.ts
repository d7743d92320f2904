/** A database of Postgres has the tables that are described; nodes of other versions keep it whole. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { SharedMigration } from "../../../../src/storage/engines/migrations/migration.ts";
import { migrate } from "../../../../src/storage/engines/postgres/migrate.ts";
import type { Server } from "../../../../src/storage/engines/postgres/session.ts";
import { schema, tablesOf } from "../../../../src/storage/engines/tables/all.ts";
import { addColumn, createTable } from "../../../../src/storage/engines/tables/create.ts";
import { bigint, orNull, orZero, text } from "../../../../src/storage/engines/tables/shape.ts";
import {
  kyselyOf,
  type PgliteServer,
  type PostgresServer,
  postgresPrograms,
  serverAt,
  startPglite,
  startPostgres,
} from "../../../support/storage/postgres.ts";
import { postgresCatalogue } from "../../../support/storage/postgres-catalogue.ts";
import type { Catalogue } from "../../../support/storage/sqlite-catalogue.ts";
import { factsOf } from "../../../support/storage/table-facts.ts";

const first: SharedMigration = { name: "0100-first", up: async () => {} };
const second: SharedMigration = {
  name: "0101-second",
  async up(db, dialect) {
    await addColumn(db, dialect, "accounts", "region", orNull(text));
    await addColumn(db, dialect, "accounts", "visits", orZero(bigint));
    await createTable(db, dialect, { name: "visits", columns: { id: text, at: bigint }, key: ["id"] });
  },
};

describe("PGlite", () => {
  let pglite: PgliteServer;

  beforeAll(async () => {
    pglite = await startPglite();
  });

  afterAll(() => pglite.stop());

  hasTables(() => pglite.open());
});

describe.skipIf(!postgresPrograms)("a server of Postgres", () => {
  let postgres: PostgresServer;

  beforeAll(async () => {
    postgres = await startPostgres();
  });

  afterAll(() => postgres.stop());

  hasTables(async () => serverAt(await postgres.createDatabase()));

  test("has one node migrate, of several that start at once", async () => {
    const url = await postgres.createDatabase();
    const servers = [1, 2, 3, 4].map(() => serverAt(url));
    const all = (migrations: readonly SharedMigration[]) =>
      Promise.all(servers.map((server) => migrate(kyselyOf(server), "db", migrations)));
    let count = 0;
    const up = async () => {
      count++;
    };
    await all([first]);
    await all([first, { name: "0101-counted", up }]);
    expect(count).toBe(1);
    await Promise.all(servers.map((server) => server.pool.end()));
  });
});

function hasTables(open: () => Promise<Server>): void {
  describe("has tables", () => {
    let catalogue: Catalogue;

    beforeAll(async () => {
      const server = await open();
      await migrate(kyselyOf(server), server.name);
      catalogue = await postgresCatalogue(server);
      await server.pool.end();
    });

    test("as described, and no others", () => {
      const described = Object.fromEntries(
        tablesOf("postgres").map((table) => [table.name, factsOf(table, "postgres")]),
      );
      expect(catalogue.tables).toEqual(described);
    });

    test("and the views that are described", () => {
      expect(catalogue.views).toEqual(Object.fromEntries(schema.views.map((view) => [view.name, view.columns])));
    });
  });

  describe("in a fleet of two versions", () => {
    test("a newer node adds what is missing, and an older one that starts is refused in one line", async () => {
      const server = await open();
      const db = kyselyOf(server);
      await migrate(db, "db", [first]);
      await migrate(db, "db", [first, second]);
      const { tables } = await postgresCatalogue(server);
      expect(tables.accounts?.columns).toMatchObject({ region: "text null", visits: "bigint not null default 0" });
      expect(tables.visits?.key).toEqual(["id"]);
      await expect(migrate(db, "db", [first])).rejects.toThrow(
        /^the database db was written by a newer model-gateway \(it has 0101-second\); use that version, or another database$/,
      );
      await migrate(db, "db", [first, second]);
      await server.pool.end();
    });

    test("a change that older nodes cannot go on with waits until none is at work", async () => {
      const server = await open();
      const db = kyselyOf(server);
      await migrate(db, "db", [first]);
      const session = await server.connect();
      const node = (until: string) =>
        `INSERT INTO nodes (node, version, started_at, steady_since, alive_until) VALUES ('nod_a', '1', 0, 0, ${until})
         ON CONFLICT (node) DO UPDATE SET alive_until = excluded.alive_until`;
      await session.query(node("now_ms() + 60000"));
      await expect(migrate(db, "db", [first, { ...second, isAlone: true }])).rejects.toThrow(
        /0101-second\), and 1 of them/,
      );
      expect((await postgresCatalogue(server)).tables.visits).toBeUndefined();
      await session.query(node("now_ms() - 1"));
      await migrate(db, "db", [first, { ...second, isAlone: true }]);
      session.close();
      await server.pool.end();
    });

    test("a migration that fails leaves nothing behind", async () => {
      const server = await open();
      const db = kyselyOf(server);
      await migrate(db, "db", [first]);
      const before = await postgresCatalogue(server);
      const failing: SharedMigration = {
        name: "0101-second",
        async up(...of) {
          await second.up(...of);
          throw new Error("no room");
        },
      };
      await expect(migrate(db, "db", [first, failing])).rejects.toThrow("no room");
      expect(await postgresCatalogue(server)).toEqual(before);
      await server.pool.end();
    });
  });
}
