/** What the ledger has to write yet, by the process that noted it. */
import type { Kysely } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("journal")
    .addColumn("node", "text", (column) => column.notNull())
    .addColumn("seq", "bigint", (column) => column.notNull())
    .addColumn("created_at", "bigint", (column) => column.notNull())
    .addColumn("body", "text", (column) => column.notNull())
    .addPrimaryKeyConstraint("journal_key", ["node", "seq"])
    .execute();
}
