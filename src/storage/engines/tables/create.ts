/**
 * Makes statements of described tables, for each engine. Migrations that are written once for all engines use the same functions,
 * with shapes of their own: a later change of the description must not change what they did.
 */
import { type Kysely, sql } from "kysely";
import type { ColumnShape, Dialect, IndexShape, Kind, TableShape, ViewShape } from "./shape.ts";

type Db = Kysely<unknown>;

const types: Readonly<Record<Dialect, Readonly<Record<Kind, string>>>> = {
  sqlite: { text: "text", integer: "integer", bigint: "bigint", bytes: "blob", serial: "integer" },
  postgres: {
    // Byte by byte, as SQLite compares: ids sort by time whatever the server's locale is.
    text: 'text COLLATE "C"',
    integer: "integer",
    bigint: "bigint",
    bytes: "bytea",
    serial: "bigint GENERATED ALWAYS AS IDENTITY",
  },
};

/** storage is how Postgres keeps the rows of a table, by its use. */
const storage: Readonly<Record<"hot" | "passing", string>> = {
  // Room on each page, so that a row is written again beside itself and no index is touched.
  hot: "fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02",
  // Vacuumed by count: what has gone would be looked through by each search for what has come.
  passing: "autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0",
};

export async function createTable(db: Db, dialect: Dialect, table: TableShape): Promise<void> {
  const columns = Object.entries(table.columns).map(([name, column]) => columnSql(dialect, name, column));
  const key = `PRIMARY KEY (${list(table.key)})`;
  const checks = dialect === "postgres" ? (table.checks ?? []).map((check) => `CHECK (${check})`) : [];
  const settings = dialect === "postgres" && table.use ? ` WITH (${storage[table.use]})` : "";
  await run(db, `CREATE TABLE ${name(table.name)} (${[...columns, key, ...checks].join(", ")})${settings}`);
  for (const index of table.indexes ?? []) await createIndex(db, dialect, table.name, index);
}

/** addColumn adds a column. One that is not null needs a default, for the rows that are there. */
export async function addColumn(db: Db, dialect: Dialect, table: string, column: string, shape: ColumnShape) {
  if (!shape.isNullable && shape.default === undefined) throw new Error(`${table}.${column} needs a default`);
  await run(db, `ALTER TABLE ${name(table)} ADD COLUMN ${columnSql(dialect, column, shape)}`);
}

/** createIndex creates an index, unless it is another engine's. */
export async function createIndex(db: Db, dialect: Dialect, table: string, index: IndexShape): Promise<void> {
  const { only = dialect, where } = index;
  if (only !== dialect) return;
  const rows = where ? ` WHERE ${name(where.column)} ${where.is} ${literal(where.value)}` : "";
  const kind = index.isUnique ? "UNIQUE INDEX" : "INDEX";
  await run(db, `CREATE ${kind} ${name(index.name)} ON ${name(table)} (${list(index.on)})${rows}`);
}

export async function createView(db: Db, dialect: Dialect, view: ViewShape): Promise<void> {
  await run(db, `CREATE VIEW ${name(view.name)} AS ${view.query(dialect)}`);
}

export async function dropView(db: Db, view: string): Promise<void> {
  await run(db, `DROP VIEW ${name(view)}`);
}

/** run runs a statement that one engine alone needs, or that both take. */
export async function run(db: Db, statement: string): Promise<void> {
  await sql.raw(statement).execute(db);
}

function columnSql(dialect: Dialect, column: string, shape: ColumnShape): string {
  const parts = [name(column), types[dialect][shape.kind]];
  if (!shape.isNullable) parts.push("NOT NULL");
  if (shape.default !== undefined) parts.push(`DEFAULT ${literal(shape.default)}`);
  if (shape.isUnique) parts.push("UNIQUE");
  if (shape.references) {
    parts.push(`REFERENCES ${name(shape.references.table)} (id)`);
    if (shape.references.isOwned) parts.push("ON DELETE CASCADE");
  }
  return parts.join(" ");
}

function list(names: readonly string[]): string {
  return names.map(name).join(", ");
}

function name(text: string): string {
  if (!/^[a-z_]+$/.test(text)) throw new Error(`${text} is no name of a table or column`);
  return `"${text}"`;
}

function literal(value: number | string): string {
  return typeof value === "number" ? String(value) : `'${value.replaceAll("'", "''")}'`;
}
