/** Until when calls have been deleted one by one: what follows from them is proved from there on. */
import type { Kysely } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("kept_from")
    .addColumn("kind", "text", (column) => column.primaryKey())
    .addColumn("at", "bigint", (column) => column.notNull())
    .addColumn("id", "text", (column) => column.notNull())
    .execute();
}
