/**
 * The price that each call is charged by: the cards, each once, and what a row says of its charge. Calls from before name no price.
 *
 * Waived amounts are summed by hours, as charges are.
 */
import { type Kysely, sql } from "kysely";
import { addCallColumn, addSummedColumn } from "../add-call-column.ts";

const summed = ["input", "cache_read", "cache_write", "output", "reasoning", "characters", "cost"] as const;

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("prices")
    .addColumn("id", "text", (column) => column.primaryKey())
    .addColumn("card", "text", (column) => column.notNull())
    .addColumn("created_at", "bigint", (column) => column.notNull())
    .execute();
  await addCallColumn(db, { name: "implausible", type: "integer", default: 0 });
  await addCallColumn(db, { name: "price_id", type: "text", default: null });
  await addCallColumn(db, { name: "price_parts", type: "text", default: null });
  await addCallColumn(db, { name: "cache_write_hour", type: "bigint", default: 0, summedAfter: summed });
  await addSummedColumn(db, {
    name: "waived",
    type: "bigint",
    default: 0,
    summedAfter: [...summed, "cache_write_hour"],
  });
  await sql`UPDATE usage_hours SET waived = w.waived
    FROM (SELECT account_id, created_at - created_at % 3600000 AS hour, key_id, model, sum(waived) AS waived
      FROM requests WHERE waived > 0 GROUP BY account_id, created_at - created_at % 3600000, key_id, model) w
    WHERE usage_hours.account_id = w.account_id AND usage_hours.hour = w.hour AND usage_hours.key_id = w.key_id
      AND usage_hours.model = w.model`.execute(db);
}
