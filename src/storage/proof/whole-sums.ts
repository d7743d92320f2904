/**
 * Reads sums whole. What all accounts come to together, or a row that somebody has changed, may be more than a double counts exactly: the
 * driver of Postgres refuses such a number, and that of SQLite rounds it. So sums come as texts.
 */
import { type RawBuilder, sql } from "kysely";

/** summedText returns the query's part for the sum of a column, or of an expression, as a text. */
export function summedText(of: RawBuilder<unknown>): RawBuilder<string> {
  return sql<string>`CAST(sum(${of}) AS text)`;
}

/** summedTexts returns the same for each of these columns, under its own name. */
export function summedTexts(names: readonly string[]): RawBuilder<unknown> {
  return sql.join(names.map((name) => sql`${summedText(sql.ref(name))} AS ${sql.ref(name)}`));
}

/** wholeSums reads the texts of these columns. The sum of no row is null, which is 0. */
export function wholeSums<N extends string>(
  row: Readonly<Record<N, string | null>> | undefined,
  names: readonly N[],
): Record<N, bigint> {
  return Object.fromEntries(names.map((name) => [name, BigInt(row?.[name] ?? 0)])) as Record<N, bigint>;
}
