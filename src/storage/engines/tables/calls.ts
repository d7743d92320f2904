/** Describes calls that have ended and their sums, from the columns of a call's row (`columns.ts`). */

import type { CallRow } from "../../columns.ts";
import { type CallColumn, callColumns, type SummedColumn, summedColumns } from "../../columns.ts";
import { quarterMs } from "../../money/budget-windows.ts";
import type { Described } from "./accounts.ts";
import { bigint, type ColumnShape, integer, orZero, serial, type TableShape, text } from "./shape.ts";

const columns: readonly CallColumn[] = callColumns;

/** zeroAtFirst are columns that calls had from the beginning: they default to 0, though every call states them. */
const zeroAtFirst: ReadonlySet<string> = new Set([
  ...["input", "cache_read", "cache_write", "output", "reasoning", "characters", "estimated", "cost", "waived"],
]);

export const requests: Described<"requests"> = {
  name: "requests",
  columns: Object.fromEntries(columns.map((column) => [column.name, shapeOf(column)])) as Record<
    keyof CallRow,
    ColumnShape
  >,
  key: ["id"],
  indexes: [
    { name: "requests_account", on: ["account_id", "id"] },
    // Nearly all are answered: who looks for the others does not go through those.
    { name: "requests_unanswered", on: ["account_id", "id"], where: { column: "outcome", is: "<>", value: 1 } },
    { name: "requests_unanswered_of_all", on: ["id"], where: { column: "outcome", is: "<>", value: 1 } },
  ],
};

function shapeOf({ name, type, isNullable, default: byDefault }: CallColumn): ColumnShape {
  const value = byDefault ?? (zeroAtFirst.has(name) ? 0 : undefined);
  return { kind: type, ...(isNullable ? { isNullable } : {}), ...(value === undefined ? {} : { default: value }) };
}

/** hourKey is what names an hour of a key and a model. */
const hourKey = { account_id: text, hour: bigint, key_id: text, model: text };
type Sums = Record<SummedColumn, ColumnShape>;
const sumsFromZero = Object.fromEntries(summedColumns.map((name) => [name, orZero(bigint)])) as Sums;

export const usageHours: Described<"usage_hours"> = {
  name: "usage_hours",
  columns: { ...hourKey, requests: orZero(bigint), ...sumsFromZero },
  key: ["account_id", "hour", "key_id", "model"],
  indexes: [
    { name: "usage_hours_of_key", on: ["account_id", "key_id", "hour"] },
    { name: "usage_hours_of_model", on: ["account_id", "model", "hour"] },
  ],
  use: "hot",
};

/**
 * refusedMinutes has how many calls were refused in a minute; in an hour, once a while has passed (`calls/refused.ts`). `node` names the
 * process that writes the row, empty for an hour.
 */
export const refusedMinutes: Described<"refused_minutes"> = {
  name: "refused_minutes",
  columns: {
    account_id: text,
    minute: bigint,
    key_id: text,
    model: text,
    reason: integer,
    node: text,
    requests: bigint,
  },
  key: ["account_id", "minute", "key_id", "model", "reason", "node"],
  indexes: [
    { name: "refused_minutes_of_all", on: ["minute"] },
    { name: "refused_minutes_unfolded", on: ["minute"], where: { column: "node", is: "<>", value: "" } },
  ],
  use: "hot",
};

/** refusedCalls are the last refused calls of each account. */
export const refusedCalls: Described<"refused_calls"> = {
  name: "refused_calls",
  columns: {
    id: text,
    account_id: text,
    key_id: text,
    operation: text,
    model: text,
    reason: integer,
    status: integer,
    detail: text,
    created_at: bigint,
  },
  key: ["id"],
  indexes: [
    { name: "refused_calls_account", on: ["account_id", "id"] },
    { name: "refused_calls_reason", on: ["reason", "id"] },
  ],
};

/** summedAtFirst are the summed columns of SQLite's first table of what is due. */
const summedAtFirst = ["input", "cache_read", "cache_write", "output", "reasoning", "characters", "cost"];

/**
 * dueSums returns the summed columns of what is due. Every row states those that the engine's first table had, `first`; a column that a
 * migration has added is 0 in the rows that were there.
 */
function dueSums(first: readonly string[]): Sums {
  return Object.fromEntries(
    summedColumns.map((name) => [name, first.includes(name) ? bigint : orZero(bigint)]),
  ) as Sums;
}

/** dueOfSqlite is what calls add to sums, and is not added yet, of SQLite: in batches, each in parts. */
export const dueOfSqlite: readonly TableShape[] = [
  { name: "due_batches", columns: { id: serial }, key: ["id"], only: "sqlite" },
  {
    name: "due_sums",
    columns: {
      ...{ batch: integer, part: integer, place: integer },
      ...hourKey,
      ...{ requests: bigint, ...dueSums(summedAtFirst), spent: bigint, freed: bigint },
    },
    key: ["batch", "part", "place"],
    only: "sqlite",
  },
  { name: "due_merged", columns: { part: integer, batch: integer }, key: ["part"], only: "sqlite" },
];

/** dueQuarter is the quarter that a row of Postgres counts in. Nodes of an older version write an hour alone: it counts in its last. */
export const dueQuarter = `CASE WHEN quarter = 0 THEN hour + ${3 * quarterMs} ELSE quarter END`;

/**
 * dueOfPostgres is the same of Postgres: rows that any node may merge, since no node writes the row of an account that others write. `spent` and
 * `freed` are the key's, `paid` and `released` the account's.
 */
export const dueOfPostgres: TableShape = {
  name: "due_sums",
  columns: {
    id: serial,
    ...hourKey,
    requests: bigint,
    ...dueSums([...summedAtFirst, "waived", "cache_write_hour"]),
    ...{ spent: bigint, freed: bigint, paid: bigint, released: bigint },
    // When the quarter of an hour began in which the calls came; 0 of holds, and in rows of older versions.
    quarter: orZero(bigint),
  },
  key: ["id"],
  indexes: [{ name: "due_sums_account", on: ["account_id"] }],
  only: "postgres",
  use: "passing",
};
