/**
 * Holds of an account are found by the moment when their calls came, and its leases by their keys: a hold within budgets looks for what a
 * window does not have of all that is held.
 */
import type { Kysely } from "kysely";
import { createIndex, run } from "../tables/create.ts";
import type { Dialect } from "../tables/shape.ts";

export async function up(db: Kysely<unknown>, dialect: Dialect): Promise<void> {
  // On Postgres it was of accounts alone.
  if (dialect === "postgres") await run(db, "DROP INDEX holds_leases");
  const ofLeases = { column: "operation", is: "=", value: "" } as const;
  await createIndex(db, dialect, "holds", { name: "holds_leases", on: ["account_id", "key_id"], where: ofLeases });
  const ofCalls = { column: "operation", is: "<>", value: "" } as const;
  await createIndex(db, dialect, "holds", { name: "holds_arrival", on: ["account_id", "created_at"], where: ofCalls });
}
