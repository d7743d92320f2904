/** Describes what is known of a move of all data to another database, at both ends. */
import type { Described } from "./accounts.ts";
import { bigint, integer, orNull, orZero, text } from "./shape.ts";

export const moves: Described<"moves"> = {
  name: "moves",
  columns: { number: integer, id: text, state: text, place: text, at: bigint },
  key: ["number"],
};

export const movedTables: Described<"moved_tables"> = {
  name: "moved_tables",
  columns: { name: text, after: orNull(text), rows: orZero(bigint), is_whole: orZero(integer), ms: orZero(bigint) },
  key: ["name"],
};
