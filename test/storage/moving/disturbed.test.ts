/**
 * A move beside which somebody else works: two commands at once on one database, an undo amid it, a server that freezes, loses its disk or
 * takes a right away. One move at most ends, each command says in one line what is wrong, and what was shut opens again.
 */
import { execFileSync } from "node:child_process";
import { chmodSync, chownSync, mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import Sqlite from "better-sqlite3";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { watchServer } from "../../../src/storage/engines/postgres/moving/watch.ts";
import { type Ended, modelGateway, Running, starter, temporaryFolder } from "../../support/command.ts";
import { mayMount, mountDisk } from "../../support/disk.ts";
import { eventually } from "../../support/eventually.ts";
import { rowsAt, rowsInFile } from "../../support/storage/moved-rows.ts";
import {
  type PostgresServer,
  postgresPrograms,
  query,
  serverAt,
  startPostgres,
} from "../../support/storage/postgres.ts";
import { startProxy } from "../../support/upstreams/tcp-proxy.ts";

describe.skipIf(!postgresPrograms)("a move", () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>;
  let postgres: PostgresServer;
  let url: string;
  let made = 0;

  beforeAll(async () => {
    folder = await temporaryFolder();
    postgres = await startPostgres();
  });

  afterAll(async () => {
    await postgres.stop();
    await folder.remove();
  });

  beforeEach(async () => {
    url = await postgres.copyDatabase();
  });

  const fileOf = (env: { DATA_DIR: string }) => join(env.DATA_DIR, "gateway.db");

  /** Makes a folder with one account of that name. */
  async function dataOf(name: string): Promise<{ DATA_DIR: string }> {
    const env = { DATA_DIR: join(folder.path, `data-${++made}`) };
    const { code } = await modelGateway(["accounts", "create", "--name", name, "--grant", "5"], env);
    expect(code).toBe(0);
    return env;
  }

  const start = (target: string, env: Record<string, string>) =>
    new Running(process.execPath, [starter, "migrate-to", target], env);

  function expectLine({ code, stderr, stdout }: Ended, words: RegExp): void {
    expect([code, stdout, stderr]).toEqual([1, "", expect.stringMatching(words)]);
    expect(stderr).toMatch(/^model-gateway: .*\n$/);
  }

  /** Starts commands while somebody writes accounts, and lets that end once all of them wait. */
  async function behindWriter(begin: () => readonly Running[]): Promise<readonly Ended[]> {
    const server = serverAt(url);
    const writer = await server.connect();
    try {
      await writer.query("BEGIN");
      await writer.query("LOCK TABLE accounts IN ROW EXCLUSIVE MODE");
      const begun = begin();
      const waiting = `SELECT count(DISTINCT pid)::int AS n FROM pg_locks
        WHERE NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;
      await eventually(async () => expect((await writer.query(waiting))[0]?.n).toBe(begun.length));
      await writer.query("COMMIT");
      return await Promise.all(begun.map((one) => one.ended));
    } finally {
      writer.close();
      await server.pool.end();
    }
  }

  test("of two sources into one database at once: one comes, and the other's data are as they were", async () => {
    const [one, two] = [await dataOf("one"), await dataOf("two")];
    const ended = await behindWriter(() => [start(url, one), start(url, two)]);
    const first = ended.findIndex(({ code }) => code === 0);
    const [came, stayed] = first === 0 ? [one, two] : [two, one];
    expectLine(
      ended[1 - first] as Ended,
      /another command has come first: the database .* has only a part of the data/,
    );
    expect(await rowsAt(url)).toEqual(rowsInFile(fileOf(came)));
    expect((await modelGateway(["accounts", "list"], stayed)).stdout).toContain("5.00");
  });

  test("of one database into two files at once: one comes, and nobody can use the other", async () => {
    const source = { DATABASE_URL: url, DATA_DIR: join(folder.path, "none") };
    expect((await modelGateway(["accounts", "create", "--name", "one", "--grant", "5"], source)).code).toBe(0);
    const files = [1, 2].map((n) => join(folder.path, `target-${n}`));
    for (const file of files) mkdirSync(file);
    const ended = await behindWriter(() => files.map((file) => start(join(file, "gateway.db"), source)));
    const first = ended.findIndex(({ code }) => code === 0);
    expectLine(ended[1 - first] as Ended, /another command has come first: the data of .* are being moved to/);
    expect((await modelGateway(["accounts", "list"], { DATA_DIR: files[first] as string })).stdout).toContain("5.00");
    expect((await modelGateway(["accounts", "list"], source)).stderr).toContain("were moved to");
  });

  /** Has the target change rows that come, as a fault of a disk would. */
  const changing = (table: string, change: string, when = "true") =>
    query(
      url,
      `CREATE FUNCTION changing() RETURNS trigger LANGUAGE plpgsql AS $body$BEGIN ${change}; RETURN NEW; END$body$;
       CREATE TRIGGER changing BEFORE INSERT ON ${table} FOR EACH ROW WHEN (${when}) EXECUTE FUNCTION changing()`,
    );

  test.each([
    ["a letter is another one", "accounts", "NEW.name := reverse(NEW.name)", "NEW.name = 'first'"],
    ["two rows have each other's name", "accounts", "NEW.name := translate(NEW.name, '12', '21')", "true"],
    [
      "a secret's hash has other digits",
      "api_keys",
      "NEW.secret_hash := translate(NEW.secret_hash, 'ab', 'ba')",
      "true",
    ],
  ])("of which %s on the way does not come, however alike its sums are", async (_, table, change, when) => {
    const env = await dataOf("first");
    for (const name of ["row 1", "row 2"])
      expect((await modelGateway(["accounts", "create", "--name", name], env)).code).toBe(0);
    expect((await modelGateway(["keys", "create", "--account", "first", "--name", "k"], env)).code).toBe(0);
    await changing(table, change, when);
    const words = new RegExp(`not those that left: ${table} has values for which others of the same length came`);
    expectLine(await modelGateway(["migrate-to", url], env), words);
    expect((await modelGateway(["accounts", "list"], { DATABASE_URL: url, DATA_DIR: folder.path })).code).toBe(1);
    expect((await modelGateway(["migrate-to", url, "--undo"], env)).code).toBe(0);
    expect((await modelGateway(["accounts", "list"], env)).stdout).toContain("5.00");
  });

  test("whose rows somebody has changed since is not undone, where all lengths are as before", async () => {
    const env = await dataOf("first");
    expect((await modelGateway(["migrate-to", url], env)).code).toBe(0);
    await query(url, "UPDATE accounts SET name = 'tsrif'");
    expectLine(
      await modelGateway(["migrate-to", url, "--undo"], env),
      /was written since \(accounts has values for which/,
    );
    expect((await modelGateway(["accounts", "list"], { DATABASE_URL: url, DATA_DIR: folder.path })).stdout).toContain(
      "tsrif",
    );
  });

  /** Adds so many rows that a move of them takes some parts. */
  const fill = (rows: number, at = url) =>
    query(
      at,
      `INSERT INTO responses (id, account_id, created_at, expires_at, response)
       SELECT 'resp_' || n, a.id, 1, 1, repeat('x', 20000) FROM accounts a, generate_series(1, ${rows}) n`,
    );

  test("that is undone amid its work by another command ends in one line, and its target stays shut", async () => {
    const source = { DATABASE_URL: url, DATA_DIR: join(folder.path, "none") };
    expect((await modelGateway(["accounts", "create", "--name", "one", "--grant", "5"], source)).code).toBe(0);
    await fill(4000);
    const env = { DATA_DIR: join(folder.path, `undone-${++made}`) };
    mkdirSync(env.DATA_DIR);
    const moving = start(fileOf(env), source);
    const reads = `SELECT 1 FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND query LIKE '%FROM "responses" WHERE%'`;
    await eventually(async () => expect(await query(url, reads)).not.toEqual([]));
    moving.child.kill("SIGSTOP");
    const undone = await modelGateway(["migrate-to", "--undo"], source);
    expect([undone.code, undone.stderr]).toEqual([0, expect.stringContaining("can be used again")]);
    expect((await modelGateway(["accounts", "create", "--name", "late"], source)).code).toBe(0);
    moving.child.kill("SIGCONT");
    expectLine(await moving.ended, /opened again by another command|are not those that left|came/);
    expect((await modelGateway(["accounts", "list"], env)).stderr).toContain("has only a part of the data of");
    expect((await modelGateway(["accounts", "list"], source)).stdout).toContain("late");
  });

  test("whose server goes silent ends on a signal, and goes on afterwards", async () => {
    const env = await dataOf("one");
    const proxy = await startProxy({ serverPort: postgres.port, isPostgres: true });
    const through = url.replace(`:${postgres.port}/`, `:${proxy.port}/`);
    try {
      const server = serverAt(url);
      const other = await server.connect();
      await other.query("BEGIN");
      await other.query("LOCK TABLE accounts IN ROW EXCLUSIVE MODE");
      const moving = start(through, env);
      const waits = "SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'accounts'::regclass";
      await eventually(async () => expect(await other.query(waits)).toHaveLength(1));
      proxy.set("silent");
      moving.child.kill("SIGTERM");
      expectLine(await moving.ended, /it was stopped by SIGTERM, and the data stay shut where they are/);
      other.close();
      await server.pool.end();
      proxy.cut();
      proxy.set("forward");
      expect((await start(through, env).ended).code).toBe(0);
      expect(await rowsAt(url)).toEqual(rowsInFile(fileOf(env)));
    } finally {
      await proxy.close();
    }
  });

  test("whose server goes silent ends by itself, too", async () => {
    const proxy = await startProxy({ serverPort: postgres.port });
    const server = serverAt(url.replace(`:${postgres.port}/`, `:${proxy.port}/`));
    const silent = Promise.withResolvers<unknown>();
    const end = watchServer(server, silent.resolve, { everyMs: 10, maxSilentMs: 300 });
    try {
      const asked = await server.connect();
      await asked.query("SELECT 1");
      proxy.set("silent");
      expect(await silent.promise).toMatchObject({ name: "AwayError" });
      asked.close();
    } finally {
      end();
      await proxy.close();
      await server.pool.end();
    }
  });

  test.skipIf(!mayMount())(
    "whose tablespace is full, or no longer its user's: it goes on when that is mended",
    async () => {
      const env = await dataOf("one");
      const sqlite = new Sqlite(fileOf(env));
      sqlite.exec(`INSERT INTO responses (id, account_id, created_at, expires_at, response)
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
      SELECT 'resp_' || i, a.id, 1, 1, hex(randomblob(4000)) FROM n, accounts a`);
      sqlite.close();
      const disk = join(folder.path, `disk-${made}`);
      const unmount = mountDisk(disk, "8m");
      try {
        chownSync(disk, statSync(postgres.data).uid, statSync(postgres.data).gid);
        chmodSync(folder.path, 0o755);
        await query(url, `CREATE TABLESPACE small LOCATION '${disk}'`);
        await query(url, "ALTER TABLE responses SET TABLESPACE small");
        await query(url, "CREATE ROLE mover LOGIN; GRANT mover TO postgres");
        await query(url, `REASSIGN OWNED BY mover TO postgres`);
        expectLine(await start(url, env).ended, /the database .*: its disk is full\. Make room on it/);
        expect((await modelGateway(["accounts", "list"], env)).stderr).toContain("are being moved to");
        execFileSync("mount", ["-o", "remount,size=200m", disk]);
        const reader = url.replace("postgres@", "mover@");
        expectLine(await start(reader, env).ended, /the user lacks a right/);
        expect((await start(url, env).ended).code).toBe(0);
        expect(await rowsAt(url)).toEqual(rowsInFile(fileOf(env)));
        await query(url, "ALTER TABLE responses SET TABLESPACE pg_default");
        await query(url, "DROP TABLESPACE small");
      } finally {
        unmount();
      }
    },
  );
});
