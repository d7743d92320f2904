/** Brings the tables of a database up to date, and refuses one that a newer version has written. */
import type { Kysely } from "kysely";
import { Migrator } from "kysely/migration";
import type { Tables } from "../../schema.ts";
import { whenUnlocked } from "../lock-retry.ts";
import { refuseUnknown } from "../migrations/migration.ts";
import { migrations } from "./migrations.ts";

/** Migrating is what migrations need of the connection. */
interface Migrating {
  readonly name: string;
  readonly inTransaction: boolean;
  exec(sql: string): unknown;
  prepare(sql: string): { get(): unknown; all(): unknown[] };
}

/**
 * migrate runs the migrations that are missing, in one transaction that begins as a writer: of two processes that open a new file at once,
 * the second waits and then finds nothing to do. A database that lacks none is read alone, and nobody who writes is waited for.
 */
export async function migrate(sqlite: Migrating, db: Kysely<Tables>): Promise<void> {
  if (await isUpToDate(sqlite)) return;
  const migrator = new Migrator({ db, provider: migrations, disableTransactions: true });
  // Who writes may be of this process, so the event loop goes on.
  await whenUnlocked(() => sqlite.exec("BEGIN IMMEDIATE"));
  try {
    await refuseNewer(sqlite);
    const { error } = await migrator.migrateToLatest();
    if (error) throw error;
    sqlite.exec("COMMIT");
  } catch (error) {
    if (sqlite.inTransaction) sqlite.exec("ROLLBACK");
    throw error;
  }
}

async function isUpToDate(sqlite: Pick<Migrating, "prepare">): Promise<boolean> {
  const known = new Set(Object.keys(await migrations.getMigrations()));
  return known.symmetricDifference(new Set(doneMigrations(sqlite))).size === 0;
}

/** refuseNewer throws a StorageError where a newer version has changed the tables, which would be read wrongly. */
export async function refuseNewer(sqlite: Pick<Migrating, "name" | "prepare">): Promise<void> {
  refuseUnknown(await unknownMigrations(sqlite), sqlite.name, "data folder");
}

/** isOutdated reports whether an older version made the tables. A new file has none. */
export async function isOutdated(sqlite: Pick<Migrating, "prepare">): Promise<boolean> {
  const done = doneMigrations(sqlite);
  return done.length > 0 && Object.keys(await migrations.getMigrations()).some((name) => !done.includes(name));
}

/** unknownMigrations returns the migrations of a database that this version does not know. */
export async function unknownMigrations(sqlite: Pick<Migrating, "prepare">): Promise<string[]> {
  const known = await migrations.getMigrations();
  return doneMigrations(sqlite).filter((name) => !Object.hasOwn(known, name));
}

/** doneMigrations returns the migrations that a database has had, none where it is new. */
function doneMigrations(sqlite: Pick<Migrating, "prepare">): string[] {
  const isNew = sqlite.prepare("SELECT 1 FROM sqlite_master WHERE name = 'kysely_migration'").get() === undefined;
  if (isNew) return [];
  return (sqlite.prepare("SELECT name FROM kysely_migration").all() as { name: string }[]).map(({ name }) => name);
}
