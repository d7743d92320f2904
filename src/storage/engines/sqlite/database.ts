/**
 * Opens a database of SQLite and brings its tables up to date. The only file that imports the engine's driver.
 *
 * WAL mode: readers do not wait for the writer, and a second process (the command line) may work on the same file. What is
 * committed survives the death of the process.
 */
import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout } from "node:timers/promises";
import Sqlite from "better-sqlite3";
import { Kysely, SqliteDialect } from "kysely";
import { LockedError, StorageError } from "../../../runtime/write-trouble.ts";
import { createSegments, journalFolder, type Segments } from "../../journal/segments.ts";
import { maxWaitMs } from "../../money/books.ts";
import type { Tables } from "../../schema.ts";
import type { Engine, Statement, WriteBehind } from "../engine.ts";
import { isBusy, whenUnlocked, withoutWaiting } from "../lock-retry.ts";
import { refuseMoved } from "../moves.ts";
import type { Database } from "../scope.ts";
import { createWritable, type WritableWatch } from "../writable.ts";
import { addonOptions } from "./addon.ts";
import { isAlone } from "./alone.ts";
import { createChanges } from "./management/changes.ts";
import { openManagement } from "./management/management.ts";
import { isOutdated, migrate } from "./migrate.ts";
import { type MadeFiles, makeFile, makeLockFile } from "./new-file.ts";
import { openingError } from "./opening-error.ts";
import { awaitTurn, lockFile, showPresence, takes } from "./presence.ts";
import { createTransactions, type Transactions } from "./transactions.ts";
import { createVersion, ownedVersion } from "./version.ts";

/** DatabaseOwner is another process that has the ledger of this database, as a worker asks it. */
export interface DatabaseOwner {
  /** Returns another number after any change, by whatever process but this one. */
  version(): number;
  /** Has it post what it has not posted. */
  flushed(): PromiseLike<unknown>;
  /** Tells it that this process has changed something. Resolves when all know who go by that. */
  changed(): Promise<void>;
}

/** OpenOptions are further ways in which a database is opened. */
export interface OpenOptions {
  /** owner is another process that has its ledger; undefined where this one has. */
  readonly owner?: DatabaseOwner;
  /** onOutdated is called where an older version made the tables, and another process works on them (`presence.ts`). */
  readonly onOutdated?: (() => void) | undefined;
}

/** OpenedDatabase is a database that this process works on. */
export interface OpenedDatabase {
  readonly db: Database;
  readonly engine: Engine;
  readonly letting: Letting;
}

/** Letting has this process work on a database no more, for good. */
export interface Letting {
  /** go lets go of the file, once no transaction is under way. What is asked of it from now on is refused with a LetGoError. */
  go(): Promise<void>;
  /** isGone reports whether it has begun. */
  isGone(): boolean;
}

/** Durability is what a commit survives: the death of the process, or also a loss of power. */
export type Durability = "process" | "power";

/** RawConnection is a connection to a file as it is. */
export type RawConnection = Sqlite.Database;

/** connect opens a connection to the file of a database, which must exist, and leaves its tables as they are. Throws SQLite's error. */
export function connect(
  path: string,
  options: { readonly timeout?: number; readonly readonly?: boolean } = {},
): RawConnection {
  return new Sqlite(path, { timeout: maxWaitMs, fileMustExist: true, ...options, ...addonOptions(dirname(path)) });
}

/** withNew has work done with a new database that lives in memory for as long, with all tables of this version. */
export async function withNew<T>(work: (made: RawConnection) => T): Promise<T> {
  const made = new Sqlite(":memory:", addonOptions("."));
  try {
    set(made, "process");
    await migrate(made, plainOf(made));
    return work(made);
  } finally {
    made.close();
  }
}

/** isUnused reports whether no process has the file of a database open, in this moment. Throws SQLite's error. */
export function isUnused(path: string): boolean {
  return isAlone(connect(path, { timeout: 0 }));
}

/**
 * keepAlone keeps every other process from opening the database at a path, whether there is one or not, until the returned function is
 * called. Returns undefined where somebody opens it, or works on it. Throws SQLite's error.
 */
export function keepAlone(path: string): (() => void) | undefined {
  const made = makeLockFile(path);
  const lock = connect(lockFile(path), { timeout: 0 });
  const release = () => {
    if (!existsSync(path)) made.remove();
    lock.close();
  };
  if (takes(lock, "BEGIN EXCLUSIVE")) return release;
  lock.close();
  return undefined;
}

/** usedError is what whoever needs the database at a path for itself alone gets while anybody works on it. */
export function usedError(path: string): StorageError {
  return new StorageError(`a gateway, or another command, works on ${path}. Stop it first`);
}

/**
 * openDatabase opens the file of a database, and makes it and its folder if need be, for their owner only. Throws a StorageError; then
 * nothing is left that was not there.
 */
export async function openDatabase(
  path: string,
  durability: Durability = "process",
  { owner, onOutdated }: OpenOptions = {},
): Promise<OpenedDatabase> {
  const open: Sqlite.Database[] = [];
  const made: MadeFiles[] = [];
  try {
    made.push(makeLockFile(path));
    const lock = connect(lockFile(path), { timeout: 0 });
    open.push(lock);
    // Meanwhile nobody gives another file the path, as a restore does: SQLite's files beside it would be those of both.
    const endTurn = await awaitTurn(path, lock);
    made.push(makeFile(path));
    // No connection waits for a lock by itself: that would stop the event loop.
    const books = connect(path, { timeout: 0 });
    open.push(books);
    // From now on the connection itself shows that somebody works on the file.
    await useWal(books);
    endTurn();
    set(books, durability);
    await showPresence({
      path,
      lock,
      // One that opens at the same moment may be reading the log that another process left, which a read does not wait for.
      isOutdated: () => whenUnlocked(() => isOutdated(books)),
      update: () => migrate(books, plainOf(books)),
      onOutdated,
    });
    await whenUnlocked(() => refuseMoved(plainOf(books), path));
    const stores = connect(path, { timeout: 0 });
    open.push(stores);
    set(stores, durability);
    const segments = createSegments(journalFolder(path), durability === "power");
    const close = () => {
      for (const one of open.splice(0)) one.close();
    };
    const letting = createLetting([books, stores], close);
    return { ...(await engineOf({ books, stores, segments, close, owner, isGone: letting.isGone })), letting };
  } catch (error) {
    const told = openingError(path, error);
    for (const one of open) one.close();
    removeAlone(path, made);
    throw told;
  }
}

/** letGoMs is how long a transaction is waited for, in milliseconds. */
const letGoMs = 1_000;

function createLetting(connections: readonly Sqlite.Database[], close: () => void): Letting {
  let isGone = false;
  return {
    isGone: () => isGone,
    async go() {
      isGone = true;
      const isBusyYet = () => connections.some(({ inTransaction }) => inTransaction);
      for (const until = performance.now() + letGoMs; isBusyYet() && performance.now() < until; ) await setTimeout(10);
      close();
    },
  };
}

function set(sqlite: Sqlite.Database, durability: Durability): void {
  sqlite.pragma(`synchronous = ${durability === "power" ? "FULL" : "NORMAL"}`);
  sqlite.pragma("foreign_keys = ON");
  // SQLite's own knows the letters of ASCII only.
  sqlite.function("lower_case", { deterministic: true }, (text) =>
    typeof text === "string" ? text.toLowerCase() : text,
  );
}

/** plainOf returns Kysely over a connection as it is, for migrations and moves. */
export function plainOf(sqlite: RawConnection): Kysely<Tables> {
  const database = { prepare: (sql: string) => sqlite.prepare(sql), close: () => {} };
  return new Kysely<Tables>({ dialect: new SqliteDialect({ database }) });
}

/** removeAlone removes what was made of a database that could not be opened, unless somebody else works on it. */
function removeAlone(path: string, made: readonly MadeFiles[]): void {
  if (made.length === 0) return;
  const release = ifPossible(
    () => keepAlone(path),
    () => {},
  );
  if (release && isUnusedNow(path)) for (const one of made.toReversed()) one.remove();
  release?.();
}

/** isUnusedNow reports whether no process has a file open. A file that cannot be opened counts as unused. */
function isUnusedNow(path: string): boolean {
  return ifPossible(() => isUnused(path), true);
}

function ifPossible<T>(work: () => T, otherwise: T): T {
  try {
    return work();
  } catch {
    return otherwise;
  }
}

/** Access is what happens before and around every statement. */
interface Access {
  readonly sqlite: Sqlite.Database;
  readonly transactions: Transactions;
  readonly writable: WritableWatch;
  /** behind is what is flushed before anybody else reads or writes. */
  readonly behind: Set<WriteBehind>;
  /** Counts what was written here by anybody but the ledger. */
  written: number;
}

interface Connections {
  readonly books: Sqlite.Database;
  readonly stores: Sqlite.Database;
  readonly segments: Segments;
  /** Closes both, and whatever else is open. */
  close(): void;
  readonly owner: DatabaseOwner | undefined;
  readonly isGone: () => boolean;
}

async function engineOf({ books: sqlite, stores, segments, close, owner, isGone }: Connections) {
  const runner = sqlite.transaction((work: () => unknown) => work());
  const transactions = createTransactions(runner, () => sqlite.inTransaction);
  const { whenCommitted } = transactions;
  const writable = writableOf(sqlite, segments);
  const behind = new Set<WriteBehind>();
  const access: Access = { sqlite, transactions, writable, behind, written: 0 };
  const { write, flush, flushToRead } = accessing(access);
  const dataVersion = sqlite.prepare("PRAGMA data_version").pluck();
  const written = () => access.written;
  const version = owner ? ownedVersion(owner, written) : createVersion(() => dataVersion.get(), written);
  const { db, scope } = await openManagement(
    {
      sqlite: stores,
      flush() {
        if (behind.size > 0 && !withoutWaiting(flush)) throw new LockedError();
      },
      flushToRead,
      flushed: owner?.flushed,
      onWritten: version.changed,
      writable,
      close,
      isGone,
    },
    { prepare: (sql) => booksStatement(stores.prepare(sql)) },
  );
  const books: Pick<Engine, "prepare"> = { prepare: (sql) => booksStatement(sqlite.prepare(sql)) };
  const engine: Engine = {
    scope,
    ...statementsOf(access),
    transact(work) {
      flush();
      return write(work);
    },
    read<T>(work: () => T) {
      flushToRead();
      return transactions.read(work);
    },
    books: { ...books, transact: write, whenCommitted },
    whenCommitted,
    withoutWaiting,
    writable,
    segments: watchedSegments(segments, writable),
    beforeAccess(one) {
      behind.add(one);
      return () => void behind.delete(one);
    },
    version: version.current,
    changes: createChanges(books, version.current, isGone),
  };
  return { db, engine };
}

/** Remembers whether the journal can be written. */
function watchedSegments(segments: Segments, { watch }: Pick<WritableWatch, "watch">): Segments {
  return {
    ...segments,
    open: (...begun) => watch("notes", () => segments.open(...begun)),
    append: (...line) => watch("notes", () => segments.append(...line)),
  };
}

function accessing({ sqlite, transactions, writable, behind }: Access) {
  /** Remembers whether a write worked. Within a transaction, the transaction as a whole is watched. */
  const watch = <T>(work: () => T) => (sqlite.inTransaction ? work() : writable.watch("database", work));
  const flush = () => {
    for (const one of behind) one.flush();
  };
  return {
    watch,
    flush,
    write: <T>(work: () => T) => watch(() => transactions.write(work)),
    /**
     * Flushes before a read, unless another process is writing: a read does not wait for that, and sees what was posted last.
     * The same holds for all statements of a read transaction.
     */
    flushToRead() {
      if (!sqlite.inTransaction && [...behind].some((one) => one.hasUnposted())) withoutWaiting(flush);
    },
  };
}

/** Statements of stores: they flush first, and writes are counted and watched. */
function statementsOf(access: Access): Pick<Engine, "prepare"> {
  const { sqlite } = access;
  const { watch, flush, flushToRead } = accessing(access);
  const enter = ({ readonly }: { readonly readonly: boolean }) => {
    if (readonly) return flushToRead();
    flush();
    access.written++;
  };
  return {
    prepare<P extends readonly unknown[], R>(sql: string): Statement<P, R> {
      const statement = sqlite.prepare(sql);
      return {
        run(...params) {
          enter(statement);
          return watch(() => statement.run(...params)).changes;
        },
        get(...params) {
          enter(statement);
          return statement.get(...params) as R | undefined;
        },
        all(...params) {
          enter(statement);
          return statement.all(...params) as R[];
        },
      };
    },
  };
}

/** Statements of the ledger: they do not flush, and what they write is a part of a transaction, which is watched. */
function booksStatement<P extends readonly unknown[], R>(statement: Sqlite.Statement): Statement<P, R> {
  return {
    run: (...params) => statement.run(...params).changes,
    get: (...params) => statement.get(...params) as R | undefined,
    all: (...params) => statement.all(...params) as R[],
  };
}

function writableOf(sqlite: Sqlite.Database, segments: Segments): WritableWatch {
  // Nothing uses this number: setting it to what it is writes a page, and changes nothing.
  const setNumber = () => sqlite.pragma(`user_version = ${sqlite.pragma("user_version", { simple: true })}`);
  const database = () => {
    if (!withoutWaiting(setNumber)) throw new LockedError();
  };
  return createWritable({ probes: { database, notes: segments.probe }, clock: () => performance.now() });
}

/**
 * Turns WAL mode on. Of processes that open a new file at once, one does; the others get "busy" from SQLite without the wait
 * that every other lock has.
 */
async function useWal(sqlite: Sqlite.Database): Promise<void> {
  for (const deadline = performance.now() + maxWaitMs; ; await setTimeout(10)) {
    try {
      sqlite.pragma("journal_mode = WAL");
      return;
    } catch (error) {
      if (!isBusy(error) || performance.now() > deadline) throw error;
    }
  }
}
