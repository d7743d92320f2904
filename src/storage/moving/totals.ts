/**
 * Counts and sums of a table, each as both engines compute it exactly: how many rows, of each column how many values there are and their
 * sum, of a text or of bytes that of their lengths in bytes, and the sum of all rows' digests, in whatever order they are. A row that is
 * missing, there twice, cut or moved to another column shows, and so does any byte that is another one.
 */
import { type RawBuilder, sql } from "kysely";
import { counted } from "../../runtime/words/counted.ts";
import { digestOf, type MoveEnd } from "../engines/move-end.ts";
import type { Dialect, Kind, TableShape } from "../engines/tables/shape.ts";
import { moneyColumns } from "./tables.ts";

export interface Totals {
  readonly rows: number;
  /** By column: how many values, and their sum. */
  readonly sums: ReadonlyMap<string, { readonly values: number; readonly sum: bigint }>;
  /** The sum of the rows' digests. */
  readonly digest: bigint;
}

/** Sums are added up in two parts, neither of which grows beyond 64 bits: times of many calls would. */
const part = 1_000_000_000;

export async function totalsOf({ db, dialect }: MoveEnd, table: TableShape): Promise<Totals> {
  const all = Object.entries(table.columns);
  const asked = all.flatMap(([column, { kind }], i) => [
    sql`count(${sql.ref(column)}) AS ${sql.ref(`n${i}`)}`,
    ...inParts(numberOf(column, kind, dialect), `${i}`),
  ]);
  const { rows } = await sql<Record<string, string | number>>`
    SELECT count(*) AS "rows", ${sql.join([...asked, ...inParts(digestOfRow(table, dialect), "Digest")])}
    FROM ${sql.table(table.name)}`.execute(db);
  const found = rows[0] ?? {};
  const sumOf = (name: string) => BigInt(found[`high${name}`] ?? 0) * BigInt(part) + BigInt(found[`low${name}`] ?? 0);
  return {
    rows: Number(found.rows),
    sums: new Map(all.map(([column], i) => [column, { values: Number(found[`n${i}`]), sum: sumOf(`${i}`) }])),
    digest: sumOf("Digest"),
  };
}

/** inParts asks for a sum in its two parts. */
function inParts(number: RawBuilder<number>, name: string): RawBuilder<unknown>[] {
  const whole = (of: RawBuilder<unknown>) => sql`CAST(coalesce(sum(${of}), 0) AS text)`;
  return [
    sql`${whole(sql`${number} / ${sql.lit(part)}`)} AS ${sql.ref(`high${name}`)}`,
    sql`${whole(sql`${number} % ${sql.lit(part)}`)} AS ${sql.ref(`low${name}`)}`,
  ];
}

/** digestOfRow returns a number of 48 bits that follows from all values of a row. */
function digestOfRow({ columns }: TableShape, dialect: Dialect): RawBuilder<number> {
  const values = Object.entries(columns).map(([column, { kind }]) => toldOf(column, kind, dialect));
  const row = sql.join(values, sql` || `);
  if (dialect === "sqlite") return sql`${sql.raw(digestOf)}(CAST(${row} AS blob))`;
  return sql`CAST(CAST('x' || left(encode(sha256(convert_to(${row}, 'UTF8')), 'hex'), 12) AS bit(48)) AS bigint)`;
}

/** toldOf returns a value as a text that no other value has, and that no value after it continues. */
function toldOf(column: string, kind: Kind, dialect: Dialect): RawBuilder<string> {
  const value = sql.ref(column);
  if (kind !== "text" && kind !== "bytes") return sql`coalesce(CAST(${value} AS text), '-') || ','`;
  const hex = dialect === "postgres" ? sql`encode(${value}, 'hex')` : sql`lower(hex(${value}))`;
  const text = kind === "bytes" ? hex : value;
  // SQLite's hex makes an empty text of null.
  return sql`CASE WHEN ${value} IS NULL THEN '-' ELSE CAST(length(${text}) AS text) || ':' || ${text} END`;
}

function numberOf(column: string, kind: Kind, dialect: Dialect): RawBuilder<number> {
  if (kind !== "text" && kind !== "bytes") return sql.ref<number>(column);
  return dialect === "postgres" ? sql`octet_length(${sql.ref(column)})` : sql`length(CAST(${sql.ref(column)} AS blob))`;
}

/** difference returns what the other end has otherwise, in one line; undefined where both have the same. */
export function difference({ name }: TableShape, here: Totals, there: Totals): string | undefined {
  if (here.rows !== there.rows) return `${name} has ${counted(here.rows, "row")}, and ${there.rows} came`;
  for (const [column, { values, sum }] of here.sums) {
    const came = there.sums.get(column);
    if (came?.values !== values) return `${name}.${column} has ${values} values, and ${came?.values} came`;
    if (came.sum !== sum) return `the sum of ${name}.${column} is ${sum}, and ${came.sum} came`;
  }
  return here.digest === there.digest ? undefined : `${name} has values for which others of the same length came`;
}

/** moneyOf returns the sum of money of a table, in millionths of the unit; undefined where it has none. */
export function moneyOf({ name }: TableShape, totals: Totals): bigint | undefined {
  return totals.sums.get(moneyColumns.get(name) ?? "")?.sum;
}
