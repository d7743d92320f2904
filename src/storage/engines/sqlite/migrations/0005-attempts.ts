/** Adds the column of the upstreams that failed before the one that a call ended with. */
import type { Kysely } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable("requests").addColumn("tried", "text").execute();
}
