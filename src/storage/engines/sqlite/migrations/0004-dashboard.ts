/** Adds the tables of who is signed in to the dashboard, by which links one comes there, and what was done. */
import { type Kysely, sql } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable("users")
    .addColumn("is_operator", "integer", (column) => column.notNull().defaultTo(sql`0`))
    .execute();
  for (const column of ["totp_secret", "totp_pending", "recovery_hashes"]) {
    await db.schema.alterTable("users").addColumn(column, "text").execute();
  }
  await db.schema
    .alterTable("users")
    .addColumn("totp_step", "bigint", (column) => column.notNull().defaultTo(sql`0`))
    .execute();
  await db.schema
    .createIndex("users_operators")
    .on("users")
    .column("id")
    .where(sql.ref("is_operator"), "=", sql.lit(1))
    .execute();
  await db.schema.createIndex("users_account").on("users").columns(["account_id", "id"]).execute();

  await db.schema
    .createTable("sessions")
    .addColumn("id", "text", (column) => column.primaryKey())
    .addColumn("user_id", "text", (column) => column.notNull().references("users.id").onDelete("cascade"))
    .addColumn("token_hash", "text", (column) => column.notNull().unique())
    .addColumn("address", "text", (column) => column.notNull())
    .addColumn("user_agent", "text", (column) => column.notNull())
    .addColumn("created_at", "bigint", (column) => column.notNull())
    .addColumn("last_seen_at", "bigint", (column) => column.notNull())
    .addColumn("expires_at", "bigint", (column) => column.notNull())
    .execute();
  await db.schema.createIndex("sessions_user").on("sessions").columns(["user_id", "id"]).execute();
  await db.schema.createIndex("sessions_expires_at").on("sessions").column("expires_at").execute();

  await db.schema
    .createTable("links")
    .addColumn("id", "text", (column) => column.primaryKey())
    .addColumn("kind", "integer", (column) => column.notNull())
    .addColumn("token_hash", "text", (column) => column.notNull().unique())
    .addColumn("account_id", "text", (column) => column.references("accounts.id"))
    .addColumn("user_id", "text", (column) => column.references("users.id").onDelete("cascade"))
    .addColumn("email", "text")
    .addColumn("created_at", "bigint", (column) => column.notNull())
    .addColumn("expires_at", "bigint", (column) => column.notNull())
    .addColumn("used_at", "bigint")
    .execute();

  await db.schema
    .createTable("acts")
    .addColumn("id", "text", (column) => column.primaryKey())
    .addColumn("created_at", "bigint", (column) => column.notNull())
    .$call((table) =>
      ["action", "actor_kind", "actor_id", "account_id", "subject", "details", "refused", "address"].reduce(
        (made, name) => made.addColumn(name, "text", (column) => column.notNull()),
        table,
      ),
    )
    .execute();
  await db.schema.createIndex("acts_account").on("acts").columns(["account_id", "id"]).execute();
  // The operator looks for calls of all accounts that were not answered, without going through those that were.
  await db.schema
    .createIndex("requests_unanswered_of_all")
    .on("requests")
    .column("id")
    .where(sql.ref("outcome"), "!=", sql.lit(1))
    .execute();
  await db.schema.createIndex("acts_action").on("acts").columns(["action", "id"]).execute();
}
