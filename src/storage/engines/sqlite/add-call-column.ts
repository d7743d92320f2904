/**
 * Adds a column to calls that have ended, and to the sums of what they used, for migrations of SQLite alone. New migrations are of both engines
 * (`../migrations`).
 */
import { type Kysely, sql } from "kysely";

export interface AddedColumn {
  readonly name: string;
  readonly type: "text" | "integer" | "bigint";
  /** default is what rows have that are there already, and new ones that state none; null makes the column nullable. */
  readonly default: 0 | "" | null;
  /** For a column that is summed: the summed columns before it, in full. A later change of `columns.ts` must not change them. */
  readonly summedAfter?: readonly string[];
}

export async function addCallColumn(db: Kysely<unknown>, column: AddedColumn): Promise<void> {
  await addTo("requests", db, column);
  const { summedAfter } = column;
  if (summedAfter) await addSummedColumn(db, { ...column, summedAfter });
}

/** addSummedColumn adds a column that calls have already to the sums of what they used. */
export async function addSummedColumn(
  db: Kysely<unknown>,
  column: AddedColumn & { readonly summedAfter: readonly string[] },
): Promise<void> {
  await addTo("usage_hours", db, column);
  await addTo("due_sums", db, column);
  await createTotalsViews(db, [...column.summedAfter, column.name]);
}

async function addTo(
  table: string,
  db: Kysely<unknown>,
  { name, type, default: byDefault }: AddedColumn,
): Promise<void> {
  await db.schema
    .alterTable(table)
    .addColumn(name, type, (column) => (byDefault === null ? column : column.notNull().defaultTo(sql.lit(byDefault))))
    .execute();
}

/** createTotalsViews creates the views of pending totals, and of hours with them, anew. `api_keys_now` stays: it names no such column. */
async function createTotalsViews(db: Kysely<unknown>, summed: readonly string[]): Promise<void> {
  const columns = sql.raw(["account_id", "hour", "key_id", "model", "requests", ...summed].join(", "));
  await db.schema.dropView("usage_hours_now").execute();
  await db.schema.dropView("due_now").execute();
  await sql`CREATE VIEW due_now AS SELECT ${columns}, spent, freed
    FROM due_sums s JOIN due_merged m ON m.part = s.part WHERE s.batch > m.batch`.execute(db);
  await sql`CREATE VIEW usage_hours_now AS SELECT ${columns} FROM usage_hours
    UNION ALL SELECT ${columns} FROM due_now WHERE requests > 0`.execute(db);
}
