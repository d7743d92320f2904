/** The description of the tables is what SQLite's migrations make. What it is on Postgres is in `postgres/`. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { openDatabase } from "../../../src/storage/engines/sqlite/database.ts";
import { schema, tablesOf } from "../../../src/storage/engines/tables/all.ts";
import { temporaryFolder } from "../../support/command.ts";
import { type Catalogue, sqliteCatalogue } from "../../support/storage/sqlite-catalogue.ts";
import { factsOf } from "../../support/storage/table-facts.ts";

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let catalogue: Catalogue;

beforeAll(async () => {
  folder = await temporaryFolder();
  const path = `${folder.path}/gateway.db`;
  const { db } = await openDatabase(path);
  catalogue = sqliteCatalogue(path);
  await db.destroy();
});

afterAll(() => folder.remove());

test("a file that all migrations have made has the tables that are described, and no others", () => {
  const described = tablesOf("sqlite");
  expect(Object.keys(catalogue.tables).sort()).toEqual(described.map(({ name }) => name).sort());
});

test.each(tablesOf("sqlite").map((table) => [table.name, table] as const))(
  "%s is as described: columns, types, nullability, defaults, keys, references, indexes",
  (name, table) => {
    expect(catalogue.tables[name]).toEqual(factsOf(table, "sqlite"));
  },
);

test("views have the columns that are described", () => {
  const sorted = (columns: readonly string[] | undefined) => columns?.toSorted();
  expect(Object.keys(catalogue.views).sort()).toEqual(schema.views.map(({ name }) => name).sort());
  for (const { name, columns } of schema.views)
    expect([name, sorted(catalogue.views[name])]).toEqual([name, sorted(columns)]);
});
