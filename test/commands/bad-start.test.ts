/**
 * A start that cannot succeed says in one line what to do, ends with a code that is not 0, and changes nothing: real processes, a disk that
 * is really full or read-only, a user that really has no right.
 */
import { execFileSync } from "node:child_process";
import { chmodSync, renameSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Sqlite from "better-sqlite3";
import { beforeEach, describe, expect, test } from "vitest";
import { openStorage, type Storage } from "../../src/storage/storage.ts";
import { modelGateway, startServer } from "../support/command.ts";
import { contentsOf } from "../support/contents.ts";
import { mayMount, mountDisk } from "../support/disk.ts";
import { shareCommands } from "../support/shared-commands.ts";

const { commands, folder } = shareCommands();

/** Makes a data folder with an account, as a gateway that has stopped leaves it. */
async function dataIn(path: string): Promise<{ DATA_DIR: string }> {
  const env = { DATA_DIR: join(path, "data") };
  expect(await commands.run(["accounts", "create", "--name", "a"], env)).toMatchObject({ code: 0 });
  return env;
}

/** isLasting tells what goes on where it is not refused, and so is a process of its own: it has to end. */
const isLasting = ([command]: readonly string[]) => command === "serve" || command === "demo";

/** Apart is a command in a process of its own: as another user, or so that none of its files stays open. */
interface Apart {
  readonly uid?: number;
}

/** refusal runs a command that cannot succeed, and returns its line. */
async function refusal(args: readonly string[], env: Record<string, string>, apart?: Apart) {
  const variables = { PORT: "0", METRICS_PORT: "off", ...env };
  const { code, stdout, stderr } = await (apart !== undefined || isLasting(args)
    ? modelGateway(args, variables, apart)
    : commands.run(args, variables));
  expect(stderr).toMatch(/^model-gateway: .*\n$/);
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  return stderr;
}

const starts = [["serve"], ["demo"], ["accounts", "list"]] as const;

test("a data folder of a newer version", async () => {
  const env = await dataIn(join(folder.path, "newer"));
  new Sqlite(join(env.DATA_DIR, "gateway.db")).exec("INSERT INTO kysely_migration VALUES ('9999-later', '')").close();
  const before = contentsOf(env.DATA_DIR);
  for (const args of [...starts, ["backup", join(folder.path, "of-newer")]]) {
    expect(await refusal(args, env)).toMatch(
      /was written by a newer model-gateway \(it has 9999-later\); use that version/,
    );
  }
  expect(contentsOf(env.DATA_DIR)).toEqual(before);
});

test("a data folder in which a restore was killed between moving the old database aside and naming the new one", async () => {
  const env = await dataIn(join(folder.path, "amid-restore"));
  const name = "gateway.db.replaced-2026-11-26T05-00-00Z";
  renameSync(join(env.DATA_DIR, "gateway.db"), join(env.DATA_DIR, name));
  const before = contentsOf(env.DATA_DIR);
  for (const args of [["serve"], ["demo"], ["accounts", "create", "--name", "new"]]) {
    expect(await refusal(args, env)).toContain("what `restore` moved aside: it was ended amid its work");
  }
  expect(contentsOf(env.DATA_DIR)).toEqual(before);
  writeFileSync(join(env.DATA_DIR, `${name}.moving`), "");
  renameSync(join(env.DATA_DIR, name), join(env.DATA_DIR, "gateway.db"));
  expect((await modelGateway(["accounts", "list"], env)).code).toBe(0);
  // The list of a move that was taken back keeps nobody from beginning anew.
  rmSync(join(env.DATA_DIR, "gateway.db"));
  expect((await modelGateway(["accounts", "create", "--name", "new"], env)).code).toBe(0);
});

test("a port that another gateway serves at, which is found before the data folder is touched", async () => {
  const env = await dataIn(join(folder.path, "served"));
  const { server, rootUrl } = await startServer([], env);
  try {
    const { port } = new URL(rootUrl);
    const DATA_DIR = join(folder.path, "not-made");
    for (const command of ["serve", "demo"]) {
      const words = `cannot listen on 127.0.0.1, port ${port}: the port is taken. Stop what uses it, or set PORT`;
      expect(await refusal([command], { DATA_DIR, PORT: port })).toContain(words);
      const ofMetrics = await refusal([command], { DATA_DIR, METRICS_PORT: port });
      expect(ofMetrics).toContain(
        `port ${port} for metrics: the port is taken. Stop what uses it, or set METRICS_PORT`,
      );
    }
    expect(contentsOf(DATA_DIR)).toBeUndefined();
    expect((await server.stop()).code).toBe(0);
  } finally {
    await server.stop();
  }
});

describe("data of an older version, while an older gateway works on them", () => {
  let env: { DATA_DIR: string };
  let database: string;
  let older: Storage;

  /** Opens the database, and takes its last four steps back. */
  beforeEach(async () => {
    const path = join(folder.path, "older");
    rmSync(path, { recursive: true, force: true });
    env = await dataIn(path);
    database = join(env.DATA_DIR, "gateway.db");
    older = await openStorage(database);
    const sqlite = new Sqlite(database);
    sqlite.exec(
      "DROP INDEX acts_actor; DROP INDEX holds_leases; DROP INDEX holds_arrival; DROP TABLE refused_calls; DROP TABLE refused_minutes",
    );
    sqlite.exec("DELETE FROM kysely_migration WHERE name >= '0023-refused-calls'");
    sqlite.close();
    return () => older.close();
  });

  function migrations(): number {
    const sqlite = new Sqlite(database, { readonly: true });
    const count = sqlite.prepare("SELECT count(*) FROM kysely_migration").pluck().get() as number;
    sqlite.close();
    return count;
  }

  test("are not changed, and it is said to stop that first", async () => {
    const before = migrations();
    for (const args of [["serve"], ["accounts", "list"]]) {
      const words = `${database} is of an older version, and another process works on it. Stop the older gateway first`;
      expect(await refusal(args, env)).toContain(words);
    }
    expect(migrations()).toBe(before);
    await older.close();
    expect(await commands.run(["accounts", "list"], env)).toMatchObject({ code: 0 });
    expect(migrations()).toBe(before + 4);
  });

  test("are brought up to date once that has stopped, by one of several that start at once", async () => {
    const before = migrations();
    const lists = Promise.all([1, 2, 3].map(() => modelGateway(["accounts", "list"], env)));
    setTimeout(() => void older.close(), 1500);
    for (const { code, stderr } of await lists) expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(migrations()).toBe(before + 4);
  });

  test("are backed up by the newer version all the same, and by a program that only reads them not hindered", async () => {
    const file = join(folder.path, "older-backup");
    rmSync(file, { force: true });
    expect(await commands.run(["backup", file], env)).toMatchObject({ code: 0 });
    const to = { DATA_DIR: join(folder.path, "older-restored") };
    rmSync(to.DATA_DIR, { recursive: true, force: true });
    expect(await commands.run(["restore", file], to)).toMatchObject({ code: 0 });
    await older.close();
    const reader = new Sqlite(database);
    expect(await commands.run(["accounts", "list"], env)).toMatchObject({ code: 0 });
    reader.close();
  });
});

const isRoot = process.getuid?.() === 0;
const somebody = 65_534;

test.skipIf(process.platform === "win32")("a data folder that this user may not use", async () => {
  const path = join(folder.path, "forbidden");
  const env = await dataIn(path);
  const before = contentsOf(env.DATA_DIR);
  // Its owner has all rights; another user none, and who is no administrator has none by the mode.
  chmodSync(folder.path, 0o755);
  chmodSync(path, 0o755);
  chmodSync(env.DATA_DIR, isRoot ? 0o700 : 0o000);
  const options = isRoot ? { uid: somebody } : {};
  try {
    for (const args of starts) {
      expect(await refusal(args, env, options)).toMatch(
        /cannot be opened: this user may not use it\. Run the command as its owner/,
      );
    }
    // Nor may it make one beside it.
    chmodSync(path, 0o555);
    const beside = { DATA_DIR: join(path, "other") };
    expect(await refusal(["serve"], beside, options)).toMatch(/cannot be opened: this user may not use it/);
    expect(contentsOf(beside.DATA_DIR)).toBeUndefined();
  } finally {
    chmodSync(path, 0o755);
    chmodSync(env.DATA_DIR, 0o700);
  }
  expect(contentsOf(env.DATA_DIR)).toEqual(before);
});

describe.skipIf(!mayMount())("a disk (of memory, mounted)", () => {
  let disk: string;

  beforeEach(() => {
    disk = join(folder.path, "disk");
    return mountDisk(disk, "2m");
  });

  /** Leaves so many bytes of the disk. */
  function fill(left: number): void {
    const { bavail, bsize } = statfsSync(disk);
    writeFileSync(join(disk, "fill"), Buffer.alloc(bavail * bsize - left));
  }

  test("that is full, with data and without", async () => {
    const env = await dataIn(disk);
    fill(0);
    const before = contentsOf(disk);
    const words = /cannot be opened: the disk is full\. Make room on it, or choose another place \(DATA_DIR\)/;
    for (const args of starts) expect(await refusal(args, env, {})).toMatch(words);
    expect(contentsOf(disk)).toEqual(before);
    rmSync(join(disk, "fill"));
    fill(16_384);
    const empty = contentsOf(disk);
    expect(await refusal(["serve"], { DATA_DIR: join(disk, "new") })).toMatch(words);
    expect(contentsOf(disk)).toEqual(empty);
    rmSync(join(disk, "fill"));
    expect(await commands.run(["reconcile"], env)).toMatchObject({ code: 0 });
  });

  test("that becomes full while a back-up is written, or restored", async () => {
    const env = await dataIn(disk);
    const file = join(folder.path, "of-disk");
    expect(await commands.run(["backup", file], env)).toMatchObject({ code: 0 });
    fill(100_000);
    const before = contentsOf(disk);
    expect(await refusal(["backup", join(disk, "b")], env, {})).toContain("the disk is full. Make room on it");
    expect(await refusal(["restore", file], { DATA_DIR: join(disk, "new") }, {})).toContain("the disk is full");
    expect(contentsOf(disk)).toEqual(before);
    rmSync(join(disk, "fill"));
  });

  test("that is read-only", async () => {
    const env = await dataIn(disk);
    const before = contentsOf(disk);
    execFileSync("mount", ["-o", "remount,ro", disk]);
    for (const DATA_DIR of [env.DATA_DIR, join(disk, "new")]) {
      expect(await refusal(["serve"], { DATA_DIR })).toMatch(/cannot be opened: it is read-only\. Make it writable/);
    }
    // SQLite needs its own files beside the database even to read it.
    expect(await refusal(["backup", join(folder.path, "of-read-only")], env, {})).toContain("it is read-only");
    expect(contentsOf(disk)).toEqual(before);
  });
});
