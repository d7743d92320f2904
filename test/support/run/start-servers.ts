/**
 * Starts, once for a run of the tests, the servers that it is about, and ends them after it.
 *
 * `TEST_DATABASE=postgres` has all that opens a database as gateways do open one in Postgres: in a server that is started here, or in
 * the one of a URL, whose user may create databases. `TEST_LIMITS=redis` and `=valkey` have test gateways share their rates over one of
 * these. Without them it is SQLite and memory.
 */
import { openStorageOnPostgres } from "../../../src/storage/storage-on-postgres.ts";
import { temporaryFolder } from "../command.ts";
import { hasRedis, type RedisKind, redisKinds, startRedis } from "../redis/server.ts";
import { postgresPrograms, query, startPostgres } from "../storage/postgres.ts";
import { copyPrefix, template } from "../storage/test-database.ts";

/** No machine is to be survived, and databases come and go by the hundred. */
const settings = [
  "max_connections = 300",
  "synchronous_commit = off",
  "full_page_writes = off",
  "autovacuum = off",
  "wal_level = minimal",
  "max_wal_senders = 0",
  "max_wal_size = '4GB'",
];

/** startServers is run by each of the projects of vitest.config.ts: they share what the first has started. */
export default async function startServers(): Promise<() => Promise<void>> {
  if (process.env.TEST_SERVERS !== undefined) return nothing;
  process.env.TEST_SERVERS = "started";
  const { TEST_DATABASE: database = "sqlite", TEST_LIMITS: limits = "memory" } = process.env;
  const endings = [await startDatabase(database), await startLimits(limits)];
  return async () => {
    for (const end of endings) await end();
  };
}

const nothing = async () => {};

async function startDatabase(given: string): Promise<() => Promise<void>> {
  if (given === "sqlite") return nothing;
  const isUrl = /^postgres(ql)?:/.test(given);
  if (!isUrl && given !== "postgres") {
    throw new Error(`TEST_DATABASE is "${given}". It may be sqlite, postgres, or a URL of Postgres.`);
  }
  if (!isUrl && !postgresPrograms)
    throw new Error("TEST_DATABASE is postgres: install it, or give the URL of a server.");
  const server = isUrl ? undefined : await startPostgres(settings);
  const url = server ? `postgres://postgres@127.0.0.1:${server.port}/postgres` : given;
  await dropAll(url);
  await makeTemplate(url);
  process.env.TEST_POSTGRES_URL = url;
  return () => (server ? server.stop() : dropAll(url));
}

async function makeTemplate(url: string): Promise<void> {
  await query(url, `CREATE DATABASE ${template} ENCODING 'UTF8' LOCALE 'C' TEMPLATE template0`);
  const folder = await temporaryFolder();
  const at = Object.assign(new URL(url), { pathname: `/${template}` }).href;
  const storage = await openStorageOnPostgres({
    ...{ url: at, dataDir: folder.path, poolSize: 1, version: "test", isSynced: false, onError: () => {} },
  });
  await storage.close();
  await folder.remove();
}

/** Drops what this run, or one before it that was broken off, has left in a server that stays. */
async function dropAll(url: string): Promise<void> {
  const left = await query(url, "SELECT datname FROM pg_database WHERE datname = $1 OR starts_with(datname, $2)", [
    template,
    copyPrefix,
  ]);
  for (const { datname } of left) await query(url, `DROP DATABASE IF EXISTS ${datname} WITH (FORCE)`);
}

async function startLimits(given: string): Promise<() => Promise<void>> {
  if (given === "memory") return nothing;
  const kind = redisKinds.find((one) => one === given) as RedisKind | undefined;
  if (!kind) throw new Error(`TEST_LIMITS is "${given}". It may be memory, ${redisKinds.join(" or ")}.`);
  if (!hasRedis[kind]) throw new Error(`TEST_LIMITS is ${kind}: install ${kind}-server.`);
  const server = await startRedis(kind);
  process.env.TEST_REDIS_URL = server.url;
  return server.kill;
}
