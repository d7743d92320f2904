/**
 * Kysely's way to the management connection: one connection of SQLite's, which a transaction has for itself until it ends, and a
 * statement for as long as it runs.
 *
 * SQLite runs a statement at once, within the event loop, so it may never wait there: a lock of another connection is waited for by
 * timers, up to `maxWaitMs`, and nobody holds the connection meanwhile. Transactions begin as writers, so none fails half way for want
 * of the lock, unless they say that they only read. Before whatever begins outside of a transaction, the ledger posts what it has not
 * posted yet; a read does without that where another process is writing.
 */
import { type CompiledQuery, type DatabaseConnection, type Driver, type QueryResult, SqliteDialect } from "kysely";
import { LRUCache } from "lru-cache";
import type { MaybePromise } from "../../../../runtime/maybe-promise.ts";
import { LetGoError } from "../../../../runtime/write-trouble.ts";
import { whenUnlocked } from "../../lock-retry.ts";
import type { WritableWatch } from "../../writable.ts";

/** SqliteConnection is what is needed of the connection. */
export interface SqliteConnection {
  readonly inTransaction: boolean;
  prepare(sql: string): SqliteStatement;
  exec(sql: string): unknown;
}

interface SqliteStatement {
  /** reader says that it returns rows. */
  readonly reader: boolean;
  /** Says that it writes nothing. */
  readonly readonly: boolean;
  all(parameters: readonly unknown[]): unknown[];
  run(parameters: readonly unknown[]): { readonly changes: number };
}

export interface ManagementParts {
  readonly sqlite: SqliteConnection;
  /** Posts what the ledger has not posted. Throws SQLITE_BUSY where another process is writing. */
  flush(): void;
  /** flushToRead posts the same, and does nothing where another process is writing. */
  flushToRead(): void;
  /** Has another process post what it has not posted; undefined where this one has the ledger. */
  readonly flushed?: (() => PromiseLike<unknown>) | undefined;
  /** Called when anything was written and committed. Who wrote it waits for what it returns. */
  onWritten(): MaybePromise<void>;
  /** Throws where the caller is within a transaction of its own. */
  refuseWithin(): void;
  readonly writable: Pick<WritableWatch, "watch">;
  close(): void;
  /** isGone reports whether this process works on the database no more. */
  isGone(): boolean;
}

/** maxStatements is how many prepared statements are kept. Lists of ids have one for each length. */
const maxStatements = 500;

/** Transacting is the transaction that has the connection. */
interface Transacting {
  readonly connection: DatabaseConnection;
  readonly over: PromiseWithResolvers<void>;
  hasWritten: boolean;
}

/** Management is what the drivers of one connection share. */
interface Management extends ManagementParts {
  readonly statements: LRUCache<string, SqliteStatement>;
  owner: Transacting | undefined;
  /** Statements and transactions that run, or wait for the connection or the lock. */
  readonly waiting: Set<Promise<unknown>>;
}

/** createDialects returns dialects over one connection: the second has nothing posted before its statements. */
export function createDialects(parts: ManagementParts): readonly [flushing: SqliteDialect, unflushed: SqliteDialect] {
  const management: Management = {
    ...parts,
    statements: new LRUCache({ max: maxStatements }),
    owner: undefined,
    waiting: new Set(),
  };
  return [dialectOf(management, true), dialectOf(management, false)];
}

function dialectOf(management: Management, flushes: boolean): SqliteDialect {
  const dialect = new SqliteDialect({ database: async () => Promise.reject(new Error("it has a driver of its own")) });
  const adapter = dialect.createAdapter();
  // The driver itself sees to who has the connection: Kysely would keep it while somebody waits for a lock.
  Object.defineProperty(adapter, "supportsMultipleConnections", { value: true });
  return Object.assign(dialect, { createDriver: () => driverOf(management, flushes), createAdapter: () => adapter });
}

function driverOf(management: Management, flushes: boolean): Driver {
  return {
    async init() {},
    async acquireConnection() {
      management.refuseWithin();
      return connectionTo(management, flushes);
    },
    beginTransaction: (connection, { accessMode }) => begin(management, connection, accessMode === "read only"),
    commitTransaction: () => commit(management),
    rollbackTransaction: async () => rollback(management),
    async releaseConnection() {},
    async destroy() {
      while (management.owner || management.waiting.size > 0)
        await Promise.allSettled([management.owner?.over.promise, ...management.waiting]);
      management.close();
    },
  };
}

function connectionTo(management: Management, flushes: boolean): DatabaseConnection {
  const connection: DatabaseConnection = {
    async executeQuery<R>(query: CompiledQuery) {
      if (management.owner?.connection === connection) return runWithin<R>(management, management.owner, query);
      return runAlone<R>(management, flushes, query);
    },
    streamQuery() {
      throw new Error("rows are read page by page");
    },
  };
  return connection;
}

/** runAlone runs a statement as soon as nobody has the connection, and nobody else the lock where it writes. */
async function runAlone<R>(management: Management, flushes: boolean, query: CompiledQuery): Promise<QueryResult<R>> {
  const { flush, flushToRead, flushed, onWritten, writable } = management;
  const statement = prepared(management, query);
  let isTold: MaybePromise<void> | undefined;
  if (flushes && flushed) await flushed();
  const result = await whenFree(management, () => {
    refuseGone(management);
    if (flushes) statement.readonly ? flushToRead() : flush();
    if (statement.readonly) return resultOf<R>(statement, query);
    const written = writable.watch("database", () => resultOf<R>(statement, query));
    isTold = onWritten();
    return written;
  });
  await isTold;
  return result;
}

function runWithin<R>(management: Management, owner: Transacting, query: CompiledQuery): QueryResult<R> {
  const statement = prepared(management, query);
  if (statement.readonly) return resultOf(statement, query);
  owner.hasWritten = true;
  return watchFailure(management, () => resultOf(statement, query));
}

/** begin begins a transaction. One that only reads keeps no writer out, and waits for none. */
async function begin(management: Management, connection: DatabaseConnection, readsOnly: boolean): Promise<void> {
  const { sqlite, flush, flushToRead, flushed } = management;
  refuseGone(management);
  await flushed?.();
  await whenFree(management, () => {
    refuseGone(management);
    if (readsOnly) flushToRead();
    else flush();
    watchFailure(management, () => sqlite.exec(readsOnly ? "BEGIN" : "BEGIN IMMEDIATE"));
    management.owner = { connection, over: Promise.withResolvers(), hasWritten: false };
  });
}

async function commit(management: Management): Promise<void> {
  const { sqlite, owner, writable, onWritten } = management;
  writable.watch("database", () => sqlite.exec("COMMIT"));
  end(management);
  if (owner?.hasWritten) await onWritten();
}

function rollback(management: Management): void {
  const { sqlite } = management;
  // SQLite has undone it already where the disk is full.
  if (sqlite.inTransaction) sqlite.exec("ROLLBACK");
  end(management);
}

function end(management: Management): void {
  const { owner } = management;
  management.owner = undefined;
  owner?.over.resolve();
}

function refuseGone({ isGone }: Management): void {
  if (isGone()) throw new LetGoError();
}

function prepared(management: Management, { sql }: CompiledQuery): SqliteStatement {
  refuseGone(management);
  const { statements, sqlite } = management;
  let statement = statements.get(sql);
  if (!statement) {
    statement = sqlite.prepare(sql);
    statements.set(sql, statement);
  }
  return statement;
}

function resultOf<R>(statement: SqliteStatement, { parameters }: CompiledQuery): QueryResult<R> {
  if (statement.reader) return { rows: statement.all(parameters) as R[] };
  return { rows: [], numAffectedRows: BigInt(statement.run(parameters).changes) };
}

/** Remembers a failure alone: whether a transaction has arrived shows when it is committed. */
function watchFailure<T>({ writable }: Management, write: () => T): T {
  try {
    return write();
  } catch (error) {
    return writable.watch("database", () => {
      throw error;
    });
  }
}

/** whenFree runs work as soon as no transaction has the connection, and again while another process holds the lock that it needs. */
async function whenFree<T>(management: Management, work: () => T): Promise<T> {
  const running = whenUnlocked(async () => {
    while (management.owner) await management.owner.over.promise;
    return work();
  });
  management.waiting.add(running);
  try {
    return await running;
  } finally {
    management.waiting.delete(running);
  }
}
