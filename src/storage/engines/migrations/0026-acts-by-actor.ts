/** Audit events are found by the person or credential that caused them. */
import type { Kysely } from "kysely";
import { createIndex } from "../tables/create.ts";
import type { Dialect } from "../tables/shape.ts";

export async function up(db: Kysely<unknown>, dialect: Dialect): Promise<void> {
  await createIndex(db, dialect, "acts", { name: "acts_actor", on: ["actor_kind", "actor_id", "id"] });
}
