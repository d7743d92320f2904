/** The columns of a call's row, as the functions of the books take them from JSON and write them. */
import { hourMs } from "../../../../../runtime/time/durations.ts";
import { lost } from "../../../../calls/outcomes.ts";
import { type CallColumn, callColumns, columnNames, summedColumns } from "../../../../columns.ts";
import { quarterOf } from "./budgets.ts";

const columns: readonly CallColumn[] = callColumns;

/** decided are columns whose values the functions decide on themselves. */
const decided: ReadonlySet<string> = new Set(["cost", "waived"]);

/** callRecord are the columns of a record of a call, with their types: `id text, account_id text, …`. */
export const callRecord = columns.map(({ name, type }) => `${name} ${type}`).join(", ");

/** charged is what a call is charged, and what of its cost nobody pays, in functions that decide on that. */
export const charged = { cost: "v_cost", waived: "coalesce(c.waived, 0) + c.cost - v_cost" };

export const requestColumns = columnNames.join(", ");

/** requestValues returns the value of each column of a call's row: of the record `from`, or its default; cost and waived as given. */
export function requestValues(from: string, given: { readonly cost: string; readonly waived: string }): string {
  return columns
    .map(({ name, default: byDefault }) => {
      if (decided.has(name)) return given[name as keyof typeof given];
      const value = `${from}.${name}`;
      if (byDefault === undefined || byDefault === null) return value;
      return `coalesce(${value}, ${byDefault === "" ? "''" : byDefault})`;
    })
    .join(", ");
}

/**
 * insertRequest inserts a call's row, or writes it over that of the same call if that was recorded as lost. Changes nothing for any other.
 */
export function insertRequest(values: string): string {
  const own = columns.filter(({ name }) => name !== "id").map(({ name }) => `${name} = excluded.${name}`);
  return `INSERT INTO requests (${requestColumns}) VALUES (${values})
    ON CONFLICT (id) DO UPDATE SET ${own.join(", ")} WHERE requests.outcome = ${lost}`;
}

/** dueCounts are the columns of what is due that count usage, after those that name the hour. */
export const dueCounts = ["requests", ...summedColumns];
export const dueColumns = [
  "account_id",
  "hour",
  "key_id",
  "model",
  ...dueCounts,
  "spent",
  "freed",
  "paid",
  "released",
  "quarter",
];

/** hourOfCall returns what one call adds to its hour; the sums of its account and key are changed by others. */
export function hourOfCall(from: string, { cost, waived }: { readonly cost: string; readonly waived: string }): string {
  const counts = summedNames.map((name) => {
    if (name === "cost") return cost;
    return name === "waived" ? waived : `coalesce(${from}.${name}, 0)`;
  });
  return `INSERT INTO due_sums (${dueColumns.join(", ")}) VALUES (${from}.account_id,
    ${hourOf(`${from}.created_at`)}, ${from}.key_id, ${from}.model, 1, ${counts.join(", ")}, 0, 0, 0, 0, ${quarterOf(`${from}.created_at`)})`;
}

/** sumsOfCalls returns the sums of what calls that are charged as they state add to their hours. */
export function sumsOfCalls(): string {
  return summedNames.map((name) => `sum(${name})`).join(", ");
}

const summedNames: readonly string[] = summedColumns;

/** hourOf returns when the hour of a moment began. */
export function hourOf(ms: string): string {
  return `${ms} - ${ms} % ${hourMs}`;
}
