/** Responses that are made in the background, until they are complete. */
import { type Kysely, sql } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("background_responses")
    .addColumn("id", "text", (column) => column.primaryKey())
    .addColumn("account_id", "text", (column) => column.notNull().references("accounts.id"))
    .addColumn("node", "text", (column) => column.notNull())
    .addColumn("created_at", "bigint", (column) => column.notNull())
    .addColumn("expires_at", "bigint", (column) => column.notNull())
    .addColumn("alive_until", "bigint", (column) => column.notNull())
    .addColumn("is_cancelled", "integer", (column) => column.notNull().defaultTo(sql`0`))
    .addColumn("is_over", "integer", (column) => column.notNull().defaultTo(sql`0`))
    .addColumn("response", "text", (column) => column.notNull())
    .execute();
  await db.schema
    .createIndex("background_responses_by_expiry")
    .on("background_responses")
    .columns(["expires_at"])
    .execute();
  await db.schema
    .createIndex("background_responses_by_account")
    .on("background_responses")
    .columns(["account_id", "created_at", "id"])
    .execute();
  await db.schema
    .createIndex("background_responses_running")
    .on("background_responses")
    .column("node")
    .where(sql.ref("is_over"), "=", sql.lit(0))
    .execute();
}
