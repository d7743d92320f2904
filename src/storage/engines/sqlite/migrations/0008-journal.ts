/** Adds the tables of what the ledger has to write yet: how far each process's notes are written, and what cannot be. */
import type { Kysely } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("journals")
    .addColumn("node", "text", (column) => column.primaryKey().notNull())
    .addColumn("posted", "bigint", (column) => column.notNull())
    .execute();
  await db.schema
    .createTable("set_aside")
    .addColumn("node", "text", (column) => column.notNull())
    .addColumn("seq", "bigint", (column) => column.notNull())
    .addColumn("created_at", "bigint", (column) => column.notNull())
    .addColumn("body", "text", (column) => column.notNull())
    .addPrimaryKeyConstraint("set_aside_key", ["node", "seq"])
    .execute();
}
