/** Refused calls: how many there were, and the last of each account. */
import type { Kysely } from "kysely";
import { createTable } from "../tables/create.ts";
import { bigint, type Dialect, integer, text } from "../tables/shape.ts";

export async function up(db: Kysely<unknown>, dialect: Dialect): Promise<void> {
  await createTable(db, dialect, {
    name: "refused_minutes",
    columns: {
      ...{ account_id: text, minute: bigint, key_id: text, model: text, reason: integer },
      ...{ node: text, requests: bigint },
    },
    key: ["account_id", "minute", "key_id", "model", "reason", "node"],
    indexes: [
      { name: "refused_minutes_of_all", on: ["minute"] },
      { name: "refused_minutes_unfolded", on: ["minute"], where: { column: "node", is: "<>", value: "" } },
    ],
    use: "hot",
  });
  await createTable(db, dialect, {
    name: "refused_calls",
    columns: {
      ...{ id: text, account_id: text, key_id: text, operation: text, model: text, reason: integer },
      ...{ status: integer, detail: text, created_at: bigint },
    },
    key: ["id"],
    indexes: [
      { name: "refused_calls_account", on: ["account_id", "id"] },
      { name: "refused_calls_reason", on: ["reason", "id"] },
    ],
  });
}
