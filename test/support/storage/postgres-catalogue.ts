/** Reads the catalogue of a database of Postgres. */
import type { Server } from "../../../src/storage/engines/postgres/session.ts";
import type { Catalogue } from "./sqlite-catalogue.ts";
import { columnFacts, indexFacts, type TableFacts } from "./table-facts.ts";

interface Column {
  readonly table: string;
  readonly name: string;
  readonly type: string;
  readonly collation: string | null;
  readonly nullable: boolean;
  readonly default: string | null;
  readonly identity: boolean;
  readonly is_view: boolean;
}

interface Constraint {
  readonly table: string;
  readonly kind: "p" | "u" | "f";
  readonly columns: readonly string[];
  readonly target: string | null;
  readonly cascades: boolean;
}

interface Index {
  readonly table: string;
  readonly name: string;
  readonly unique: boolean;
  readonly columns: readonly string[];
  readonly where: string | null;
}

const columnsSql = `SELECT c.relname AS table, a.attname AS name, format_type(a.atttypid, NULL) AS type,
    l.collname AS collation, NOT a.attnotnull AS nullable, pg_get_expr(d.adbin, d.adrelid) AS default,
    a.attidentity <> '' AS identity, c.relkind = 'v' AS is_view
  FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
    LEFT JOIN pg_collation l ON l.oid = a.attcollation
  WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'v') ORDER BY c.relname, a.attnum`;

const constraintsSql = `SELECT c.conrelid::regclass::text AS table, c.contype::text AS kind, c.confdeltype = 'c' AS cascades,
    CASE WHEN c.confrelid <> 0 THEN c.confrelid::regclass::text END AS target,
    ARRAY(SELECT a.attname::text FROM unnest(c.conkey) WITH ORDINALITY k(n, i)
      JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.n ORDER BY k.i) AS columns
  FROM pg_constraint c WHERE c.connamespace = current_schema()::regnamespace AND c.contype IN ('p', 'u', 'f')`;

const indexesSql = `SELECT i.indrelid::regclass::text AS table, x.relname AS name, i.indisunique AS unique,
    pg_get_expr(i.indpred, i.indrelid) AS where,
    ARRAY(SELECT pg_get_indexdef(i.indexrelid, k, true) FROM generate_series(1, i.indnkeyatts) k) AS columns
  FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid
  WHERE x.relnamespace = current_schema()::regnamespace
    AND NOT EXISTS (SELECT 1 FROM pg_constraint c WHERE c.conindid = i.indexrelid AND c.contype IN ('p', 'u'))`;

export async function postgresCatalogue(server: Server): Promise<Catalogue> {
  const session = await server.connect();
  const all = async <R>(sql: string) => (await session.query(sql)) as readonly R[];
  const columns = await all<Column>(columnsSql);
  const constraints = await all<Constraint>(constraintsSql);
  const indexes = await all<Index>(indexesSql);
  session.close();
  const tables = new Set(columns.flatMap(({ table, is_view }) => (is_view || table === "migrations" ? [] : [table])));
  return {
    tables: Object.fromEntries(
      [...tables].map((name) => [
        name,
        factsOf(
          columns.filter(({ table }) => table === name),
          constraints.filter(({ table }) => table === name),
          indexes.filter(({ table }) => table === name),
        ),
      ]),
    ),
    views: Object.fromEntries(
      Map.groupBy(
        columns.filter(({ is_view }) => is_view),
        ({ table }) => table,
      )
        .entries()
        .map(([name, of]) => [name, of.map((column) => column.name)]),
    ),
  };
}

function factsOf(
  columns: readonly Column[],
  constraints: readonly Constraint[],
  indexes: readonly Index[],
): TableFacts {
  return {
    columns: Object.fromEntries(columns.map((column) => [column.name, factsOfColumn(column)])),
    key: constraints.find(({ kind }) => kind === "p")?.columns ?? [],
    uniques: constraints
      .filter(({ kind }) => kind === "u")
      .flatMap((one) => one.columns)
      .sort(),
    references: Object.fromEntries(
      constraints
        .filter(({ kind }) => kind === "f")
        .map((one) => [one.columns.join(), one.cascades ? `${one.target} cascade` : (one.target ?? "")]),
    ),
    indexes: Object.fromEntries(
      indexes.map(({ name, unique, columns: on, where }) => [name, indexFacts(unique, on, where ?? undefined)]),
    ),
  };
}

function factsOfColumn({ type, collation, nullable, default: byDefault, identity }: Column): string {
  const kind = identity ? "serial" : type === "bytea" ? "bytes" : type;
  // Another collation would sort ids otherwise than SQLite does.
  const name = kind === "text" && collation !== "C" ? `text in ${collation}` : kind;
  return columnFacts(name, nullable, byDefault?.replace("::text", ""));
}
