/** Which upstreams failed before the one that a call ended with. */
import type { Kysely } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable("requests").addColumn("tried", "text").execute();
}
