/**
 * Counts and sums of a table, each as both engines compute it exactly: how many rows, and of each column how many values there are and
 * their sum, of a text or of bytes that of their lengths in bytes. A row that is missing, there twice, cut or moved to another column
 * shows.
 */
import { type RawBuilder, sql } from "kysely";
import { counted } from "../../runtime/words/counted.ts";
import type { MoveEnd } from "../engines/move-end.ts";
import type { Dialect, Kind, TableShape } from "../engines/tables/shape.ts";
import { moneyColumns } from "./tables.ts";

export interface Totals {
  readonly rows: number;
  /** By column: how many values, and their sum. */
  readonly sums: ReadonlyMap<string, { readonly values: number; readonly sum: bigint }>;
}

/** Sums are added up in two parts, neither of which grows beyond 64 bits: times of many calls would. */
const part = 1_000_000_000;

export async function totalsOf({ db, dialect }: MoveEnd, { name, columns }: TableShape): Promise<Totals> {
  const all = Object.entries(columns);
  const asked = all.flatMap(([column, { kind }], i) => {
    const number = numberOf(column, kind, dialect);
    const whole = (of: RawBuilder<unknown>) => sql`CAST(coalesce(sum(${of}), 0) AS text)`;
    return [
      sql`count(${sql.ref(column)}) AS ${sql.ref(`n${i}`)}`,
      sql`${whole(sql`${number} / ${sql.lit(part)}`)} AS ${sql.ref(`high${i}`)}`,
      sql`${whole(sql`${number} % ${sql.lit(part)}`)} AS ${sql.ref(`low${i}`)}`,
    ];
  });
  const { rows } = await sql<Record<string, string | number>>`
    SELECT count(*) AS "rows", ${sql.join(asked)} FROM ${sql.table(name)}`.execute(db);
  const found = rows[0] ?? {};
  const sumAt = (i: number) => BigInt(found[`high${i}`] ?? 0) * BigInt(part) + BigInt(found[`low${i}`] ?? 0);
  return {
    rows: Number(found.rows),
    sums: new Map(all.map(([column], i) => [column, { values: Number(found[`n${i}`]), sum: sumAt(i) }])),
  };
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
  return undefined;
}

/** moneyOf returns the sum of money of a table, in millionths of the unit; undefined where it has none. */
export function moneyOf({ name }: TableShape, totals: Totals): bigint | undefined {
  return totals.sums.get(moneyColumns.get(name) ?? "")?.sum;
}
