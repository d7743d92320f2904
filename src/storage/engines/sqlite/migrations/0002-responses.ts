/** Responses that are kept for later requests to go on from. */
import type { Kysely } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("responses")
    .addColumn("id", "text", (column) => column.primaryKey())
    .addColumn("account_id", "text", (column) => column.notNull().references("accounts.id"))
    .addColumn("previous_id", "text")
    .addColumn("created_at", "bigint", (column) => column.notNull())
    .addColumn("expires_at", "bigint", (column) => column.notNull())
    .addColumn("input", "text")
    .addColumn("response", "text", (column) => column.notNull())
    .execute();
  await db.schema
    .createIndex("responses_by_account")
    .on("responses")
    .columns(["account_id", "expires_at", "id"])
    .execute();
  await db.schema.createIndex("responses_by_expiry").on("responses").columns(["expires_at"]).execute();
}
