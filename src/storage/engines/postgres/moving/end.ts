/** Postgres as one end of a move: a database on which no node lives, and that everybody else is kept from writing by a fence. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { Kysely, PostgresDialect, sql } from "kysely";
import { codeOf, StorageError } from "../../../../runtime/write-trouble.ts";
import { createSegments } from "../../../journal/segments.ts";
import type { Tables } from "../../../schema.ts";
import type { MoveEnd } from "../../move-end.ts";
import { type MoveMark, moveOf, refusal, setMove } from "../../moves.ts";
import type { Database } from "../../scope.ts";
import { tablesOf } from "../../tables/all.ts";
import { run } from "../../tables/create.ts";
import { connectServer } from "../connection.ts";
import { spoolFolder } from "../database.ts";
import { isConnectionError, isLocked, openingError, remedyOf } from "../errors.ts";
import { migrate } from "../migrate.ts";
import { readUrl } from "../url.ts";
import { dropFence, lockTimeoutMs, raiseFence, refuseNodes, setting } from "./fence.ts";
import { insertRows } from "./insert.ts";
import { recoverAll } from "./recover.ts";
import { watchServer } from "./watch.ts";

/** openPostgresEnd connects, and brings the tables up to date or makes them. Throws a StorageError, in one line. */
export async function openPostgresEnd(url: string): Promise<MoveEnd> {
  // Sums of all rows take as long as they take.
  const server = connectServer({ address: readUrl(url), poolSize: 2, statementTimeoutMs: 0, onError: () => {} });
  try {
    const db: Database = new Kysely<Tables>({ dialect: new PostgresDialect({ pool: server.pool }) });
    await migrate(db as never, server.name);
    const end = await endOver(server.name, db);
    const endWatch = watchServer(server, () => void db.destroy().catch(() => {}));
    return {
      ...end,
      async close() {
        endWatch();
        await end.close();
      },
    };
  } catch (error) {
    await server.pool.end();
    throw openingError(server.name, error);
  }
}

/** refuseKept throws a StorageError where this machine keeps what calls cost while the database was away, and nobody has written it yet. */
export function refuseKept(dataDir: string): void {
  const folder = join(dataDir, spoolFolder);
  if (!existsSync(folder) || createSegments(folder, false).nodes().length === 0) return;
  throw new StorageError(
    `${folder} keeps what calls cost while the database was away. Start a gateway here for a minute and a half, which writes it; ` +
      "move the folder away where it is another database's",
  );
}

async function endOver(name: string, db: Database): Promise<MoveEnd> {
  let known = await moveOf(db);
  const write: MoveEnd["write"] = (work) =>
    db.transaction().execute(async (trx) => {
      await sql`SELECT set_config(${setting}, ${known?.id ?? ""}, true)`.execute(trx);
      await holdMark(trx, name, known);
      return work(trx);
    });
  /** mark changes the mark, unless another command has changed it since this one read it: `write` refuses then. */
  const mark = async (next: MoveMark | undefined, work: (trx: Database) => Promise<void>) => {
    await write(async (trx) => {
      await work(trx);
      await setMove(trx, next);
    });
    known = next;
  };
  return {
    dialect: "postgres",
    name,
    db,
    write,
    insert: (trx, table, rows) => insertRows(trx as never, table, rows),
    shut: (next) =>
      mark(next, (trx) => raiseFence(trx as never, name, next)).catch((error) => {
        throw isLocked(error) ? new StorageError(`somebody writes to the database ${name}. Stop it first`) : error;
      }),
    open: (next) => mark(next, (trx) => dropFence(trx as never)),
    recover: () => recoverAll(write as never, name),
    beside: async () => [],
    analyze: () => run(db as never, `ANALYZE ${tablesOf("postgres").map((table) => table.name)}`),
    empty: () =>
      write(async (trx) => {
        await refuseNodes(trx as never, name);
        await truncate(trx);
      }),
    explain: (error) => explained(name, error),
    close: () => db.destroy(),
  };
}

/** silentMs is how long a transaction whose command is cut off keeps others waiting, in milliseconds; the server ends it then. */
const silentMs = 60_000;

/**
 * Within a transaction: keeps every other command from the mark until it ends. So what a command that was killed had sent is done, or
 * undone, before the next one reads how far it came. Throws a StorageError where the mark is not the one that is known.
 */
async function holdMark(trx: Database, name: string, known: MoveMark | undefined): Promise<void> {
  await sql`SELECT set_config('lock_timeout', ${`${lockTimeoutMs}`}, true),
    set_config('idle_in_transaction_session_timeout', ${`${silentMs}`}, true)`.execute(trx);
  await run(trx as never, "LOCK TABLE moves IN EXCLUSIVE MODE");
  const found = await moveOf(trx);
  if (found?.id === known?.id && found?.state === known?.state) return;
  const why = found && refusal(found, name);
  throw new StorageError(
    why === undefined
      ? `the database ${name} was opened again by another command meanwhile. Run the command again, which begins anew`
      : `another command has come first: ${why}`,
  );
}

function explained(name: string, error: unknown): unknown {
  if (error instanceof StorageError) return error;
  const { message } = error as Error;
  const said = codeOf(error) === "25006" ? message : remedyOf(error);
  const remedy = said ?? (isConnectionError(error) ? `it does not answer any more (${message})` : undefined);
  return remedy === undefined ? error : new StorageError(`the database ${name}: ${remedy}`, { cause: error });
}

/** kept are the tables that stay: the database itself is known by them. */
const kept: ReadonlySet<string> = new Set(["database_identity", "changes", "moves"]);

async function truncate(db: Database): Promise<void> {
  const names = tablesOf("postgres").flatMap(({ name }) => (kept.has(name) ? [] : [name]));
  await run(db as never, `TRUNCATE ${names.join(", ")}`);
}
