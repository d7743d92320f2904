/** SQLite as one end of a move: a file that this process has for itself until it closes it, or dies. */
import { hash } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { codeOf, diskRemedy, StorageError } from "../../../../runtime/write-trouble.ts";
import { createSegments, journalFolder } from "../../../journal/segments.ts";
import { reconcileJournal } from "../../../money/reconcile-journal.ts";
import type { Connection, Statement } from "../../engine.ts";
import { digestOf, type MoveEnd, type Values } from "../../move-end.ts";
import { moveOf, setMove } from "../../moves.ts";
import type { Database } from "../../scope.ts";
import type { TableShape } from "../../tables/shape.ts";
import { createPendingTotals } from "../books/pending-totals.ts";
import { ledgerStatements } from "../books/statements.ts";
import { connect, isUnused, keepAlone, plainOf, type RawConnection, usedError } from "../database.ts";
import { createJournalRows } from "../journal/journal-rows.ts";
import { migrate } from "../migrate.ts";
import { openingError } from "../opening-error.ts";

/** refuseUsed throws a StorageError where anybody works on the file of a database. */
export function refuseUsed(path: string): void {
  const release = keepAlone(path);
  try {
    if (!release || !isUnused(path)) throw usedError(path);
  } finally {
    release?.();
  }
}

/** openSqliteEnd opens a file that is there, and brings its tables up to date. Throws a StorageError where anybody works on it. */
export async function openSqliteEnd(path: string): Promise<MoveEnd> {
  let release: (() => void) | undefined;
  let sqlite: RawConnection | undefined;
  try {
    release = keepAlone(path);
    if (!release || !isUnused(path)) throw usedError(path);
    sqlite = connect(path);
    // What the other end is told to be here has to survive a loss of power.
    sqlite.pragma("synchronous = FULL");
    sqlite.pragma("foreign_keys = ON");
    sqlite.pragma("cache_size = -65536");
    sqlite.function(digestOf, { deterministic: true }, (bytes: Uint8Array) =>
      BigInt(hash("sha256", bytes, "buffer").readUIntBE(0, 6)),
    );
    const db = plainOf(sqlite);
    await migrate(sqlite, db);
    return endOver(path, sqlite, db, release);
  } catch (error) {
    sqlite?.close();
    release?.();
    throw openingError(path, error);
  }
}

/** isMoving returns whether the data of a file are on the move, or have moved. Its tables are left as they are. */
export async function isMoving(path: string): Promise<boolean> {
  const sqlite = connect(path);
  try {
    const { state } = (await moveOf(plainOf(sqlite))) ?? {};
    return state === "leaving" || state === "left";
  } catch (error) {
    throw openingError(path, error);
  } finally {
    sqlite.close();
  }
}

/** stay opens the data of a file again that have moved, as those of a back-up. Returns where they went; undefined where they did not. */
export async function stay(path: string): Promise<string | undefined> {
  if (!(await isMoving(path))) return undefined;
  const end = await openSqliteEnd(path);
  const { place } = (await moveOf(end.db)) ?? {};
  await end.open(undefined);
  await end.close();
  return place;
}

function endOver(path: string, sqlite: RawConnection, db: Database, release: () => void): MoveEnd {
  const segments = createSegments(journalFolder(path), true);
  const insert = createInsert(sqlite);
  const connection = connectionOver(sqlite);
  const write: MoveEnd["write"] = async (work) => {
    sqlite.exec("BEGIN IMMEDIATE");
    try {
      const result = await work(db);
      sqlite.exec("COMMIT");
      return result;
    } catch (error) {
      // SQLite has undone it already where the disk is full.
      if (sqlite.inTransaction) sqlite.exec("ROLLBACK");
      throw error;
    }
  };
  return {
    dialect: "sqlite",
    name: path,
    db,
    write,
    async insert(_, table, rows) {
      insert(table, rows);
    },
    // Nobody else can open the file meanwhile, and the mark keeps everybody out afterwards.
    shut: (mark) => write((trx) => setMove(trx, mark)),
    open: (mark) => write((trx) => setMove(trx, mark)),
    async recover() {
      sqlite.transaction(() => mergeAll(connection)).immediate();
      const left = sqlite.prepare(
        "SELECT (SELECT count(*) FROM holds) + (SELECT count(*) FROM journals WHERE is_open)",
      );
      if (left.pluck().get() === 0 && segments.nodes().length === 0) return;
      throw new StorageError(
        `${path} has holds or a journal of calls that are not over. \`model-gateway reconcile\` shows them; repeat the command then`,
      );
    },
    beside: () => {
      const rows = createJournalRows(connection);
      return reconcileJournal({ segments, rows, clock: Date.now, pause: (ms) => setTimeout(ms) });
    },
    // It plans by its indexes alone.
    analyze: async () => {},
    empty: undefined,
    explain(error) {
      const remedy = /^(?:SQLITE_|ENOSPC|EDQUOT|EROFS|EIO|EACCES)/.test(codeOf(error)) ? diskRemedy(error) : undefined;
      return remedy === undefined ? error : new StorageError(`${path}: ${remedy}`, { cause: error });
    },
    async close() {
      sqlite.close();
      release();
    },
  };
}

/** mergeAll adds what calls have left due to the sums of keys and hours. */
function mergeAll(connection: Connection): void {
  const totals = createPendingTotals(connection, ledgerStatements(connection));
  for (let part = 0; part < totals.parts; part++) totals.merge(part);
}

/** connectionOver returns a connection for the books. Its caller begins and ends transactions. */
function connectionOver(sqlite: RawConnection): Connection {
  return {
    prepare<P extends readonly unknown[], R>(sql: string): Statement<P, R> {
      const statement = sqlite.prepare(sql);
      return {
        run: (...params) => statement.run(...params).changes,
        get: (...params) => statement.get(...params) as R | undefined,
        all: (...params) => statement.all(...params) as R[],
      };
    },
    transact: (work) => work(),
    whenCommitted: () => {},
  };
}

/** createInsert adds rows one by one: a prepared statement is quicker than one of many rows. */
function createInsert(sqlite: RawConnection): (table: TableShape, rows: readonly Values[]) => void {
  const statements = new Map<string, ReturnType<RawConnection["prepare"]>>();
  return ({ name, columns }, rows) => {
    const names = Object.keys(columns);
    const places = names.map(() => "?").join(", ");
    const statement =
      statements.get(name) ?? sqlite.prepare(`INSERT INTO ${name} (${names.join(", ")}) VALUES (${places})`);
    statements.set(name, statement);
    for (const row of rows) statement.run(names.map((column) => row[column]));
  };
}
