/**
 * Adds the tables of what calls add to the sums of keys and hours and is not added yet, with views of both as they are when all of it is.
 *
 * It is written batch by batch, at the end of its table, and merged part by part: `due_merged` tells up to which batch each
 * part is.
 */
import { type Kysely, sql } from "kysely";

const counts = ["requests", "input", "cache_read", "cache_write", "output", "reasoning", "characters", "cost"] as const;
const parts = 64;

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("due_batches")
    .addColumn("id", "integer", (column) => column.primaryKey().autoIncrement())
    .execute();
  await db.schema
    .createTable("due_sums")
    .addColumn("batch", "integer", (column) => column.notNull())
    .addColumn("part", "integer", (column) => column.notNull())
    .addColumn("place", "integer", (column) => column.notNull())
    .addColumn("account_id", "text", (column) => column.notNull())
    .addColumn("hour", "bigint", (column) => column.notNull())
    .addColumn("key_id", "text", (column) => column.notNull())
    .addColumn("model", "text", (column) => column.notNull())
    .$call((table) =>
      [...counts, "spent", "freed"].reduce(
        (made, name) => made.addColumn(name, "bigint", (column) => column.notNull()),
        table,
      ),
    )
    .addPrimaryKeyConstraint("due_sums_key", ["batch", "part", "place"])
    .modifyEnd(sql`WITHOUT ROWID`)
    .execute();
  await db.schema
    .createTable("due_merged")
    .addColumn("part", "integer", (column) => column.primaryKey())
    .addColumn("batch", "integer", (column) => column.notNull())
    .execute();
  await sql`WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < ${sql.lit(parts)})
    INSERT INTO due_merged SELECT n, 0 FROM numbers`.execute(db);

  const columns = sql.raw(["account_id", "hour", "key_id", "model", ...counts].join(", "));
  await sql`CREATE VIEW due_now AS SELECT ${columns}, spent, freed
    FROM due_sums s JOIN due_merged m ON m.part = s.part WHERE s.batch > m.batch`.execute(db);
  await sql`CREATE VIEW usage_hours_now AS SELECT ${columns} FROM usage_hours
    UNION ALL SELECT ${columns} FROM due_now WHERE requests > 0`.execute(db);
  await sql`CREATE VIEW api_keys_now AS
    SELECT k.id, k.account_id, k.name, k.secret_hash, k.secret_mask, k.is_admin, k.created_at, k.revoked_at,
      k.spent + coalesce(d.spent, 0) AS spent, k.held - coalesce(d.freed, 0) AS held, k.credit_limit, k.models, k.disabled,
      k.expires_at, k.last_used_at, k.previous_hash, k.previous_expires_at
    FROM api_keys k LEFT JOIN (SELECT key_id, sum(spent) AS spent, sum(freed) AS freed FROM due_now GROUP BY key_id) d
      ON d.key_id = k.id`.execute(db);
}
