/** A view of accounts with what is due, for readers: on SQLite nothing is due of them, on Postgres what no node has merged yet. */
import type { Kysely } from "kysely";
import { createView } from "../tables/create.ts";
import type { Dialect } from "../tables/shape.ts";

const columns = [
  "id",
  "name",
  "created_at",
  "balance",
  "held",
  "recharged",
  "postpaid",
  "suspended_at",
  "was_postpaid",
];

export async function up(db: Kysely<unknown>, dialect: Dialect): Promise<void> {
  // Postgres has it from its first tables on.
  const query = () => `SELECT ${columns.join(", ")} FROM accounts`;
  if (dialect === "sqlite") await createView(db, dialect, { name: "accounts_now", columns, query });
}
