/**
 * Makes the tables of a new database, brings those of an older version up to date, and refuses what a newer version has written.
 *
 * One node does it, under a lock of the whole database, in one transaction: another waits, and then finds nothing to do. A new
 * database is made of the description (`tables/all.ts`) at once, as all migrations would leave it.
 */
import { randomBytes } from "node:crypto";
import { type Kysely, sql } from "kysely";
import { StorageError } from "../../../runtime/write-trouble.ts";
import { sharedMigrations } from "../migrations/all.ts";
import { refuseUnknown, type SharedMigration } from "../migrations/migration.ts";
import { schema, tablesOf } from "../tables/all.ts";
import { createTable, createView, run } from "../tables/create.ts";
import { booksFunctions } from "./books/functions/all.ts";
import { changeStatements } from "./changes.ts";

type Db = Kysely<unknown>;

/** lockKey is the key of the lock that only gateways ask for. It may be any number. */
const lockKey = 4_737_019;
/** The oldest server that is supported. */
const oldestServer = 15;
/** lockTimeoutMs is how long a change of a table waits for those who read it: whoever comes after it waits behind it. */
const lockTimeoutMs = 5000;

/**
 * migrate brings the tables of the database `name` up to date, or makes them. Throws a StorageError for a server that cannot be used, a
 * database of a newer version, and a change that nodes at work could not go on with.
 */
export async function migrate(db: Db, name: string, migrations = sharedMigrations): Promise<void> {
  await checkServer(db, name);
  await db.transaction().execute(async (trx) => {
    await sql`SELECT pg_advisory_xact_lock(${sql.lit(lockKey)})`.execute(trx);
    await sql`SELECT set_config('lock_timeout', ${`${lockTimeoutMs}`}, true)`.execute(trx);
    await run(trx, `CREATE TABLE IF NOT EXISTS migrations (name text COLLATE "C" PRIMARY KEY, at bigint NOT NULL)`);
    const done = await doneMigrations(trx);
    const unknown = done.filter((one) => !migrations.some((migration) => migration.name === one));
    refuseUnknown(unknown, name, "database");
    const missing = migrations.filter((migration) => !done.includes(migration.name));
    if (done.length === 0) await createAll(trx);
    else await update(trx, missing, name);
    for (const one of missing) {
      await sql`INSERT INTO migrations (name, at) VALUES (${one.name}, (extract(epoch FROM now()) * 1000)::bigint)`.execute(
        trx,
      );
    }
    await createFunctions(trx);
  });
}

async function checkServer(db: Db, name: string): Promise<void> {
  const { rows } = await sql<{ version: string; encoding: string; replica: boolean }>`
    SELECT current_setting('server_version_num') AS version, current_setting('server_encoding') AS encoding,
      pg_is_in_recovery() AS replica`.execute(db);
  const { version = "0", encoding = "", replica = false } = rows[0] ?? {};
  const major = Math.floor(Number(version) / 10_000);
  const cannot = (why: string) => new StorageError(`the database ${name} cannot be used: ${why}`);
  if (major < oldestServer) throw cannot(`its server is Postgres ${major}. Bring it to ${oldestServer} or newer`);
  if (encoding !== "UTF8") throw cannot(`its encoding is ${encoding}. Create one with ENCODING 'UTF8'`);
  if (replica) throw cannot("it is a replica, and cannot be written. Name the primary in DATABASE_URL");
}

async function doneMigrations(db: Db): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`SELECT name FROM migrations ORDER BY name`.execute(db);
  return rows.map(({ name }) => name);
}

async function createAll(db: Db): Promise<void> {
  for (const table of tablesOf("postgres")) await createTable(db, "postgres", table);
  for (const view of schema.views) await createView(db, "postgres", view);
  for (const statement of changeStatements) await run(db, statement);
  await createLowerCase(db);
  await sql`INSERT INTO database_identity (id) VALUES (${`dba_${randomBytes(8).toString("hex")}`})`.execute(db);
}

/** Texts are compared byte by byte, by which the server's own `lower` knows the letters of ASCII only. */
async function createLowerCase(db: Db): Promise<void> {
  const { rows } = await sql`SELECT 1 FROM pg_collation WHERE collname = 'und-x-icu'`.execute(db);
  const collation = rows.length > 0 ? "und-x-icu" : "default";
  await run(
    db,
    `CREATE FUNCTION lower_case(text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
     AS $body$ SELECT lower($1 COLLATE "${collation}") $body$`,
  );
}

async function update(db: Db, missing: readonly SharedMigration[], name: string): Promise<void> {
  const alone = missing.find(({ isAlone }) => isAlone);
  if (alone) {
    const { rows } = await sql<{ node: string }>`
      SELECT node FROM nodes WHERE alive_until > (extract(epoch FROM clock_timestamp()) * 1000)::bigint`.execute(db);
    if (rows.length > 0) {
      throw new StorageError(
        `the database ${name} has to be changed in a way that older nodes cannot go on with (${alone.name}), and ` +
          `${rows.length} of them are at work. Stop all, wait for a minute and a half, and start this version`,
      );
    }
  }
  for (const { up } of missing) await up(db, "postgres");
}

/** createFunctions creates the functions of this version beside those of others. */
async function createFunctions(db: Db): Promise<void> {
  const { rows } = await sql<{ name: string }>`
    SELECT proname AS name FROM pg_proc WHERE pronamespace = current_schema()::regnamespace`.execute(db);
  const there = new Set(rows.map((row) => row.name));
  for (const { name, sql: statement } of booksFunctions) if (!there.has(name)) await run(db, statement);
}
