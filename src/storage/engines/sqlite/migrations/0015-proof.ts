/**
 * Adds what the proof of the sums remembers, and room for the charges of calls that are forgotten: one entry for a key and a month, which
 * says of how many calls it is.
 */
import { type Kysely, sql } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable("ledger_entries").addColumn("calls", "bigint").execute();
  await db.schema
    .createTable("closed_periods")
    .addColumn("hour", "bigint", (column) => column.primaryKey())
    .addColumn("requests", "bigint", (column) => column.notNull())
    .addColumn("cost", "bigint", (column) => column.notNull())
    .addColumn("hash", "text", (column) => column.notNull())
    .addColumn("proved_at", "bigint", (column) => column.notNull())
    .execute();
  await db.schema
    .alterTable("accounts")
    .addColumn("was_postpaid", "integer", (column) => column.notNull().defaultTo(sql`0`))
    .execute();
  // An account that owes something was allowed to, whatever it is now.
  await sql`UPDATE accounts SET was_postpaid = 1 WHERE postpaid = 1 OR balance < 0`.execute(db);
}
