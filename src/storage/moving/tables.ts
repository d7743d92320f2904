/** The tables whose rows move, and which of their sums people are shown. */
import { schema } from "../engines/tables/all.ts";
import type { TableShape } from "../engines/tables/shape.ts";

/** ofDatabase is what a database knows of itself alone, of those that work on it, and of journals beside it. */
const ofDatabase: ReadonlySet<string> = new Set([
  ...["database_identity", "journals", "moves", "moved_tables"],
  ...["nodes", "recalls", "changes", "changed_names"],
]);

/**
 * movedTables are the tables that move, in an order in which rows find what they refer to. A table that one engine alone has is empty once
 * all is recovered, or is about its own nodes.
 */
export const movedTables: readonly TableShape[] = schema.tables.filter(
  ({ name, only }) => only === undefined && !ofDatabase.has(name),
);

/** moneyColumns are the columns of money whose sums are shown, by table. */
export const moneyColumns: ReadonlyMap<string, string> = new Map(
  Object.entries({
    accounts: "balance",
    api_keys: "spent",
    holds: "amount",
    ledger_entries: "amount",
    requests: "cost",
    usage_hours: "cost",
    redeem_codes: "amount",
    closed_periods: "cost",
    spent_by_quarter: "spent",
  }),
);

/** Sums that no credit bounds: what all accounts spent, and what was waived. */
const unbounded: ReadonlySet<string> = new Set(["closed_periods.cost", "usage_hours.waived"]);

/** isUnbounded reports whether a column may have more than a double counts exactly: it moves as a text. */
export function isUnbounded(table: string, column: string): boolean {
  return unbounded.has(`${table}.${column}`);
}

/** Tables whose rows may have a megabyte or more each. */
const bulky: ReadonlySet<string> = new Set(["responses", "background_responses", "replays"]);

/** rowsAtOnce returns how many rows are read and written at once. */
export function rowsAtOnce({ name }: TableShape): number {
  return bulky.has(name) ? 32 : 4000;
}
