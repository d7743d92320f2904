/**
 * Connects to Postgres. The only file that imports the driver, which is loaded only where Postgres is configured.
 *
 * Whole numbers of 64 bits and sums arrive as numbers where that is exact, and as an error where it is not: by parsers of these
 * connections alone. Nothing depends on what a session remembers, so a pooler may stand between; only notifications need a
 * connection of one's own to the server, and without them changes are seen by asking.
 */
import type { Socket } from "node:net";
import pg from "pg";
import type { Row, Server, Session } from "./session.ts";
import type { Address } from "./url.ts";

export interface ServerOptions {
  readonly address: Address;
  /** poolSize is how many connections management and upkeep share. */
  readonly poolSize: number;
  /** statementTimeoutMs is how long a statement may take, in milliseconds. */
  readonly statementTimeoutMs: number;
  /** Receives errors of connections that nobody uses at that moment. */
  readonly onError: (error: unknown) => void;
}

export function connectServer(options: ServerOptions): Server {
  const config = configOf(options);
  const pool = new pg.Pool({ ...config, max: options.poolSize, idleTimeoutMillis: 30_000, allowExitOnIdle: true });
  pool.on("error", (error) => options.onError(withoutClient(error)));
  // One that breaks within a transaction, between two statements, has nobody else who listens: its next statement fails.
  pool.on("connect", (client) => void client.on("error", () => {}));
  boundEnd(pool);
  return {
    name: options.address.name,
    pool: pool as unknown as Server["pool"],
    async connect() {
      const client = new pg.Client(config);
      return sessionOf(client, await opened(client));
    },
  };
}

/** endMs is how long a connection may take to end before it is destroyed, in milliseconds: a server that is silent never lets it go. */
const endMs = 1000;

/** destroyLater closes a connection on which nothing comes: it would keep the process from ending. */
function destroyLater(client: pg.ClientBase): NodeJS.Timeout {
  const { stream } = (client as unknown as { readonly connection: { readonly stream: Socket } }).connection;
  return setTimeout(() => stream.destroy(), endMs).unref();
}

/** boundEnd has a pool end in any case: connections that are not let go are destroyed. */
function boundEnd(pool: pg.Pool): void {
  const open = new Set<pg.ClientBase>();
  pool.on("connect", (client) => void open.add(client));
  pool.on("remove", (client) => void open.delete(client));
  const end = pool.end.bind(pool) as () => Promise<void>;
  const ended = async () => {
    for (const client of open) destroyLater(client);
    await end();
  };
  Object.assign(pool, { end: ended });
}

/** withoutClient removes the connection that the pool adds to an error: it has the key that cancels statements, which no log may show. */
function withoutClient(error: Error & { client?: unknown }): Error {
  delete error.client;
  return error;
}

function configOf({ address, statementTimeoutMs }: ServerOptions): pg.ClientConfig {
  const { host, port, database, user, password, tls, applicationName, connectTimeoutMs } = address;
  return {
    host,
    port,
    database,
    user,
    ...(password === undefined ? {} : { password }),
    ssl: tls,
    application_name: applicationName,
    connectionTimeoutMillis: connectTimeoutMs,
    // By the client: a pooler may not let the server's own be set.
    query_timeout: statementTimeoutMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    types: { getTypeParser },
  };
}

async function opened(client: pg.Client): Promise<{ isOpen: boolean }> {
  const state = { isOpen: true };
  const lost = () => {
    state.isOpen = false;
  };
  client.on("error", lost);
  client.on("end", lost);
  await client.connect();
  return state;
}

async function sessionOf(client: pg.Client, state: { readonly isOpen: boolean }): Promise<Session> {
  const isDirect = await isOwnBackend(client);
  return {
    query: async (sql, values = []) => (await client.query<Row>(sql, [...values])).rows,
    listen: isDirect ? (onNotice) => listen(client, onNotice) : undefined,
    isOpen: () => state.isOpen,
    close() {
      client.end().catch(() => {});
      destroyLater(client);
    },
  };
}

/** isOwnBackend reports whether the server process is that of this connection alone: a pooler names another when one connects. */
async function isOwnBackend(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
  return rows[0]?.pid === (client as unknown as { readonly processID: number | null }).processID;
}

async function listen(client: pg.Client, onNotice: (text: string) => void): Promise<void> {
  client.on("notification", ({ payload = "" }) => onNotice(payload));
  await client.query("LISTEN model_gateway");
}

const [int8, numeric] = [20, 1700];

/** getTypeParser reads numbers where they are exact. */
export function getTypeParser(oid: number, format?: "text" | "binary"): (value: never) => unknown {
  if (oid === int8 || oid === numeric) return exactNumber as (value: never) => unknown;
  return pg.types.getTypeParser(oid, format as "text") as (value: never) => unknown;
}

function exactNumber(text: string): number {
  const number = Number(text);
  if (!Number.isSafeInteger(number)) throw new RangeError(`${text} is beyond what can be counted exactly`);
  return number;
}
