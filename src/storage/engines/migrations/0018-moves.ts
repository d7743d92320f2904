/** Adds the tables of what is known of a move of all data to another database. */
import type { Kysely } from "kysely";
import { createTable } from "../tables/create.ts";
import { bigint, type Dialect, integer, orNull, orZero, text } from "../tables/shape.ts";

export async function up(db: Kysely<unknown>, dialect: Dialect): Promise<void> {
  await createTable(db, dialect, {
    name: "moves",
    columns: { number: integer, id: text, state: text, place: text, at: bigint },
    key: ["number"],
  });
  await createTable(db, dialect, {
    name: "moved_tables",
    columns: { name: text, after: orNull(text), rows: orZero(bigint), is_whole: orZero(integer), ms: orZero(bigint) },
    key: ["name"],
  });
}
