/**
 * Opens the database and brings its tables up to date. The only file that names a database engine.
 *
 * SQLite in WAL mode: readers do not wait for the writer, and a second process (the command line) may work on the
 * same file. What is committed survives the death of the process.
 */
import { closeSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout } from "node:timers/promises";
import Sqlite from "better-sqlite3";
import { Kysely, SqliteDialect } from "kysely";
import { type MigrationProvider, Migrator } from "kysely/migration";
import * as accountsAndKeys from "./migrations/0001-accounts-and-keys.ts";
import * as responses from "./migrations/0002-responses.ts";
import type { Tables } from "./schema.ts";

export type Database = Kysely<Tables>;

/** How long a writer waits for another. */
const lockTimeoutMs = 5000;

const migrations: MigrationProvider = {
  getMigrations: async () => ({ "0001-accounts-and-keys": accountsAndKeys, "0002-responses": responses }),
};

/** What the operator can set right: told in one line, without a stack. */
export class StorageError extends Error {
  override readonly name = "StorageError";
}

/** Opens the SQLite file, making it and its folder if need be, for their owner only. Throws a StorageError. */
export async function openDatabase(path: string): Promise<Database> {
  let sqlite: Sqlite.Database | undefined;
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    // SQLite gives its own new files the mode of this one.
    closeSync(openSync(path, "a", 0o600));
    sqlite = new Sqlite(path, { timeout: lockTimeoutMs });
    await useWal(sqlite);
    sqlite.pragma("synchronous = NORMAL");
    sqlite.pragma("foreign_keys = ON");
    const db = new Kysely<Tables>({ dialect: new SqliteDialect({ database: sqlite }) });
    await migrate(sqlite, db);
    return db;
  } catch (error) {
    sqlite?.close();
    if (error instanceof StorageError) throw error;
    throw new StorageError(`the database ${path} cannot be opened: ${(error as Error).message}`, { cause: error });
  }
}

/**
 * Turns WAL mode on. Of processes that open a new file at once, one does, and to the others SQLite says "busy" without
 * the wait that it has for every other lock.
 */
async function useWal(sqlite: Sqlite.Database): Promise<void> {
  for (const deadline = Date.now() + lockTimeoutMs; ; await setTimeout(10)) {
    try {
      sqlite.pragma("journal_mode = WAL");
      return;
    } catch (error) {
      if ((error as { code?: string }).code !== "SQLITE_BUSY" || Date.now() > deadline) throw error;
    }
  }
}

/**
 * Brings the tables up to date. All of it is one transaction that begins as a writer: of two processes that open a
 * new file at once, the second waits and then finds nothing to do.
 */
async function migrate(sqlite: Sqlite.Database, db: Database): Promise<void> {
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

/** Tables of a later version would be read wrongly. */
function refuseNewer(sqlite: Sqlite.Database, known: readonly string[]): void {
  const isNew = sqlite.prepare("SELECT 1 FROM sqlite_master WHERE name = 'kysely_migration'").get() === undefined;
  if (isNew) return;
  const done = sqlite.prepare("SELECT name FROM kysely_migration").pluck().all() as string[];
  const unknown = done.filter((name) => !known.includes(name));
  if (unknown.length === 0) return;
  throw new StorageError(
    `the database ${sqlite.name} was written by a newer model-gateway (it has ${unknown.join(", ")}); ` +
      "use that version, or another data folder",
  );
}
