/**
 * Adds what the database knows of journals: whether one has ended, and the sum of its last line that is applied; and a name of the database
 * itself, so that another's journal is known. Older versions, which cannot read the lines of these journals, are kept out.
 */
import { randomBytes } from "node:crypto";
import { type Kysely, sql } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable("journals").addColumn("sum", "text").execute();
  await db.schema
    .alterTable("journals")
    .addColumn("is_open", "integer", (column) => column.notNull().defaultTo(sql`0`))
    .execute();
  await db.schema
    .createTable("database_identity")
    .addColumn("id", "text", (column) => column.primaryKey().notNull())
    .execute();
  await sql`INSERT INTO database_identity (id) VALUES (${`dba_${randomBytes(8).toString("hex")}`})`.execute(db);
}
