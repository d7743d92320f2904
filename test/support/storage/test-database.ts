/**
 * A database for one test or test gateway: a file of SQLite, or one in the server of Postgres that was started for the run. Tests of
 * all that works on both get theirs here. The environment says which: `TEST_DATABASE=postgres`, else SQLite.
 *
 *   const database = await newTestDatabase();
 *   const storage = await database.open();        // as a gateway does; each call is another gateway's view
 *   await database.query("UPDATE accounts SET balance = ? WHERE id = ?", 7, "acc_1");   // behind everybody's back
 *   await storage.close();
 *   await database.remove();
 */
import { existsSync, readdirSync, rmSync } from "node:fs";
import { copyFile, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Sqlite from "better-sqlite3";
import { spoolFolder } from "../../../src/storage/engines/postgres/database.ts";
import type { Session } from "../../../src/storage/engines/postgres/session.ts";
import type { Storage } from "../../../src/storage/storage.ts";
import { openAt } from "./open-again.ts";
import { query, serverAt } from "./postgres.ts";

export type Dialect = "sqlite" | "postgres";

/** Set where the run's server is started (`run/start-servers.ts`), for the processes that run the tests. */
const serverUrl = process.env.TEST_POSTGRES_URL;

/** dialect is the database that this run is about. */
export const dialect: Dialect = serverUrl === undefined ? "sqlite" : "postgres";

/**
 * Declares tests of what SQLite alone has: its file, its lock, its journal, its statements. On Postgres they are not declared. Whole
 * files of such are in `test/storage/engines/sqlite`, which a run on Postgres leaves out.
 */
export function onSqlite(declare: () => void): void {
  if (dialect === "sqlite") declare();
}

export interface TestDatabase {
  /** The folder of a gateway on it: what is kept on this machine. */
  readonly dataDir: string;
  /** The file. Throws on Postgres: a test that needs it belongs to SQLite. */
  readonly path: string;
  /** The URL. Undefined on SQLite. */
  readonly url: string | undefined;
  /** variables are what a process of the gateway finds it by, and `openAgain` in any other. */
  readonly variables: Readonly<Record<string, string>>;
  /** Opens it as a gateway does. */
  open(): Promise<Storage>;
  /** Runs one statement, with `?` for each value, on a connection of its own. Returns rows, if it has any. */
  query<T = Readonly<Record<string, unknown>>>(sql: string, ...values: readonly unknown[]): Promise<T[]>;
  /** Runs statements without values, as many as there are. */
  exec(sql: string): Promise<void>;
  /** Stops the clock of the database at a moment. On SQLite gateways go by their own, which tests give them. */
  setClock(now: number): Promise<void>;
  /**
   * Has nobody see any more which processes live that work on it, as of those on another machine: their deadlines alone count. A test that
   * has a process die or stand still within its own needs that, for each shows that it lives by a lock.
   */
  forgetProcesses(): Promise<void>;
  /** Has deadlines count of processes of which nothing is known, as on Postgres once a node has been there for half a minute. */
  countDeadlines(): Promise<void>;
  /** Runs statements that read, on one state of the database. */
  read<T>(work: (query: TestDatabase["query"]) => Promise<T>): Promise<T>;
  /** Returns every row, by the names of tables. */
  contents(): Promise<ReadonlyMap<string, readonly Readonly<Record<string, unknown>>[]>>;
  /** Removes it, and what was opened for `query`. */
  remove(): Promise<void>;
}

/** Makes one, up to date and empty. */
export async function newTestDatabase(): Promise<TestDatabase> {
  const dataDir = await mkdtemp(join(tmpdir(), "gateway-test-"));
  const removeFolder = () => rm(dataDir, { recursive: true, force: true });
  if (dialect === "postgres") return onServer(dataDir, await takeCopy(), removeFolder, drop);
  const path = join(dataDir, "gateway.db");
  await copyFile(await templateFile(), path);
  return inFile(dataDir, path, removeFolder);
}

let madeFile: Promise<string> | undefined;

/** Makes a file once for this process, up to date and empty: to copy it takes a tenth of the time. */
function templateFile(): Promise<string> {
  madeFile ??= makeFile();
  return madeFile;
}

async function makeFile(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "gateway-template-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  await (await openAt({ DATA_DIR: folder })).close();
  return join(folder, "gateway.db");
}

function inFile(dataDir: string, path: string, removeFolder: () => Promise<void>): TestDatabase {
  let sqlite: Sqlite.Database | undefined;
  const inTurn = oneByOne();
  function opened(): Sqlite.Database {
    sqlite ??= new Sqlite(path);
    return sqlite;
  }
  async function run<T>(sql: string, ...values: readonly unknown[]): Promise<T[]> {
    const statement = opened().prepare(sql);
    if (statement.reader) return statement.all(...values) as T[];
    statement.run(...values);
    return [];
  }
  return {
    ...{ dataDir, path, url: undefined, variables: { DATA_DIR: dataDir } },
    open: () => openAt({ DATA_DIR: dataDir }),
    query: run,
    exec: async (sql) => void opened().exec(sql),
    setClock: async () => {},
    forgetProcesses: async () => removeLocks(`${path}.notes`),
    countDeadlines: async () => {},
    read: (work) => inTurn(() => within(run, "BEGIN", work)),
    contents: () => contentsOf(run, "SELECT name FROM sqlite_schema WHERE type = 'table'"),
    async remove() {
      sqlite?.close();
      await removeFolder();
    },
  };
}

/** Returns a database of a server that the test has started itself, whatever the run is about. It goes with its server. */
export async function databaseAt(url: string): Promise<TestDatabase> {
  const dataDir = await mkdtemp(join(tmpdir(), "gateway-test-"));
  return onServer(dataDir, url, () => rm(dataDir, { recursive: true, force: true }));
}

/** `dropIt` is called once nobody here uses it any more. */
function onServer(
  dataDir: string,
  url: string,
  removeFolder: () => Promise<void>,
  dropIt = (_: string) => {},
): TestDatabase {
  const server = serverAt(url);
  let session: Promise<Session> | undefined;
  const inTurn = oneByOne();
  async function run<T>(sql: string, ...values: readonly unknown[]): Promise<T[]> {
    session ??= server.connect();
    let count = 0;
    const numbered = sql.replaceAll("?", () => `$${++count}`);
    return [...(await (await session).query(numbered, values))] as T[];
  }
  const variables = { DATA_DIR: dataDir, DATABASE_URL: url };
  const countDeadlines = async () => void (await run("UPDATE nodes SET steady_since = 0"));
  return {
    ...{ dataDir, url, variables },
    get path(): string {
      throw new Error("This database is in Postgres, and has no file. Declare the test by `onSqlite`.");
    },
    open: () => openAt(variables),
    query: run,
    async exec(sql) {
      session ??= server.connect();
      await (await session).query(sql);
    },
    setClock: async (now) =>
      void (await run(
        `CREATE OR REPLACE FUNCTION now_ms() RETURNS bigint LANGUAGE sql VOLATILE AS $$ SELECT ${now}::bigint $$`,
      )),
    async forgetProcesses() {
      removeLocks(join(dataDir, spoolFolder));
      await countDeadlines();
    },
    countDeadlines,
    read: (work) => inTurn(() => within(run, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", work)),
    contents: () => contentsOf(run, "SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema()"),
    async remove() {
      (await session)?.close();
      await server.pool.end();
      dropIt(url);
      await removeFolder();
    },
  };
}

function removeLocks(folder: string): void {
  for (const name of existsSync(folder) ? readdirSync(folder) : [])
    if (/\.(?:lock|calls)$/.test(name)) rmSync(join(folder, name));
}

/** Returns what runs one work after another: all are transactions of one connection. */
function oneByOne(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const next = last.then(work, work);
    last = next.catch(() => {});
    return next;
  };
}

async function within<T>(
  run: TestDatabase["query"],
  begin: string,
  work: (query: TestDatabase["query"]) => Promise<T>,
) {
  await run(begin);
  try {
    return await work(run);
  } finally {
    await run("COMMIT");
  }
}

async function contentsOf(run: TestDatabase["query"], tables: string) {
  const all = new Map<string, Readonly<Record<string, unknown>>[]>();
  for (const { name } of await run<{ name: string }>(tables)) all.set(name, await run(`SELECT * FROM "${name}"`));
  return all;
}

/** The statement that has the connection which changes things behind everybody's back not ask whether rows refer to what is there. */
export const ignoreReferences =
  dialect === "sqlite" ? "PRAGMA foreign_keys = OFF" : "SET session_replication_role = replica";

/** Returns all that a database keeps: SQLite's files, its log among them, or every value that Postgres tells. */
export async function bytesOf(database: Pick<TestDatabase, "path" | "contents">): Promise<Buffer> {
  if (dialect === "sqlite") {
    const files = [database.path, `${database.path}-wal`];
    return Buffer.concat(await Promise.all(files.map((file) => readFile(file))));
  }
  const values = [...(await database.contents()).values()].flat().flatMap((row) => Object.values(row));
  return Buffer.concat(values.map((value) => (Buffer.isBuffer(value) ? value : Buffer.from(`${value}\n`))));
}

/**
 * Has inserts into a table fail with these words, where a condition holds, until what is returned is called: as if the disk were full for
 * that table alone.
 */
export async function refuseInserts(
  { exec }: Pick<TestDatabase, "exec">,
  table: string,
  words: string,
  when = "1 = 1",
): Promise<() => Promise<void>> {
  if (dialect === "sqlite") {
    await exec(
      `CREATE TRIGGER refuse BEFORE INSERT ON ${table} WHEN ${when} BEGIN SELECT RAISE(ABORT, '${words}'); END`,
    );
    return () => exec("DROP TRIGGER refuse");
  }
  await exec(`CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
    $body$ BEGIN IF ${when} THEN RAISE EXCEPTION '${words}'; END IF; RETURN NEW; END $body$;
    CREATE TRIGGER refuse BEFORE INSERT ON ${table} FOR EACH ROW EXECUTE FUNCTION refuse()`);
  return () => exec(`DROP TRIGGER refuse ON ${table}`);
}

/** template is what all are copies of: up to date, and empty. */
export const template = "gateway_template";
/** copyPrefix is what every test's database is called by, before a number. */
export const copyPrefix = "gateway_test_";

let copies = 0;
let next: Promise<string> | undefined;
let dropping: Promise<unknown> = Promise.resolve();

/** Copies the template; one is made before it is asked for, as soon as any was. */
async function takeCopy(): Promise<string> {
  const taken = next ?? makeCopy();
  next = taken.then(makeCopy);
  // Reported where it is taken, if it is.
  next.catch(() => {});
  return taken;
}

async function makeCopy(): Promise<string> {
  const name = `${copyPrefix}${process.pid}_${++copies}`;
  const url = serverUrl as string;
  // Its files are copied: quicker than by the log, where nothing is written to disks at once.
  await query(url, `CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY FILE_COPY`);
  return urlOf(name);
}

/** Drops one when those before it are: nobody waits for it, and the run's end drops what is left. */
function drop(url: string): void {
  const name = new URL(url).pathname.slice(1);
  dropping = dropping
    .then(() => query(serverUrl as string, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`))
    .catch(() => {});
}

/** Returns the URL of a database of the run's server. */
function urlOf(name: string): string {
  return Object.assign(new URL(serverUrl as string), { pathname: `/${name}` }).href;
}
