/**
 * The words that describe tables once, for every engine: what `tables/` is written in, what `create.ts` makes statements of, and
 * what a test reads back from the catalogue of each database.
 *
 * A number is a whole one. A text is compared byte by byte, as SQLite does: ids sort by time, whatever the locale of a server.
 */

/** Dialect names an engine's SQL. */
export type Dialect = "sqlite" | "postgres";

/** Kind is a type: `serial` numbers rows by itself, in the order in which they come. */
export type Kind = "text" | "integer" | "bigint" | "bytes" | "serial";

export interface ColumnShape {
  readonly kind: Kind;
  readonly isNullable?: true;
  /** default is what a row has that states none. */
  readonly default?: 0 | "";
  readonly isUnique?: true;
  /** The table whose `id` it is, and whether its rows go with that one. */
  readonly references?: { readonly table: string; readonly isOwned: boolean };
}

export interface IndexShape {
  readonly name: string;
  readonly on: readonly string[];
  readonly isUnique?: true;
  /** The rows that it has; undefined for all. */
  readonly where?: { readonly column: string; readonly is: "=" | "<>"; readonly value: number | string };
  /** only is set for an index that one engine alone has. */
  readonly only?: Dialect;
}

/** Check is a condition that Postgres holds besides: SQLite cannot be given one later. */
export type Check = string;

export interface TableShape {
  readonly name: string;
  readonly columns: Readonly<Record<string, ColumnShape>>;
  /** The columns of the primary key. */
  readonly key: readonly string[];
  readonly indexes?: readonly IndexShape[];
  readonly checks?: readonly Check[];
  /** only is set for a table that one engine alone has. */
  readonly only?: Dialect;
  /** `hot` rows are written again and again, `passing` rows go soon after they came: Postgres lays out and vacuums such tables for it. */
  readonly use?: "hot" | "passing";
}

export interface ViewShape {
  readonly name: string;
  readonly columns: readonly string[];
  /** Returns the query that it stands for. */
  readonly query: (dialect: Dialect) => string;
}

/** Schema is all tables and views, in an order in which they can be made. */
export interface Schema {
  readonly tables: readonly TableShape[];
  readonly views: readonly ViewShape[];
}

export const text = { kind: "text" } as const satisfies ColumnShape;
export const integer = { kind: "integer" } as const satisfies ColumnShape;
export const bigint = { kind: "bigint" } as const satisfies ColumnShape;
export const bytes = { kind: "bytes" } as const satisfies ColumnShape;
export const serial = { kind: "serial" } as const satisfies ColumnShape;

export function orNull(column: ColumnShape): ColumnShape {
  return { ...column, isNullable: true };
}

export function orZero(column: ColumnShape): ColumnShape {
  return { ...column, default: 0 };
}

export function orEmpty(column: ColumnShape): ColumnShape {
  return { ...column, default: "" };
}

export function unique(column: ColumnShape): ColumnShape {
  return { ...column, isUnique: true };
}

/** idOf returns a column with the id of a row of another table. */
export function idOf(table: string): ColumnShape {
  return { ...text, references: { table, isOwned: false } };
}

/** idOfOwner returns the same where this row goes when that one goes. */
export function idOfOwner(table: string): ColumnShape {
  return { ...text, references: { table, isOwned: true } };
}
