/** Reads the catalogue of an SQLite file. */
import Sqlite from "better-sqlite3";
import { columnFacts, indexFacts, type TableFacts } from "./table-facts.ts";

type Row = Readonly<Record<string, string | number | null>>;

export interface Catalogue {
  readonly tables: Readonly<Record<string, TableFacts>>;
  /** The columns of each view. */
  readonly views: Readonly<Record<string, readonly string[]>>;
}

export function sqliteCatalogue(path: string): Catalogue {
  const db = new Sqlite(path, { readonly: true });
  const all = (sql: string, ...values: string[]) => db.prepare<unknown[], Row>(sql).all(...values);
  const named = (kind: string) =>
    all("SELECT name FROM sqlite_master WHERE type = ? AND name NOT LIKE 'sqlite%' AND name NOT LIKE 'kysely%'", kind);
  const columnsOf = (name: string) => all("SELECT * FROM pragma_table_info(?)", name);
  try {
    return {
      tables: Object.fromEntries(named("table").map(({ name }) => [name, tableFacts(String(name), all, columnsOf)])),
      views: Object.fromEntries(
        named("view").map(({ name }) => [name, columnsOf(String(name)).map((column) => String(column.name))]),
      ),
    };
  } finally {
    db.close();
  }
}

function tableFacts(
  table: string,
  all: (sql: string, ...values: string[]) => Row[],
  columnsOf: (name: string) => Row[],
): TableFacts {
  const columns = columnsOf(table);
  const key = columns.filter(({ pk }) => Number(pk) > 0).sort((a, b) => Number(a.pk) - Number(b.pk));
  const isAutomatic =
    all("SELECT 1 FROM sqlite_master WHERE name = ? AND sql LIKE '%autoincrement%'", table).length > 0;
  const indexes = all("SELECT * FROM pragma_index_list(?)", table);
  const on = (index: Row) =>
    all("SELECT name FROM pragma_index_info(?)", String(index.name)).map(({ name }) => String(name));
  return {
    columns: Object.fromEntries(
      columns.map(({ name, type, notnull, pk, dflt_value: byDefault }) => [
        name,
        columnFacts(
          isAutomatic && pk === 1 ? "serial" : String(type).toLowerCase().replace("blob", "bytes"),
          // The primary key is not null without being declared so.
          notnull === 0 && pk === 0,
          byDefault === null ? undefined : String(byDefault),
        ),
      ]),
    ),
    key: key.map(({ name }) => String(name)),
    uniques: indexes
      .filter(({ origin }) => origin === "u")
      .flatMap(on)
      .sort(),
    references: Object.fromEntries(
      all("SELECT * FROM pragma_foreign_key_list(?)", table).map((one) => [
        one.from,
        one.on_delete === "CASCADE" ? `${one.table} cascade` : String(one.table),
      ]),
    ),
    indexes: Object.fromEntries(
      indexes
        .filter(({ origin }) => origin === "c")
        .map((index) => {
          const [{ sql = "" } = {}] = all("SELECT sql FROM sqlite_master WHERE name = ?", String(index.name));
          return [index.name, indexFacts(index.unique === 1, on(index), /\bwhere\b(.*)$/is.exec(String(sql))?.[1])];
        }),
    ),
  };
}
