/** The tables whose rows move, and which of their sums people are shown. */
import { schema } from "../engines/tables/all.ts";
import type { TableShape } from "../engines/tables/shape.ts";

/** ofDatabase is what a database knows of itself alone, of those that work on it, and of journals beside it. */
const ofDatabase: ReadonlySet<string> = new Set([
  ...["database_identity", "journals", "moves", "moved_tables"],
  ...["nodes", "recalls", "changes", "changed_names"],
]);

/**
 * In an order in which rows find what they refer to. A table that one engine alone has is empty once all is recovered, or is about its own
 * nodes.
 */
export const movedTables: readonly TableShape[] = schema.tables.filter(
  ({ name, only }) => only === undefined && !ofDatabase.has(name),
);

/** The columns of money whose sums are shown, by table. */
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

/** isOfAll reports whether a column has sums of all accounts: they may be more than a double counts exactly, and move as texts. */
export function isOfAll(table: string, column: string): boolean {
  return table === "closed_periods" && column === "cost";
}

/** Tables whose rows may have a megabyte or more each. */
const bulky: ReadonlySet<string> = new Set(["responses", "background_responses", "replays"]);

/** rowsAtOnce returns how many rows are read and written at once. */
export function rowsAtOnce({ name }: TableShape): number {
  return bulky.has(name) ? 32 : 4000;
}
