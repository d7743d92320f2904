/** Commands on data that are in Postgres: those that work on SQLite's file refuse and say what to do, and all others work. */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { modelGateway, temporaryFolder } from "../support/command.ts";
import { type PostgresServer, postgresPrograms, query, startPostgres } from "../support/storage/postgres.ts";

/** Nobody listens there: a command that refuses asks nobody. */
const nowhere = "postgres://gateway:a-word-that-nobody-reads@127.0.0.1:1/gateway";

let folder: Awaited<ReturnType<typeof temporaryFolder>>;

beforeEach(async () => {
  folder = await temporaryFolder();
});

afterEach(() => folder.remove());

const run = (url: string, ...args: string[]) =>
  modelGateway(args, { DATA_DIR: join(folder.path, "data"), DATABASE_URL: url });

test.each([
  ["backup", ["backup", "file.db"], /back them up with pg_dump/],
  ["restore", ["restore", "file.db"], /copy them with pg_restore/],
  ["compact", ["compact"], /Postgres gives room back by itself/],
])("%s refuses, and says what does it", async (_, args, instead) => {
  const { code, stdout, stderr } = await run(nowhere, ...args);
  expect([code, stdout]).toEqual([2, ""]);
  expect(stderr).toContain("the data are in Postgres (DATABASE_URL or database.url): ");
  expect(stderr).toMatch(instead);
  expect(stderr).not.toContain("a-word-that-nobody-reads");
  expect(existsSync(join(folder.path, "data"))).toBe(false);
});

test("backup refuses, too, where gateway.yaml names the database", async () => {
  const file = join(folder.path, "gateway.yaml");
  writeFileSync(file, `database: { url: "${nowhere}" }\n`);
  const { code, stderr } = await modelGateway(["backup", "--config", file, "file.db"], { DATA_DIR: folder.path });
  expect([code, stderr]).toEqual([2, expect.stringMatching(/back them up with pg_dump/)]);
});

test("a database that is not there is one line, without the password", async () => {
  const { code, stderr } = await run(nowhere, "reconcile");
  expect(code).toBe(1);
  expect(stderr.trim().split("\n")).toHaveLength(1);
  expect(stderr).toMatch(/127\.0\.0\.1:1\/gateway cannot be opened: nobody listens there/);
  expect(stderr).not.toContain("a-word-that-nobody-reads");
});

describe.skipIf(!postgresPrograms)("on a server of Postgres", () => {
  let postgres: PostgresServer;

  beforeAll(async () => {
    postgres = await startPostgres();
  });

  afterAll(() => postgres.stop());

  test("accounts, keys and the proof are those of the database", async () => {
    const url = await postgres.createDatabase();
    const made = await run(url, "accounts", "create", "--name", "one", "--grant", "5");
    expect([made.code, made.stderr]).toEqual([0, expect.not.stringContaining("There was no database")]);
    expect((await run(url, "keys", "create", "--account", "one", "--name", "k")).code).toBe(0);
    const rows = await query(url, "SELECT a.balance, k.name FROM accounts a JOIN api_keys k ON k.account_id = a.id");
    expect(rows).toEqual([{ balance: 5_000_000, name: "k" }]);
    const proof = await run(url, "reconcile", "--full");
    expect([proof.code, proof.stdout]).toEqual([0, expect.stringMatching(/^The sums hold: 1 account, 1 key/)]);
    await query(url, "UPDATE accounts SET balance = balance + 1");
    const broken = await run(url, "reconcile");
    expect([broken.code, broken.stderr]).toEqual([1, expect.stringMatching(/The sums do not hold/)]);
    expect(existsSync(join(folder.path, "data", "gateway.db"))).toBe(false);
  });

  test("what a command stamps has the server's time, whatever the machine's is", async () => {
    const url = await postgres.createDatabase();
    await run(url, "accounts", "create", "--name", "one");
    const then = Date.UTC(2020, 0, 2, 3, 4, 5);
    await setClock(url, then);
    expect((await run(url, "keys", "create", "--account", "one", "--name", "k")).code).toBe(0);
    const [key] = await query(url, "SELECT id FROM api_keys");
    const id = String(key?.id);
    for (const action of ["disable", "revoke"]) expect((await run(url, "keys", action, id)).code).toBe(0);
    expect((await run(url, "users", "set-up")).code).toBe(0);
    const stamped = await query(
      url,
      `SELECT created_at AS at FROM api_keys UNION ALL SELECT revoked_at FROM api_keys
       UNION ALL SELECT created_at FROM acts WHERE subject = '${id}' UNION ALL SELECT expires_at - 86400000 FROM links`,
    );
    expect(stamped).toHaveLength(6);
    for (const { at } of stamped) expect(Math.abs(Number(at) - then)).toBeLessThan(60_000);
  });

  test("what expires does so by the server's time, whatever the machine's is", async () => {
    const url = await postgres.createDatabase();
    await run(url, "accounts", "create", "--name", "one");
    const expiring = ["--expires", "2020-01-02T12:00:00Z"];
    const makes = [
      ["codes", "create", "--amount", "1", ...expiring],
      ["keys", "create", "--account", "one", "--name", "k", ...expiring],
    ];
    await setClock(url, Date.UTC(2020, 0, 2, 3));
    for (const make of makes) expect((await run(url, ...make)).code).toBe(0);
    expect((await run(url, "codes", "list")).stdout).toMatch(/ open /);
    await setClock(url, Date.UTC(2020, 0, 2, 13));
    for (const make of makes) expect((await run(url, ...make)).stderr).toContain("expected a time in the future");
    expect((await run(url, "codes", "list")).stdout).toMatch(/ expired /);
  });
});

/** Sets the clock of the server, for those who ask this database for the time. */
async function setClock(url: string, now: number): Promise<void> {
  const body = `SELECT ${now}::bigint`;
  await query(url, `CREATE OR REPLACE FUNCTION now_ms() RETURNS bigint LANGUAGE sql VOLATILE AS $$ ${body} $$`);
}
