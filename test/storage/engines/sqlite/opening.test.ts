/** Opening a file of SQLite: a new one, one of an older version or of a newer, and what is none. */
import { mkdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import Sqlite from "better-sqlite3";
import { Kysely, SqliteDialect } from "kysely";
import { Migrator } from "kysely/migration";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { newId } from "../../../../src/runtime/ids.ts";
import { StorageError } from "../../../../src/runtime/write-trouble.ts";
import { migrations } from "../../../../src/storage/engines/sqlite/migrations.ts";
import { openStorage, type Storage } from "../../../../src/storage/storage.ts";
import { Running, root, temporaryFolder } from "../../../support/command.ts";

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let count = 0;

beforeAll(async () => {
  folder = await temporaryFolder();
});

afterAll(() => folder.remove());

function freshPath(): string {
  return join(folder.path, String(++count), "gateway.db");
}

const account = { id: "acc_1", name: "one", created_at: 1 };
const nothing = {
  balance: 0,
  held: 0,
  recharged: 0,
  postpaid: 0,
  was_postpaid: 0,
  suspended_at: null,
  budgets: null,
  time_zone: null,
};

async function withStorage(path: string, work: (storage: Storage) => Promise<void>): Promise<void> {
  const storage = await openStorage(path);
  try {
    await work(storage);
  } finally {
    await storage.close();
  }
}

function withSqlite<T>(path: string, work: (sqlite: Sqlite.Database) => T): T {
  const sqlite = new Sqlite(path);
  try {
    return work(sqlite);
  } finally {
    sqlite.close();
  }
}

/** Makes a file as an older version of the gateway would have. */
async function migrateTo(path: string, name: string): Promise<void> {
  const db = new Kysely<unknown>({ dialect: new SqliteDialect({ database: new Sqlite(path) }) });
  const { error } = await new Migrator({ db, provider: migrations }).migrateTo(name);
  if (error) throw error;
  await db.destroy();
}

/** Everything that the file says of its own shape, and of how it came to it. */
function shapeOf(path: string): unknown {
  return withSqlite(path, (sqlite) => ({
    schema: sqlite.prepare("SELECT type, name, sql FROM sqlite_master ORDER BY name").all(),
    migrations: sqlite.prepare("SELECT * FROM kysely_migration").all(),
  }));
}

/** A process that says "ready", waits for a line, and then does the work with `openStorage` and `path` at hand. */
function worker(path: string, work: string): Running {
  const code = `
    const { openStorage } = await import(process.env.STORAGE);
    const path = process.env.FILE;
    console.log("ready");
    await new Promise((resolve) => process.stdin.once("data", resolve));
    process.stdin.destroy();
    ${work}`;
  const env = { STORAGE: join(root, "src/storage/storage.ts"), FILE: path };
  return new Running(process.execPath, ["--input-type=module", "--eval", code], env, {
    stdio: ["pipe", "pipe", "pipe"],
  });
}

describe("opening", () => {
  test("makes a file that is not there, its folders and its tables", async () => {
    const path = freshPath();
    await withStorage(path, async ({ accounts, users, keys }) => {
      expect(await accounts.list()).toEqual([]);
      expect(await users.findByEmail("a@example.com")).toBeUndefined();
      expect(await keys.list()).toEqual([]);
    });
  });

  test("makes the tables in an empty file", async () => {
    const path = freshPath();
    await mkdir(join(path, ".."));
    await writeFile(path, "");
    await withStorage(path, async ({ accounts }) => expect(await accounts.list()).toEqual([]));
  });

  test("a second time changes nothing", async () => {
    const path = freshPath();
    await withStorage(path, async ({ accounts }) => void accounts.insert(account));
    const before = shapeOf(path);
    await withStorage(path, async ({ accounts }) =>
      expect(await accounts.list()).toEqual([{ ...account, ...nothing }]),
    );
    expect(shapeOf(path)).toEqual(before);
  });

  test("keeps file and folder to their owner, and so with what SQLite lays beside", async () => {
    const path = freshPath();
    await withStorage(path, async ({ accounts }) => {
      await accounts.insert(account);
      const mode = async (file: string) => (await stat(file)).mode & 0o777;
      expect(await mode(join(path, ".."))).toBe(0o700);
      for (const file of [path, `${path}-wal`, `${path}-shm`]) expect(await mode(file), file).toBe(0o600);
    });
  });

  test("turns on the write-ahead log", async () => {
    const path = freshPath();
    await withStorage(path, async () => {});
    expect(withSqlite(path, (sqlite) => sqlite.pragma("journal_mode", { simple: true }))).toBe("wal");
  });

  test("leaves nothing half done when a migration fails", async () => {
    const path = freshPath();
    await mkdir(join(path, ".."));
    withSqlite(path, (sqlite) => sqlite.exec("CREATE TABLE users (something TEXT)"));
    await expect(openStorage(path)).rejects.toThrow(/cannot be opened: .*users.* already exists/);
    const tables = withSqlite(path, (sqlite) => sqlite.prepare("SELECT name FROM sqlite_master").pluck().all());
    expect(tables).toEqual(["users"]);
  });

  test("takes the charges of calls that are kept out of the ledger of an older version", async () => {
    const path = freshPath();
    const [forgotten, kept, lost] = [1, 2, 3].map((hours) => newId("req", hours * 3_600_000));
    await mkdir(join(path, ".."));
    await migrateTo(path, "0008-journal");
    const call = "(id, account_id, key_id, operation, model, upstream, outcome, cost, created_at, duration_ms)";
    const entry = "(id, account_id, kind, amount, request_id, key_id, created_at)";
    withSqlite(path, (sqlite) =>
      sqlite.exec(`INSERT INTO accounts (id, name, created_at, balance, recharged) VALUES ('acc_1', 'one', 1, 60, 100);
        INSERT INTO api_keys (id, account_id, name, secret_hash, secret_mask, created_at, spent)
          VALUES ('key_1', 'acc_1', 'k', 'h', 'm', 1, 40);
        INSERT INTO requests ${call} VALUES ('${kept}', 'acc_1', 'key_1', 'chat', 'm', 'u', 1, 30, 7200000, 5),
          ('${lost}', 'acc_1', 'key_1', 'chat', 'n', 'u', 5, 0, 10800000, 5);
        INSERT INTO ledger_entries ${entry} VALUES ('led_a', 'acc_1', 1, 100, NULL, NULL, 1),
          ('led_b', 'acc_1', 4, -10, '${forgotten}', 'key_1', 2), ('led_c', 'acc_1', 4, -30, '${kept}', 'key_1', 7200005);
        INSERT INTO usage_hours (account_id, hour, key_id, model, requests, cost)
          VALUES ('acc_1', 0, 'key_1', 'm', 1, 10), ('acc_1', 7200000, 'key_1', 'm', 1, 30);
        INSERT INTO kept_from VALUES ('requests', 3600000, '${kept}');`),
    );
    await withStorage(path, async ({ entries, requests, reconcile }) => {
      const listed = await entries.page("acc_1", { kinds: [], limit: 10 });
      expect(listed.map(({ id, amount, created_at }) => [id, amount, created_at])).toEqual([
        ["led_b", -10, 2],
        ["led_a", 100, 1],
        [kept?.replace("req", "led"), -30, 7200005],
      ]);
      expect(await requests.page({ accountId: "acc_1", model: "n" }, undefined, 5)).toMatchObject([{ id: lost }]);
      expect(await reconcile()).toMatchObject({ entries: 3, findings: [] });
    });
    expect(
      withSqlite(path, (sqlite) => sqlite.prepare("SELECT id FROM ledger_entries ORDER BY id").pluck().all()),
    ).toEqual(["led_a", "led_b"]);
  });

  test("refuses a file that a newer version has written, and leaves it as it is", async () => {
    const path = freshPath();
    await withStorage(path, async () => {});
    withSqlite(path, (sqlite) =>
      sqlite.exec("INSERT INTO kysely_migration VALUES ('9999-from-the-future', '2030-01-01T00:00:00.000Z')"),
    );
    const before = shapeOf(path);
    const opening = openStorage(path);
    await expect(opening).rejects.toThrow(StorageError);
    await expect(opening).rejects.toThrow(
      `the database ${path} was written by a newer model-gateway (it has 9999-from-the-future); use that version, or another data folder`,
    );
    expect(shapeOf(path)).toEqual(before);
  });

  test("refuses what is no database", async () => {
    const path = freshPath();
    await mkdir(join(path, ".."));
    await writeFile(path, "no database ".repeat(1000));
    await expect(openStorage(path)).rejects.toThrow(`the database ${path} cannot be opened: file is not a database`);
    await expect(openStorage(join(path, "within", "gateway.db"))).rejects.toThrow(StorageError);
  });

  test("may be done by several processes at the same moment", async () => {
    const open = "const storage = await openStorage(path); await storage.accounts.list(); await storage.close();";
    for (let round = 0; round < 3; round++) {
      const path = freshPath();
      const workers = Array.from({ length: 5 }, () => worker(path, open));
      await Promise.all(workers.map((one) => one.shows(/ready/)));
      for (const { child } of workers) child.stdin?.write("go\n");
      for (const { code, stderr } of await Promise.all(workers.map(({ ended }) => ended))) {
        expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      }
    }
  });
});
