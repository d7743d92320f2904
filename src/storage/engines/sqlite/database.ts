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
import { codeOf, isFault, LockedError, StorageError } from "../../../runtime/write-trouble.ts";
import { type NoteFiles, noteFiles } from "../../journal/segments.ts";
import type { Tables } from "../../schema.ts";
import { makeFolder } from "./folder.ts";
import { migrate } from "./migrate.ts";
import { createTransactions } from "./transactions.ts";
import { createVersion } from "./version.ts";
import { createWaiting, type Waiting } from "./waiting.ts";
import { createPatience, mostWaitMs, type Patience } from "./when-free.ts";
import { createWritable, type WritableWatch } from "./writable.ts";

export { StorageError };

export type Database = Kysely<Tables>;

/**
 * The same connection, at once: for transactions, and for what every call does. A transaction that waited would take in
 * whatever else is written meanwhile, and undo it with itself: so none is made through Kysely.
 */
export interface Engine extends Connection, Waiting {
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
  /** Repeats writes while another process writes, and lets the event loop go on. */
  readonly patience: Patience;
  /** Runs nothing, as a writer: throws where that cannot be. */
  knock(): void;
  readonly writable: WritableWatch;
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
    sqlite = new Sqlite(path, { timeout: mostWaitMs });
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

function engineOf(sqlite: Sqlite.Database, files: NoteFiles): Engine {
  const runner = sqlite.transaction((work: () => unknown) => work());
  const { write: begin, read, whenCommitted } = createTransactions(runner, () => sqlite.inTransaction);
  const dataVersion = sqlite.prepare("PRAGMA data_version").pluck();
  const behind = new Set<Behind>();
  let written = 0;
  const { withoutWaiting, waitBriefly } = createWaiting((sql) => void (sqlite.open && sqlite.exec(sql)));
  const writable = writableOf(sqlite, files, withoutWaiting);
  const watch = <T>(work: () => T) => (sqlite.inTransaction ? work() : writable.watch("database", work));
  const write = <T>(work: () => T) => watch(() => begin(work));
  const notes = {
    ...files,
    append: (...note: [string, string]) => writable.watch("notes", () => files.append(...note)),
  };
  const enter = () => {
    for (const { writeUp } of behind) writeUp();
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
    const entering = isBooks ? () => {} : () => enterFor(statement);
    return {
      run(...params) {
        entering();
        // What the ledger writes is a part of a transaction, which is watched.
        return (isBooks ? statement.run(...params) : watch(() => statement.run(...params))).changes;
      },
      get(...params) {
        entering();
        return statement.get(...params) as R | undefined;
      },
      all(...params) {
        entering();
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
      return watch(() => statement.run(...parameters)).changes;
    },
    books: { prepare: (sql) => prepared(sql, true), transact: write, whenCommitted },
    ...{ whenCommitted, notes, withoutWaiting, waitBriefly, isFault, writable },
    patience: createPatience(withoutWaiting),
    knock: () => write(() => {}),
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

function writableOf(
  sqlite: Sqlite.Database,
  notes: NoteFiles,
  withoutWaiting: Engine["withoutWaiting"],
): WritableWatch {
  // Its number is nobody's: to set it to what it is writes a page, and changes nothing.
  const setNumber = () => sqlite.pragma(`user_version = ${sqlite.pragma("user_version", { simple: true })}`);
  const database = () => {
    if (!withoutWaiting(setNumber)) throw new LockedError();
  };
  return createWritable({ probes: { database, notes: notes.probe }, clock: () => performance.now() });
}

/**
 * Turns WAL mode on. Of processes that open a new file at once, one does, and to the others SQLite says "busy" without
 * the wait that it has for every other lock.
 */
async function useWal(sqlite: Sqlite.Database): Promise<void> {
  for (const deadline = Date.now() + mostWaitMs; ; await setTimeout(10)) {
    try {
      sqlite.pragma("journal_mode = WAL");
      return;
    } catch (error) {
      if (codeOf(error) !== "SQLITE_BUSY" || Date.now() > deadline) throw error;
    }
  }
}
