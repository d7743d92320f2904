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
import { type Compilable, Kysely, SqliteDialect } from "kysely";
import { type MigrationProvider, Migrator } from "kysely/migration";
import * as accountsAndKeys from "./migrations/0001-accounts-and-keys.ts";
import * as responses from "./migrations/0002-responses.ts";
import * as money from "./migrations/0003-money.ts";
import * as dashboard from "./migrations/0004-dashboard.ts";
import * as attempts from "./migrations/0005-attempts.ts";
import * as replays from "./migrations/0006-replays.ts";
import * as retention from "./migrations/0007-retention.ts";
import type { Tables } from "./schema.ts";

export type Database = Kysely<Tables>;

/**
 * The same connection, at once: for transactions, and for what every call does. A transaction that waited would take in
 * whatever else is written meanwhile, and undo it with itself: so none is made through Kysely.
 */
export interface Engine {
  /** Prepares a statement, once. */
  prepare<P extends readonly unknown[], R = never>(sql: string): Statement<P, R>;
  /** Runs work in one transaction that begins as a writer; within another it is a part of it. */
  transact<T>(work: () => T): T;
  /** Runs work that only reads, on one state of the database, however long it takes. No writer waits for it. */
  read<T>(work: () => T): T;
  /** Runs a query, and returns its rows. */
  all<R>(query: Compilable<R>): R[];
  /** Runs a query, and returns how many rows it changed. */
  run(query: Compilable<unknown>): number;
}

export interface Statement<P extends readonly unknown[], R> {
  /** Returns how many rows were changed. */
  run(...params: P): number;
  get(...params: P): R | undefined;
  all(...params: P): R[];
}

/** How much of what was committed survives: the death of the process, or also a loss of power. */
export type Durability = "process" | "power";

/** How long a writer waits for another. */
const lockTimeoutMs = 5000;

const migrations: MigrationProvider = {
  getMigrations: async () => ({
    "0001-accounts-and-keys": accountsAndKeys,
    "0002-responses": responses,
    "0003-money": money,
    "0004-dashboard": dashboard,
    "0005-attempts": attempts,
    "0006-replays": replays,
    "0007-retention": retention,
  }),
};

/** What the operator can set right: told in one line, without a stack. */
export class StorageError extends Error {
  override readonly name = "StorageError";
}

/** Opens the SQLite file, making it and its folder if need be, for their owner only. Throws a StorageError. */
export async function openDatabase(
  path: string,
  durability: Durability = "process",
): Promise<{ db: Database; engine: Engine }> {
  let sqlite: Sqlite.Database | undefined;
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    // SQLite gives its own new files the mode of this one.
    closeSync(openSync(path, "a", 0o600));
    sqlite = new Sqlite(path, { timeout: lockTimeoutMs });
    await useWal(sqlite);
    sqlite.pragma(`synchronous = ${durability === "power" ? "FULL" : "NORMAL"}`);
    sqlite.pragma("foreign_keys = ON");
    // SQLite's own knows the letters of ASCII only.
    sqlite.function("lower", { deterministic: true }, (text) => (typeof text === "string" ? text.toLowerCase() : text));
    const db = new Kysely<Tables>({ dialect: new SqliteDialect({ database: sqlite }) });
    await migrate(sqlite, db);
    return { db, engine: engineOf(sqlite) };
  } catch (error) {
    sqlite?.close();
    if (error instanceof StorageError) throw error;
    throw new StorageError(`the database ${path} cannot be opened: ${(error as Error).message}`, { cause: error });
  }
}

function engineOf(sqlite: Sqlite.Database): Engine {
  const inTransaction = sqlite.transaction((work: () => unknown) => work());
  return {
    prepare<P extends readonly unknown[], R>(sql: string) {
      const statement = sqlite.prepare(sql);
      return {
        run: (...params: P) => statement.run(...params).changes,
        get: (...params: P) => statement.get(...params) as R | undefined,
        all: (...params: P) => statement.all(...params) as R[],
      };
    },
    transact: <T>(work: () => T) => inTransaction.immediate(work) as T,
    read: <T>(work: () => T) => inTransaction.deferred(work) as T,
    all<R>(query: Compilable<R>) {
      const { sql, parameters } = query.compile();
      return sqlite.prepare(sql).all(...parameters) as R[];
    },
    run(query) {
      const { sql, parameters } = query.compile();
      return sqlite.prepare(sql).run(...parameters).changes;
    },
  };
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
