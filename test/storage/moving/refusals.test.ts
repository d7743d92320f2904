/** A move that cannot be made says in one line what to do, and leaves the data where they were, open as before. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import Sqlite from "better-sqlite3";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createSegments } from "../../../src/storage/journal/segments.ts";
import { type Ended, Running, starter, startServer } from "../../support/command.ts";
import { mayMount, mountDisk } from "../../support/disk.ts";
import { shareCommands } from "../../support/shared-commands.ts";
import { rowsAt, rowsInFile } from "../../support/storage/moved-rows.ts";
import { hasPooler, startPooler } from "../../support/storage/pooler.ts";
import { type PostgresServer, postgresPrograms, query, startPostgres } from "../../support/storage/postgres.ts";

/** Nobody listens there. */
const nowhere = "postgres://gateway:a-word-that-nobody-reads@127.0.0.1:1/gateway";

const { commands, folder } = shareCommands();
let env: { DATA_DIR: string };
let folders = 0;

beforeEach(async () => {
  env = { DATA_DIR: join(folder.path, `data-${++folders}`) };
  const made = await commands.run(["accounts", "create", "--name", "one", "--grant", "5"], env);
  expect(made.code).toBe(0);
});

const file = (of = env) => join(of.DATA_DIR, "gateway.db");
const migrate = (target: string, of: Record<string, string> = env, ...options: string[]) =>
  commands.run(["migrate-to", ...options, target], of);

function expectLine({ code, stdout, stderr }: Ended, words: string | RegExp, expected = 1): void {
  expect([code, stdout, stderr]).toEqual([expected, "", expect.stringMatching(words)]);
  expect(stderr).toMatch(/^model-gateway: .*\n$/);
  expect(stderr).not.toContain("a-word-that-nobody-reads");
}

/** Reports that commands work on the data as before. */
async function expectOpen(of: Record<string, string> = env): Promise<void> {
  const { code, stdout } = await commands.run(["accounts", "list"], of);
  expect([code, stdout]).toEqual([0, expect.stringContaining("5.00")]);
}

test("a target of the same engine, of another kind, or none is a mistake of the command line", async () => {
  expectLine(await migrate("other/gateway.db"), /the data are in SQLite \(DATA_DIR\), and so is TARGET/, 2);
  expectLine(await migrate("mysql://root@127.0.0.1/x"), /TARGET is neither postgres/, 2);
  expectLine(await migrate(nowhere, { ...env, DATABASE_URL: nowhere }), /leave DATABASE_URL unset/, 2);
  expectLine(await commands.run(["migrate-to"], env), /migrate-to needs TARGET/, 2);
  expectLine(await migrate(nowhere, { DATA_DIR: join(folder.path, "none") }), /there is no database/, 2);
  expectLine(await commands.run(["migrate-to", "--undo"], env), /were not moved: there is nothing to undo/);
  await expectOpen();
});

test("a server that is not there, and an address that is none", async () => {
  expectLine(await migrate(nowhere), /127\.0\.0\.1:1\/gateway cannot be opened: nobody listens there/);
  expectLine(
    await migrate("postgres://gateway@127.0.0.1"),
    /the address of the target cannot be used: it lacks a host/,
  );
  await expectOpen();
});

describe.skipIf(!postgresPrograms)("on a server of Postgres", () => {
  let postgres: PostgresServer;
  let url: string;

  beforeAll(async () => {
    postgres = await startPostgres();
  });

  afterAll(() => postgres.stop());

  beforeEach(async () => {
    url = await postgres.createDatabase();
  });

  const databaseOf = (of: string) => new URL(of).pathname.slice(1);

  test("reads the address from standard input, where no list of processes has it", async () => {
    const stdout = execFileSync(process.execPath, [starter, "migrate-to", "-"], {
      env: { ...env, METRICS_PORT: "0" },
      input: `${url}\n`,
      encoding: "utf8",
      stdio: ["pipe", "pipe", "ignore"],
    });
    expect(stdout).toMatch(/^accounts +1 +5\.00/m);
    expect(stdout).toContain("The sums hold: 1 account");
  });

  test("a gateway that works on the source", async () => {
    const { server } = await startServer([], env);
    try {
      expectLine(await migrate(url), /a gateway, or another command, works on .*gateway\.db\. Stop it first/);
    } finally {
      await server.stop();
    }
    await expectOpen();
    expect((await migrate(url)).code).toBe(0);
  });

  test("a gateway that works on the target, or on a source in Postgres, also one that was killed a moment ago", async () => {
    const node = { DATABASE_URL: url, DATA_DIR: join(folder.path, `node-${folders}`) };
    const server = new Running(process.execPath, [starter, "serve"], { PORT: "0", ...node });
    try {
      // The link for its first user is the last that it makes.
      await server.shows(/set-up#/);
      expectLine(await migrate(url), /has data already \(links\)\. Name an empty database, or remove that by --force/);
      expectLine(await migrate(url, env, "--force"), /a gateway works on the database .* Stop all of them first/);
      expect(await query(url, "SELECT count(*) FROM links")).toEqual([{ count: 1 }]);
      await expectOpen();
      expectLine(await migrate(file({ DATA_DIR: node.DATA_DIR }), node), /a gateway works on the database/);
    } finally {
      await server.stop("SIGKILL");
    }
    expectLine(await migrate(url, env, "--force"), /one that was killed counts for a minute and a half/);
    await query(url, "UPDATE nodes SET alive_until = 0");
    expect((await migrate(url, env, "--force")).code).toBe(0);
    expect(await rowsAt(url)).toEqual(rowsInFile(file()));
  });

  test("a target that has data: a file is moved aside by --force, Postgres has to be another", async () => {
    expect((await commands.run(["accounts", "create", "--name", "two"], { DATABASE_URL: url })).code).toBe(0);
    expectLine(await migrate(url), /has data already \(accounts, acts\)\. Name an empty database/);
    expectLine(await migrate(url, env, "--force"), /Name an empty database/);
    await expectOpen();
    const there = rowsInFile(file());
    expectLine(await migrate(file(), { DATABASE_URL: url }), /Name another file, or move that one aside by --force/);
    await query(url, "UPDATE accounts SET balance = balance + 1");
    const refused = await migrate(file(), { DATABASE_URL: url }, "--force");
    expectLine(refused, /the proof of .* finds something/);
    expect(rowsInFile(file())).toEqual(there);
    await query(url, "UPDATE accounts SET balance = balance - 1");
    const moved = await migrate(file(), { DATABASE_URL: url }, "--force");
    expect([moved.code, moved.stderr]).toEqual([0, expect.stringContaining("The file that was there is ")]);
    const aside = readdirSync(env.DATA_DIR).find((name) => /^gateway\.db\.before-move-.*Z$/.test(name)) ?? "";
    expect(rowsInFile(join(env.DATA_DIR, aside))).toEqual(there);
    expect((await commands.run(["accounts", "list"], env)).stdout).toMatch(/ two\n/);
    mkdirSync(join(env.DATA_DIR, "folder"));
    expectLine(
      await migrate(join(env.DATA_DIR, "folder"), { DATABASE_URL: url }),
      /is a folder\. Name a file in it/,
      2,
    );
  });

  test("a server that is too old, a user without rights, a replica's address", async () => {
    // A function of this name hides the server's own, as far as the path of the database has it first.
    await query(
      url,
      `CREATE FUNCTION public.current_setting(text) RETURNS text LANGUAGE sql AS
       $$ SELECT CASE WHEN $1 = 'server_version_num' THEN '140011' ELSE pg_catalog.current_setting($1) END $$`,
    );
    await query(url, `ALTER DATABASE ${databaseOf(url)} SET search_path = public, pg_catalog`);
    expectLine(await migrate(url), /its server is Postgres 14\. Bring it to 15 or newer/);
    const other = await postgres.createDatabase();
    await query(other, "CREATE ROLE reader LOGIN");
    expectLine(await migrate(other.replace("postgres@", "reader@")), /the user lacks a right\. GRANT CREATE/);
    expectLine(
      await migrate(url.replace(databaseOf(url), "none")),
      /there is no such database\. Create it, or correct the address/,
    );
    await query(other, `ALTER DATABASE ${databaseOf(other)} SET default_transaction_read_only = on`);
    expectLine(await migrate(other), /it is a replica, and cannot be written/);
    await expectOpen();
  });

  test("a database that a newer version has written, on either side", async () => {
    new Sqlite(file()).exec("INSERT INTO kysely_migration VALUES ('9999-later', '')").close();
    expectLine(await migrate(url), /was written by a newer model-gateway \(it has 9999-later\)/);
    await query(url, "INSERT INTO migrations VALUES ('9999-later', 1)");
    expectLine(await migrate(url), /was written by a newer model-gateway/);
  });

  test("a source whose proof finds something, unless it is asked for", async () => {
    new Sqlite(file()).exec("UPDATE accounts SET balance = balance + 1").close();
    expectLine(await migrate(url), /the proof of .* finds something: balance of acc_.* --accept-findings/);
    await expectOpenOf(6);
    const accepted = await migrate(url, env, "--accept-findings");
    expect([accepted.code, accepted.stderr]).toEqual([
      0,
      expect.stringContaining("The proof finds what it found before: 1."),
    ]);
    expect(await rowsAt(url)).toEqual(rowsInFile(file()));
  });

  async function expectOpenOf(millionths: number): Promise<void> {
    const { stdout } = await commands.run(["accounts", "list"], env);
    expect(stdout).toContain(millionths === 6 ? "5.000001" : "5.00");
  }

  test("a text that Postgres does not keep", async () => {
    new Sqlite(file()).exec("UPDATE accounts SET name = 'a' || char(0) || 'b'").close();
    expectLine(await migrate(url), /name of acc_\w+ in accounts has the character NUL, which Postgres does not keep/);
    // The data are shut by then: they are opened again, mended, and moved, without what has come already.
    expectLine(await commands.run(["accounts", "list"], env), /are being moved to .* or with --undo to stay here/);
    expect((await commands.run(["migrate-to", "--undo"], env)).code).toBe(0);
    new Sqlite(file()).exec("UPDATE accounts SET name = 'b'").close();
    expectLine(await migrate(url), /a part of the data of a move that was not ended\. .* remove that by --force/);
    expect((await migrate(url, env, "--force")).code).toBe(0);
    expect(await rowsAt(url)).toEqual(rowsInFile(file()));
  });

  test("rows that differ where they came to: nobody can use that, until it is undone", async () => {
    new Sqlite(file()).exec("UPDATE accounts SET name = 'a' || char(0) || 'b'").close();
    expectLine(await migrate(url), /has the character NUL/);
    new Sqlite(file()).exec("UPDATE accounts SET name = 'one'").close();
    // As if a row that has come were changed by a hand that knows the fence.
    await query(
      url,
      `BEGIN; SELECT set_config('model_gateway.move', (SELECT id FROM moves), true);
       INSERT INTO prices VALUES ('prc_1', '{}', 1); COMMIT`,
    );
    expectLine(
      await migrate(url),
      /are not those that left: prices has 0 rows, and 1 came\. It stays shut; use --undo/,
    );
    expectLine(await commands.run(["accounts", "list"], { DATABASE_URL: url }), /has only a part of the data of/);
    expect((await commands.run(["migrate-to", "--undo"], env)).code).toBe(0);
    await expectOpen();
  });

  test("is undone as long as nothing was written where the data came to", async () => {
    expect((await migrate(url)).code).toBe(0);
    expectLine(await commands.run(["migrate-to", "--undo"], env), /has ended\. Name that database, .* --force/);
    expectLine(await migrate(await postgres.createDatabase(), env, "--undo"), /and not to .*\. Name that/);
    const { code, stderr } = await migrate(url, env, "--undo");
    expect([code, stderr]).toEqual([0, expect.stringMatching(/gateway\.db can be used again/)]);
    await expectOpen();
    expectLine(await commands.run(["accounts", "list"], { DATABASE_URL: url }), /has only a part/);
    const second = await postgres.createDatabase();
    expect((await migrate(second)).code).toBe(0);
    await query(second, "UPDATE accounts SET name = 'longer'");
    expectLine(
      await migrate(second, env, "--undo"),
      /was written since \(the sum of accounts\.name is 3, and 6 came back\)/,
    );
    expectLine(await commands.run(["accounts", "list"], env), /were moved to/);
    // It was shut while both were compared, and is open again.
    await expectOpen({ DATABASE_URL: second });
    await query(second, "UPDATE accounts SET name = 'longest'");
    expect((await commands.run(["migrate-to", "--undo", "--force"], env)).code).toBe(0);
    await expectOpen();
  });

  test("is ended between shutting the one for good and opening the other: the same command opens it", async () => {
    expect((await migrate(url)).code).toBe(0);
    await query(url, "UPDATE moves SET state = 'arriving'");
    expectLine(await commands.run(["accounts", "list"], { DATABASE_URL: url }), /has only a part/);
    expectLine(await commands.run(["accounts", "list"], env), /were moved to/);
    expect((await migrate(url)).code).toBe(0);
    await expectOpen({ DATABASE_URL: url });
    expect(await rowsAt(url)).toEqual(rowsInFile(file()));
  });

  test("is not ended by a back-up of what was left: it is restored as it was, and says so", async () => {
    expect((await migrate(url)).code).toBe(0);
    const backup = join(folder.path, `backup-${folders}`);
    expect((await commands.run(["backup", backup], env)).code).toBe(0);
    const restored = { DATA_DIR: join(folder.path, `restored-${folders}`) };
    const { code, stderr } = await commands.run(["restore", backup], restored);
    expect([code, stderr]).toEqual([
      0,
      expect.stringMatching(/The data had moved to 127\.0\.0\.1:\d+\/test_\d+ by then/),
    ]);
    await expectOpen(restored);
  });

  test.skipIf(!mayMount())("a disk that is full: it goes on once there is room", async () => {
    expect((await migrate(url)).code).toBe(0);
    await query(
      url,
      `INSERT INTO responses (id, account_id, created_at, expires_at, response)
       SELECT 'resp_' || n, a.id, 1, 1, repeat('x', 100000) FROM accounts a, generate_series(1, 60) n`,
    );
    const disk = join(folder.path, `disk-${folders}`);
    const unmount = mountDisk(disk, "3m");
    try {
      const target = join(disk, "gateway.db");
      expectLine(await migrate(target, { DATABASE_URL: url }), /gateway\.db: the disk is full\. Make room on it/);
      expectLine(await commands.run(["accounts", "list"], { DATA_DIR: disk }), /has only a part of the data of/);
      execFileSync("mount", ["-o", "remount,size=60m", disk]);
      expect((await migrate(target, { DATABASE_URL: url })).code).toBe(0);
      expect(rowsInFile(target)).toEqual(await rowsAt(url));
    } finally {
      unmount();
    }
  });

  test.skipIf(!hasPooler)("goes through a pooler in transaction mode, too", async () => {
    const pooler = await startPooler(postgres.port);
    const through = url.replace(`:${postgres.port}/`, `:${pooler.port}/`);
    expect((await migrate(through)).code).toBe(0);
    expect(await rowsAt(url)).toEqual(rowsInFile(file()));
    expect((await migrate(join(env.DATA_DIR, "back.db"), { DATABASE_URL: through })).code).toBe(0);
    expect(rowsInFile(join(env.DATA_DIR, "back.db"))).toEqual(rowsInFile(file()));
    await pooler.stop();
  });

  test("what a node has kept on this machine while Postgres was away", async () => {
    expect((await migrate(url)).code).toBe(0);
    const node = { DATABASE_URL: url, DATA_DIR: join(folder.path, `kept-${folders}`) };
    const kept = join(node.DATA_DIR, "postgres.notes");
    mkdirSync(kept, { recursive: true });
    createSegments(kept, false).open("nod_other", "dba_of_another_database", Date.now());
    const target = join(node.DATA_DIR, "gateway.db");
    const refused = await migrate(target, node);
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringMatching(/postgres\.notes keeps what calls cost while the database was away/),
    ]);
    await expectOpen({ DATABASE_URL: url });
  });

  test("leaves no file, and no folder, where there was none", async () => {
    const target = join(folder.path, `new-${folders}`, "below", "gateway.db");
    const of = { DATABASE_URL: url };
    expectLine(await commands.run(["migrate-to", "--undo", target], of), /were not moved: there is nothing to undo/);
    expectLine(await migrate(target, { DATABASE_URL: nowhere }), /cannot be opened: nobody listens there/);
    expect((await migrate(url)).code).toBe(0);
    await query(url, "UPDATE accounts SET balance = balance + 1");
    expectLine(await migrate(target, of), /the proof of .* finds something/);
    expect(existsSync(join(folder.path, `new-${folders}`))).toBe(false);
    await query(url, "UPDATE accounts SET balance = balance - 1");
    expect((await migrate(target, of)).code).toBe(0);
    expect(rowsInFile(target)).toEqual(rowsInFile(file()));
  });
});
