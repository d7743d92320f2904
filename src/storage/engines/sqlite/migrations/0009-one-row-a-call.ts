/**
 * One row for a call and its charge, and one index to it by its account: each more would be written for every call. The
 * ledger keeps the charges of calls that are forgotten. Calls of a key or a model are found by their hours.
 */
import { type Kysely, sql } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable("ledger_entries").renameTo("ledger_entries_before").execute();
  for (const index of ["ledger_entries_account", "ledger_entries_no_charges", "requests_key", "requests_model"]) {
    await db.schema.dropIndex(index).execute();
  }
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
  // A charge that is not what its call says is kept, for `reconcile` to tell of.
  await sql`INSERT INTO ledger_entries SELECT c.* FROM ledger_entries_before c
    WHERE c.kind <> 4 OR NOT EXISTS (SELECT 1 FROM requests r
      WHERE r.id = c.request_id AND r.account_id = c.account_id AND r.key_id = c.key_id AND r.cost = -c.amount)`.execute(
    db,
  );
  await db.schema.dropTable("ledger_entries_before").execute();
  await db.schema.createIndex("ledger_entries_account").on("ledger_entries").columns(["account_id", "id"]).execute();
  await db.schema
    .createIndex("ledger_entries_no_charges")
    .on("ledger_entries")
    .columns(["account_id", "id"])
    .where(sql.ref("kind"), "!=", sql.lit(4))
    .execute();

  await db.schema
    .createIndex("usage_hours_of_key")
    .on("usage_hours")
    .columns(["account_id", "key_id", "hour"])
    .execute();
  await db.schema
    .createIndex("usage_hours_of_model")
    .on("usage_hours")
    .columns(["account_id", "model", "hour"])
    .execute();
  // Calls that were lost used nothing, and were in no hour.
  await sql`INSERT INTO usage_hours (account_id, hour, key_id, model)
    SELECT DISTINCT account_id, created_at - created_at % 3600000, key_id, model FROM requests WHERE outcome = 5
    ON CONFLICT DO NOTHING`.execute(db);
}
