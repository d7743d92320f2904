/** Adds the tables of what accounts have, what keys may spend, and what calls cost. */
import { type Kysely, sql } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const column of ["balance", "held", "recharged"]) {
    await db.schema.alterTable("accounts").addColumn(column, "bigint", zero).execute();
  }
  await db.schema.alterTable("accounts").addColumn("postpaid", "integer", zero).execute();
  await db.schema.alterTable("accounts").addColumn("suspended_at", "bigint").execute();

  for (const column of ["spent", "held"]) {
    await db.schema.alterTable("api_keys").addColumn(column, "bigint", zero).execute();
  }
  await db.schema.alterTable("api_keys").addColumn("credit_limit", "bigint").execute();
  await db.schema.alterTable("api_keys").addColumn("models", "text").execute();
  await db.schema.alterTable("api_keys").addColumn("disabled", "integer", zero).execute();
  for (const column of ["expires_at", "last_used_at", "previous_expires_at"]) {
    await db.schema.alterTable("api_keys").addColumn(column, "bigint").execute();
  }
  await db.schema.alterTable("api_keys").addColumn("previous_hash", "text").execute();
  await db.schema.createIndex("api_keys_previous_hash").on("api_keys").column("previous_hash").unique().execute();
  // Revoked keys add up for ever: those that work are counted and listed without going through them.
  await db.schema.createIndex("api_keys_working").on("api_keys").columns(["account_id", "revoked_at", "id"]).execute();

  await db.schema
    .createTable("holds")
    .addColumn("request_id", "text", (column) => column.primaryKey())
    .addColumn("node", "text", (column) => column.notNull())
    .addColumn("account_id", "text", (column) => column.notNull())
    .addColumn("key_id", "text", (column) => column.notNull())
    .addColumn("operation", "text", (column) => column.notNull())
    .addColumn("model", "text", (column) => column.notNull())
    .addColumn("amount", "bigint", (column) => column.notNull())
    .addColumn("created_at", "bigint", (column) => column.notNull())
    .addColumn("expires_at", "bigint", (column) => column.notNull())
    .execute();
  await db.schema.createIndex("holds_expires_at").on("holds").column("expires_at").execute();

  await db.schema
    .createTable("ledger_entries")
    .addColumn("id", "text", (column) => column.primaryKey())
    .addColumn("account_id", "text", (column) => column.notNull())
    .addColumn("kind", "integer", (column) => column.notNull())
    .addColumn("amount", "bigint", (column) => column.notNull())
    .addColumn("request_id", "text", (column) => column.unique())
    .addColumn("key_id", "text")
    .addColumn("note", "text")
    .addColumn("created_at", "bigint", (column) => column.notNull())
    .execute();
  await db.schema.createIndex("ledger_entries_account").on("ledger_entries").columns(["account_id", "id"]).execute();
  // Charges are nearly all of them: who looks for anything else does not go through them.
  await db.schema
    .createIndex("ledger_entries_no_charges")
    .on("ledger_entries")
    .columns(["account_id", "id"])
    .where(sql.ref("kind"), "!=", sql.lit(4))
    .execute();

  await db.schema
    .createTable("requests")
    .addColumn("id", "text", (column) => column.primaryKey())
    .addColumn("account_id", "text", (column) => column.notNull())
    .addColumn("key_id", "text", (column) => column.notNull())
    .addColumn("operation", "text", (column) => column.notNull())
    .addColumn("model", "text", (column) => column.notNull())
    .addColumn("upstream", "text", (column) => column.notNull())
    .addColumn("outcome", "integer", (column) => column.notNull())
    .$call((table) => usageColumns.reduce((made, name) => made.addColumn(name, "bigint", zero), table))
    .addColumn("estimated", "integer", zero)
    .addColumn("cost", "bigint", zero)
    .addColumn("waived", "bigint", zero)
    .addColumn("created_at", "bigint", (column) => column.notNull())
    .addColumn("duration_ms", "bigint", (column) => column.notNull())
    .addColumn("first_byte_ms", "bigint")
    .execute();
  await db.schema.createIndex("requests_account").on("requests").columns(["account_id", "id"]).execute();
  await db.schema.createIndex("requests_key").on("requests").columns(["key_id", "id"]).execute();
  // Nearly all are answered: who looks for the others does not go through those.
  await db.schema
    .createIndex("requests_unanswered")
    .on("requests")
    .columns(["account_id", "id"])
    .where(sql.ref("outcome"), "!=", sql.lit(1))
    .execute();
  await db.schema.createIndex("requests_model").on("requests").columns(["account_id", "model", "id"]).execute();

  await db.schema
    .createTable("usage_hours")
    .addColumn("account_id", "text", (column) => column.notNull())
    .addColumn("hour", "bigint", (column) => column.notNull())
    .addColumn("key_id", "text", (column) => column.notNull())
    .addColumn("model", "text", (column) => column.notNull())
    .addColumn("requests", "bigint", zero)
    .$call((table) => usageColumns.reduce((made, name) => made.addColumn(name, "bigint", zero), table))
    .addColumn("cost", "bigint", zero)
    .addPrimaryKeyConstraint("usage_hours_key", ["account_id", "hour", "key_id", "model"])
    .execute();

  await db.schema
    .createTable("redeem_codes")
    .addColumn("id", "text", (column) => column.primaryKey())
    .addColumn("batch_id", "text", (column) => column.notNull())
    .addColumn("code_hash", "text", (column) => column.notNull().unique())
    .addColumn("code_mask", "text", (column) => column.notNull())
    .addColumn("amount", "bigint", (column) => column.notNull())
    .addColumn("note", "text")
    .addColumn("created_at", "bigint", (column) => column.notNull())
    .addColumn("expires_at", "bigint")
    .addColumn("claimed_at", "bigint")
    .addColumn("claimed_by", "text", (column) => column.references("accounts.id"))
    .addColumn("revoked_at", "bigint")
    .execute();
  await db.schema.createIndex("redeem_codes_batch").on("redeem_codes").columns(["batch_id", "id"]).execute();

  await db.schema
    .createTable("idempotency_keys")
    .addColumn("scope", "text", (column) => column.notNull())
    .addColumn("key", "text", (column) => column.notNull())
    .addColumn("fingerprint", "text", (column) => column.notNull())
    .addColumn("result_id", "text", (column) => column.notNull())
    .addColumn("created_at", "bigint", (column) => column.notNull())
    .addPrimaryKeyConstraint("idempotency_keys_key", ["scope", "key"])
    .execute();
  await db.schema.createIndex("idempotency_keys_created_at").on("idempotency_keys").column("created_at").execute();
}

const usageColumns = ["input", "cache_read", "cache_write", "output", "reasoning", "characters"];

// biome-ignore lint/suspicious/noExplicitAny: Kysely's builder differs by statement.
function zero(column: any) {
  return column.notNull().defaultTo(sql`0`);
}
