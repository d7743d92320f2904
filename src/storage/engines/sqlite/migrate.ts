/** Brings the tables of a database up to date, and refuses one that a newer version has written. */
import type { Kysely } from "kysely";
import { Migrator } from "kysely/migration";
import { StorageError } from "../../../runtime/write-trouble.ts";
import type { Tables } from "../../schema.ts";
import { migrations } from "./migrations/all.ts";

/** Migrating is what migrations need of the connection. */
interface Migrating {
  readonly name: string;
  readonly inTransaction: boolean;
  exec(sql: string): unknown;
  prepare(sql: string): { get(): unknown; all(): unknown[] };
}

/**
 * Runs the migrations that are missing, in one transaction that begins as a writer: of two processes that open a new file at
 * once, the second waits and then finds nothing to do.
 */
export async function migrate(sqlite: Migrating, db: Kysely<Tables>): Promise<void> {
  const migrator = new Migrator({ db, provider: migrations, disableTransactions: true });
  sqlite.exec("BEGIN IMMEDIATE");
  try {
    refuseNewer(sqlite, Object.keys(await migrations.getMigrations()));
    const { error } = await migrator.migrateToLatest();
    if (error) throw error;
    sqlite.exec("COMMIT");
  } catch (error) {
    if (sqlite.inTransaction) sqlite.exec("ROLLBACK");
    throw error;
  }
}

/** Throws a StorageError where a newer version has changed the tables, which would be read wrongly. */
function refuseNewer(sqlite: Migrating, known: readonly string[]): void {
  const isNew = sqlite.prepare("SELECT 1 FROM sqlite_master WHERE name = 'kysely_migration'").get() === undefined;
  if (isNew) return;
  const done = sqlite.prepare("SELECT name FROM kysely_migration").all() as { readonly name: string }[];
  const unknown = done.map(({ name }) => name).filter((name) => !known.includes(name));
  if (unknown.length === 0) return;
  throw new StorageError(
    `the database ${sqlite.name} was written by a newer model-gateway (it has ${unknown.join(", ")}); ` +
      "use that version, or another data folder",
  );
}
