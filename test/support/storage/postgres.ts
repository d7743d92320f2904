/**
 * Postgres for tests: a server of its own for a test file, below a temporary folder, where its programs are installed; and PGlite,
 * which is Postgres in this process with one connection, everywhere.
 */
import { execFileSync, spawn } from "node:child_process";
import {
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PGlite } from "@electric-sql/pglite";
import { Kysely, PostgresDialect, type PostgresPool, type PostgresPoolClient } from "kysely";
import { freePort } from "../../../bench/free-port.ts";
import { connectServer, getTypeParser } from "../../../src/storage/engines/postgres/connection.ts";
import { migrate } from "../../../src/storage/engines/postgres/migrate.ts";
import type { Row, Server } from "../../../src/storage/engines/postgres/session.ts";
import { readUrl } from "../../../src/storage/engines/postgres/url.ts";
import { root } from "../command.ts";

/** The folder of the newest server that is installed; undefined where there is none. */
export const postgresPrograms = findPrograms();

function findPrograms(): string | undefined {
  const installed = "/usr/lib/postgresql";
  const versions = existsSync(installed) ? readdirSync(installed).sort((a, b) => Number(b) - Number(a)) : [];
  return versions.map((version) => join(installed, version, "bin")).find((bin) => existsSync(join(bin, "initdb")));
}

export interface PostgresServer {
  /** Makes an empty database, and returns its URL. */
  createDatabase(): Promise<string>;
  /**
   * copyDatabase makes one that has the gateway's tables, and returns its URL: a copy, for to make the tables takes a fifth of a second.
   */
  copyDatabase(): Promise<string>;
  readonly port: number;
  /** The folder of its data. */
  readonly data: string;
  /** Ends it as a crash would, without a word to anybody. */
  crash(): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts a server that listens at a port of its own. Whoever runs tests as root needs a user that is not: the server refuses it. */
export async function startPostgres(settings: readonly string[] = []): Promise<PostgresServer> {
  const bin = postgresPrograms as string;
  const folder = mkdtempSync(join(tmpdir(), "gateway-postgres-"));
  const user = unprivileged(folder);
  const data = makeData(folder, user);
  const port = await freePort();
  const all = [
    `port = ${port}`,
    "listen_addresses = '127.0.0.1'",
    `unix_socket_directories = '${folder}'`,
    "max_connections = 60",
    // Tests kill processes, and no machine.
    "fsync = off",
    ...settings,
  ];
  writeFileSync(join(data, "postgresql.auto.conf"), `${all.join("\n")}\n`);
  if (user.uid !== undefined) chownSync(join(data, "postgresql.auto.conf"), user.uid, user.gid ?? user.uid);
  let server: ReturnType<typeof spawn> | undefined;
  let databases = 0;
  let copied: Promise<void> | undefined;
  const admin = `postgres://postgres@127.0.0.1:${port}/postgres`;

  async function start(): Promise<void> {
    server = spawn(join(bin, "postgres"), ["-D", data], { ...user, stdio: "ignore" });
    for (;;) {
      try {
        await query(admin, "SELECT 1");
        return;
      } catch (error) {
        // Who waits for it bounds how long: a busy machine takes seconds.
        if (server.exitCode !== null) throw error;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
  }

  async function end(): Promise<void> {
    const ended = server;
    server = undefined;
    if (!ended || ended.exitCode !== null) return;
    const gone = new Promise((resolve) => ended.once("exit", resolve));
    ended.kill("SIGQUIT");
    await gone;
  }

  async function create(name: string, how = ""): Promise<string> {
    await query(admin, `CREATE DATABASE ${name} ${how}`);
    return `postgres://postgres@127.0.0.1:${port}/${name}`;
  }

  async function makeCopied(): Promise<void> {
    const made = serverAt(await create("copied"));
    await migrate(kyselyOf(made), made.name);
    await made.pool.end();
  }

  await start();
  return {
    port,
    data,
    start,
    crash: end,
    createDatabase: () => create(`test_${++databases}`),
    async copyDatabase() {
      copied ??= makeCopied();
      await copied;
      return create(`test_${++databases}`, "TEMPLATE copied STRATEGY FILE_COPY");
    },
    async stop() {
      await end();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/**
 * Makes the data of a server below a folder, and returns where. `initdb` takes a second of a core: it runs once for each version of it,
 * and what it made is copied.
 */
function makeData(folder: string, user: { uid?: number; gid?: number }): string {
  const data = join(folder, "data");
  const initdb = join(postgresPrograms as string, "initdb");
  const { size, mtimeMs } = statSync(initdb);
  const cache = join(root, "node_modules/.cache/test-postgres");
  const kept = join(cache, `${size}-${mtimeMs}`);
  if (existsSync(kept)) {
    copy(kept, data);
    return data;
  }
  execFileSync(initdb, ["-D", data, "-A", "trust", "-U", "postgres", "-E", "UTF8", "--no-locale", "--no-sync"], user);
  mkdirSync(cache, { recursive: true });
  const made = mkdtempSync(join(cache, "made-"));
  copy(data, join(made, "data"));
  try {
    renameSync(join(made, "data"), kept);
  } catch {
    // Another process has made it meanwhile.
  }
  rmSync(made, { recursive: true });
  return data;
}

/** Copies a folder with its owners and modes. */
function copy(from: string, to: string): void {
  execFileSync("cp", ["-a", from, to]);
}

/** The user that runs a server where root does not: `postgres`, or nobody. The folder is given to it. */
export function unprivileged(folder: string): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const [uid, gid] = ["postgres", "nobody"].flatMap(idsOf) as [number, number];
  chownSync(folder, uid, gid);
  return { uid, gid };
}

function idsOf(user: string): number[] {
  try {
    return ["-u", "-g"].map((of) =>
      Number(execFileSync("id", [of, user], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] })),
    );
  } catch {
    return [];
  }
}

/** Runs one statement on a connection of its own. */
export async function query(url: string, sql: string, values: readonly unknown[] = []): Promise<readonly Row[]> {
  const server = serverAt(url);
  const session = await server.connect();
  try {
    return await session.query(sql, values);
  } finally {
    session.close();
    await server.pool.end();
  }
}

export function serverAt(url: string): Server {
  return connectServer({ address: readUrl(url), poolSize: 4, statementTimeoutMs: 20_000, onError: () => {} });
}

export function kyselyOf(server: Server): Kysely<unknown> {
  return new Kysely({ dialect: new PostgresDialect({ pool: server.pool }) });
}

export interface PgliteServer {
  /** Makes an empty schema, which all that is asked from then on is about. */
  open(): Promise<Server>;
  stop(): Promise<void>;
}

/** Starts Postgres in this process: one connection, which all share in turn. */
export async function startPglite(): Promise<PgliteServer> {
  const parse = (oid: number) => (text: string) => getTypeParser(oid)(text as never);
  const db = await PGlite.create({ parsers: { 20: parse(20), 1700: parse(1700) } });
  let turn = Promise.resolve();
  let schemas = 0;
  const run = async (sql: string, values: readonly unknown[] = []) => {
    const { rows, affectedRows = 0 } = await db.query<Row>(sql, [...values]);
    const [, command = ""] = /\b(insert|update|delete|merge|begin|commit|rollback|select)\b/i.exec(sql) ?? [];
    return { rows, rowCount: affectedRows, command: command.toUpperCase() };
  };
  const pool = {
    options: {},
    async connect() {
      const before = turn;
      const { promise, resolve } = Promise.withResolvers<void>();
      turn = promise;
      await before;
      return { query: run, release: resolve } as unknown as PostgresPoolClient;
    },
    end: async () => {},
  } as unknown as PostgresPool;
  const connect: Server["connect"] = async () => ({
    async query(sql, values) {
      const client = await pool.connect();
      try {
        return (await run(sql, values)).rows;
      } finally {
        client.release();
      }
    },
    listen: undefined,
    isOpen: () => true,
    close: () => {},
  });
  return {
    async open() {
      const schema = `test_${++schemas}`;
      await run(`CREATE SCHEMA ${schema}`);
      await run(`SET search_path = ${schema}`);
      return { name: "pglite", pool, connect };
    },
    stop: () => db.close(),
  };
}

/** Ends connections whose commits wait for a standby, in the database of this URL. Returns how many there were. */
export async function endWaitingCommits(url: string): Promise<number> {
  const sql = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE wait_event = 'SyncRep' AND datname = current_database()`;
  return (await query(url, sql)).length;
}

/**
 * Has every commit wait for a standby that never comes: it is done, and nobody is told. Resolves when the server goes by that, a while
 * after it was told, to what ends it again.
 */
export async function keepCommits(url: string): Promise<() => Promise<void>> {
  const set = async (sql: string) => {
    await query(url, sql);
    await query(url, "SELECT pg_reload_conf()");
  };
  await set("ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
  let isKept = false;
  const probing = (async () => {
    while (!isKept) await query(url, "SELECT pg_logical_emit_message(true, 'probe', '')");
  })().catch(() => {});
  while (!isKept) isKept = (await endWaitingCommits(url)) > 0;
  await probing;
  return () => set("ALTER SYSTEM RESET synchronous_standby_names");
}
