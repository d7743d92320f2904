/** Reads what a description says of a table, in the form in which the catalogues of databases are read for comparison. */
import type { Dialect, IndexShape, TableShape } from "../../../src/storage/engines/tables/shape.ts";

export interface TableFacts {
  readonly columns: Readonly<Record<string, ColumnFacts>>;
  readonly key: readonly string[];
  /** The columns of constraints of one column. */
  readonly uniques: readonly string[];
  readonly references: Readonly<Record<string, string>>;
  readonly indexes: Readonly<Record<string, string>>;
}

/** `text null`, `bigint not null default 0`. */
type ColumnFacts = string;

export function factsOf(table: TableShape, dialect: Dialect): TableFacts {
  const columns = Object.entries(table.columns);
  return {
    columns: Object.fromEntries(
      columns.map(([name, { kind, isNullable = false, default: byDefault }]) => [
        name,
        columnFacts(
          kind,
          isNullable && !table.key.includes(name),
          byDefault === undefined ? undefined : literal(byDefault),
        ),
      ]),
    ),
    key: table.key,
    uniques: columns.flatMap(([name, { isUnique }]) => (isUnique ? [name] : [])).sort(),
    references: Object.fromEntries(
      columns.flatMap(([name, { references }]) =>
        references ? [[name, references.isOwned ? `${references.table} cascade` : references.table]] : [],
      ),
    ),
    indexes: Object.fromEntries(
      (table.indexes ?? [])
        .filter(({ only = dialect }) => only === dialect)
        .map((index) => [index.name, indexFacts(index.isUnique ?? false, index.on, predicateOf(index))]),
    ),
  };
}

export function columnFacts(kind: string, isNullable: boolean, byDefault: string | undefined): ColumnFacts {
  return `${kind} ${isNullable ? "null" : "not null"}${byDefault === undefined ? "" : ` default ${byDefault}`}`;
}

export function indexFacts(isUnique: boolean, on: readonly string[], where: string | undefined): string {
  return `${isUnique ? "unique " : ""}on ${on.join(", ")}${where ? ` where ${plainPredicate(where)}` : ""}`;
}

/** Writes a condition as all engines' catalogues do, but for what each adds. */
function plainPredicate(where: string): string {
  return where
    .replaceAll(/["()]|::text/g, "")
    .replaceAll("!=", "<>")
    .replaceAll(/\s+/g, " ")
    .trim();
}

function predicateOf({ where }: IndexShape): string | undefined {
  return where && `${where.column} ${where.is} ${literal(where.value)}`;
}

function literal(value: number | string): string {
  return typeof value === "number" ? String(value) : `'${value}'`;
}
