/**
 * Opens the database and brings its tables up to date. The only file that names a database engine.
 *
 * SQLite in WAL mode: readers do not wait for the writer, and a second process (the command line) may work on the
 * same file. What is committed survives the death of the process.
 */
import { closeSync, openSync, realpathSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout } from "node:timers/promises";
import Sqlite from "better-sqlite3";
import { type Compilable, Kysely, SqliteDialect } from "kysely";
import { Migrator } from "kysely/migration";
import { makeFolder } from "./folder.ts";
import { migrations } from "./migrations/all.ts";
import { type NoteFiles, noteFiles } from "./note-files.ts";
import type { Tables } from "./schema.ts";
import { createTransactions } from "./transactions.ts";
import { createVersion } from "./version.ts";

export type Database = Kysely<Tables>;

/**
 * The same connection, at once: for transactions, and for what every call does. A transaction that waited would take in
 * whatever else is written meanwhile, and undo it with itself: so none is made through Kysely.
 */
export interface Engine extends Connection {
  /** Runs work that only reads, on one state of the database, however long it takes. No writer waits for it. */
  read<T>(work: () => T): T;
  /** Runs a query, and returns its rows. */
  all<R>(query: Compilable<R>): R[];
  /** Runs a query, and returns how many rows it changed. */
  run(query: Compilable<unknown>): number;
  /** The same connection past who is behind: for the ledger itself, and for reads that do without what it has not written. */
  readonly books: Connection;
  /** Whether something failed by what was to be written, and would fail again; not by a busy database or a full disk. */
  isFault(error: unknown): boolean;
  /** Files for what the ledger has to write yet. */
  readonly notes: NoteFiles;
  /** Runs what writes, and returns false where another process is writing: then nothing is written. */
  withoutWaiting(work: () => void): boolean;
  /** Has one who is behind write up before anybody else reads or writes. Returns what undoes it. */
  beforeAccess(one: Behind): () => void;
  /**
   * Another number whenever something was written: here by anybody but the ledger, by another process by anybody. It may be a
   * millisecond late for those, unless it is to be exact.
   */
  version(isExact?: boolean): number;
}

export interface Behind {
  /** Whether anything is not written yet. */
  isBehind(): boolean;
  writeUp(): void;
}

export interface Connection {
  /** Prepares a statement, once. */
  prepare<P extends readonly unknown[], R = never>(sql: string): Statement<P, R>;
  /** Runs work in one transaction that begins as a writer; within another it is a part of it. */
  transact<T>(work: () => T): T;
  /** Within a transaction: calls this once the outermost is committed, never where its part is undone. It may not throw. */
  whenCommitted(work: () => void): void;
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
    makeFolder(dirname(path));
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
    // SQLite keeps what belongs to a file beside it, and not beside a link to it: so do notes.
    const notes = noteFiles(`${realpathSync(path)}.notes`, durability === "power");
    return { db, engine: engineOf(sqlite, notes) };
  } catch (error) {
    sqlite?.close();
    if (error instanceof StorageError) throw error;
    throw new StorageError(`the database ${path} cannot be opened: ${(error as Error).message}`, { cause: error });
  }
}

function engineOf(sqlite: Sqlite.Database, notes: NoteFiles): Engine {
  const runner = sqlite.transaction((work: () => unknown) => work());
  const { write, read, whenCommitted } = createTransactions(runner, () => sqlite.inTransaction);
  const dataVersion = sqlite.prepare("PRAGMA data_version").pluck();
  const behind = new Set<Behind>();
  let written = 0;
  const enter = () => {
    for (const { writeUp } of behind) writeUp();
  };
  const withoutWaiting = (work: () => void) => {
    // Not prepared: SQLite obeys this one when it is compiled, and not when it is run. `pragma` takes ten times as long.
    sqlite.exec("PRAGMA busy_timeout = 0");
    try {
      work();
      return true;
    } catch (error) {
      if (!codeOf(error).startsWith("SQLITE_BUSY")) throw error;
      return false;
    } finally {
      sqlite.exec(`PRAGMA busy_timeout = ${lockTimeoutMs}`);
    }
  };
  /** Who only reads does not wait for another process: then it sees what this one had written last. So all of a read does. */
  const enterToRead = () => {
    if (!sqlite.inTransaction && [...behind].some(({ isBehind }) => isBehind())) withoutWaiting(enter);
  };
  const enterFor = ({ readonly }: { readonly readonly: boolean }) => {
    if (readonly) return enterToRead();
    enter();
    written++;
  };
  const prepared = <P extends readonly unknown[], R>(sql: string, isBooks: boolean): Statement<P, R> => {
    const statement = sqlite.prepare(sql);
    const begin = isBooks ? () => {} : () => enterFor(statement);
    return {
      run(...params) {
        begin();
        return statement.run(...params).changes;
      },
      get(...params) {
        begin();
        return statement.get(...params) as R | undefined;
      },
      all(...params) {
        begin();
        return statement.all(...params) as R[];
      },
    };
  };
  const compiled = (query: Compilable<unknown>) => {
    const { sql, parameters } = query.compile();
    const statement = sqlite.prepare(sql);
    enterFor(statement);
    return { statement, parameters };
  };
  return {
    prepare: (sql) => prepared(sql, false),
    transact(work) {
      enter();
      return write(work);
    },
    read<T>(work: () => T) {
      enterToRead();
      return read(work);
    },
    all<R>(query: Compilable<R>) {
      const { statement, parameters } = compiled(query);
      return statement.all(...parameters) as R[];
    },
    run(query) {
      const { statement, parameters } = compiled(query);
      return statement.run(...parameters).changes;
    },
    books: { prepare: (sql) => prepared(sql, true), transact: write, whenCommitted },
    ...{ whenCommitted, notes, withoutWaiting, isFault },
    beforeAccess(one) {
      behind.add(one);
      return () => void behind.delete(one);
    },
    version: createVersion(
      () => dataVersion.get(),
      () => written,
    ),
  };
}

function isFault(error: unknown): boolean {
  const isOfValue = error instanceof TypeError || error instanceof RangeError;
  return isOfValue || /^SQLITE_(CONSTRAINT|MISMATCH|RANGE)/.test(codeOf(error));
}

function codeOf(error: unknown): string {
  return String((error as { readonly code?: unknown } | null)?.code);
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
      if (codeOf(error) !== "SQLITE_BUSY" || Date.now() > deadline) throw error;
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
