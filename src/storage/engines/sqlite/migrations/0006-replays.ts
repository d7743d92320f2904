/** Answers that are told once more: which calls the cache answered, and what was answered under an Idempotency-Key. */
import { type Kysely, sql } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable("requests")
    .addColumn("cached", "integer", (column) => column.notNull().defaultTo(sql`0`))
    .execute();
  await db.schema
    .createTable("replays")
    .addColumn("account_id", "text", (column) => column.notNull().references("accounts.id"))
    .addColumn("key_hash", "text", (column) => column.notNull())
    .addColumn("request_hash", "text", (column) => column.notNull())
    .addColumn("request_id", "text", (column) => column.notNull())
    .addColumn("node", "text", (column) => column.notNull())
    .addColumn("created_at", "bigint", (column) => column.notNull())
    .addColumn("expires_at", "bigint", (column) => column.notNull())
    .addColumn("state", "integer", (column) => column.notNull())
    .addColumn("size", "integer", (column) => column.notNull())
    // Last: what follows a long value is read through it.
    .addColumn("answer", "blob")
    .addPrimaryKeyConstraint("replays_key", ["account_id", "key_hash"])
    .execute();
  await db.schema.createIndex("replays_created_at").on("replays").column("created_at").execute();
  // Kept as a sum: an account may have millions of answers, which cannot be added up at each call.
  await db.schema
    .createTable("replay_sizes")
    .addColumn("account_id", "text", (column) => column.primaryKey().references("accounts.id"))
    .addColumn("size", "bigint", (column) => column.notNull())
    .execute();
  await db.schema
    .createIndex("replays_running")
    .on("replays")
    .column("node")
    .where(sql.ref("state"), "=", sql.lit(0))
    .execute();
}
