/**
 * `model-gateway backup` and `restore`, as an operator runs them: beside a gateway that serves, after one that was killed, and with
 * mistakes.
 */
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import Sqlite from "better-sqlite3";
import { beforeAll, describe, expect, test } from "vitest";
import { Outcome } from "../../gen/modelgateway/v1/usage_pb.ts";
import { writeChecksum } from "../../src/storage/engines/sqlite/backup/format.ts";
import { type ClientCall, startLoad } from "../crash/load.ts";
import { setStage } from "../crash/stage.ts";
import { costOfCall } from "../crash/upstream.ts";
import { bin, modelGateway, Running, run, starter, startServer, systemNode } from "../support/command.ts";
import { contentsOf } from "../support/contents.ts";
import { eventually } from "../support/eventually.ts";
import { shareCommands } from "../support/shared-commands.ts";

const { commands, folder } = shareCommands();

const holds = expect.stringMatching(
  /^The sums hold: \d+ accounts?, \d+ keys?, \d+ ledger entr(?:y|ies), \d+ calls?\.\n$/,
);

const has = (program: string) => spawnSync(program, ["version"]).status === 0;

interface Charge {
  readonly id: string;
  readonly input: number;
  readonly cost: number;
  readonly outcome: Outcome;
}

describe("while a gateway serves", () => {
  /** Restores a file into a folder of its own by the command, and returns the calls that are charged there, by their ids. */
  async function chargesIn(file: string): Promise<ReadonlyMap<string, Charge>> {
    const DATA_DIR = `${file}-restored`;
    const done = await commands.run(["restore", file], { DATA_DIR });
    expect(done).toMatchObject({ code: 0, stdout: holds, stderr: expect.stringMatching(/^Restored .*\n$/) });
    // Nothing is left for a gateway to settle, and no sum is wrong: a proof of its own says so again.
    expect(await commands.run(["reconcile"], { DATA_DIR })).toMatchObject({ code: 0, stdout: done.stdout });
    const sqlite = new Sqlite(join(DATA_DIR, "gateway.db"), { readonly: true });
    const rows = sqlite.prepare("SELECT id, input, cost, outcome FROM requests").all() as Charge[];
    expect(sqlite.prepare("SELECT count(*) FROM holds").pluck().get()).toBe(0);
    expect(sqlite.prepare("SELECT sum(held) FROM accounts").pluck().get()).toBe(0);
    sqlite.close();
    return new Map(rows.map((row) => [row.id, row]));
  }

  test("every call that was answered before the back-up began is charged in it, once, and no sum is wrong", async () => {
    const stage = await setStage();
    const clients = 24;
    const backups: { readonly file: string; readonly before: readonly ClientCall[] }[] = [];
    let number = 1000;
    try {
      const { gateway, rootUrl } = await stage.start();
      const load = startLoad({ rootUrl, apiKeys: stage.apiKeys, clients, nextNumber: () => number++ });
      const back = async (name: string) => {
        const before = load.calls.filter(({ end }) => end === "whole");
        const file = join(folder.path, name);
        const done = await commands.run(["backup", file, "--config", stage.config], {
          DATA_DIR: dirname(stage.config),
        });
        expect(done).toMatchObject({ code: 0, stdout: "", stderr: expect.stringMatching(/^Backed up .*\n$/) });
        backups.push({ file, before });
      };
      await load.answers(clients);
      for (const name of ["first", "second", "third"]) {
        await back(name);
        await load.answers(load.calls.length + clients);
      }
      await gateway.stop("SIGKILL");
      await load.ended;
      // Of what a gateway left behind, with nobody to post it.
      await back("killed");
      for (const { file, before } of backups) {
        const charges = await chargesIn(file);
        const missing = before.filter(({ id = "" }) => charges.get(id)?.outcome !== Outcome.ANSWERED);
        expect(missing).toEqual([]);
        expect(before.length).toBeGreaterThanOrEqual(clients);
        for (const { number: asked, id = "" } of before) {
          expect(charges.get(id)).toMatchObject({ input: asked, cost: costOfCall(asked) });
        }
        // Nothing is charged that no client asked for.
        const asked = new Set(load.calls.map(({ id }) => id));
        const others = [...charges].filter(([id, { cost }]) => cost > 0 && !asked.has(id));
        expect(others.length).toBeLessThanOrEqual(clients);
      }
    } finally {
      await stage.close();
    }
  });

  // Registered, and not skipped, where it is installed: it is built from source for a quarter of an hour.
  if (has("litestream"))
    test("Litestream has what is posted, each charge once; with the journal beside it, every charge", async () => {
      const stage = await setStage();
      const database = join(dirname(stage.config), "gateway.db");
      const config = join(folder.path, "litestream.yml");
      const replica = join(folder.path, "replica");
      // JSON is YAML.
      writeFileSync(config, JSON.stringify({ dbs: [{ path: database, replica: { type: "file", path: replica } }] }));
      let number = 1000;
      try {
        const { gateway, rootUrl } = await stage.start();
        const replicating = new Running("litestream", ["replicate", "-config", config], process.env);
        const load = startLoad({ rootUrl, apiKeys: stage.apiKeys, clients: 16, nextNumber: () => number++ });
        await load.answers(200);
        // A back-up is made beside it.
        const beside = join(folder.path, "beside-litestream");
        const env = { DATA_DIR: dirname(stage.config) };
        expect(await commands.run(["backup", beside, "--config", stage.config], env)).toMatchObject({ code: 0 });
        await load.answers(400);
        await gateway.stop("SIGKILL");
        await load.ended;
        // It sends what it has not sent before it ends.
        expect(await replicating.stop("SIGINT")).toMatchObject({ signal: null });
        const whole = load.calls.filter(({ end }) => end === "whole");
        for (const isWithJournal of [false, true]) {
          const DATA_DIR = join(folder.path, `of-litestream-${isWithJournal}`);
          mkdirSync(DATA_DIR);
          const from = ["restore", "-config", config, "-o", join(DATA_DIR, "gateway.db"), database];
          const restoring = await run("litestream", from, process.env);
          expect(restoring.code, restoring.stderr).toBe(0);
          if (isWithJournal) cpSync(`${database}.notes`, join(DATA_DIR, "gateway.db.notes"), { recursive: true });
          // Posts what is in the journal, as a gateway does that starts.
          const file = `${DATA_DIR}-file`;
          expect(await commands.run(["backup", file], { DATA_DIR })).toMatchObject({ code: 0 });
          const charges = await chargesIn(file);
          for (const { id = "", number: asked } of whole) {
            const charge = charges.get(id);
            // Whose charge was in the journal alone is missing, or lost.
            const isMissing = charge === undefined || charge.outcome === Outcome.LOST;
            if (!isMissing || isWithJournal) expect(charge).toMatchObject({ input: asked, cost: costOfCall(asked) });
            else expect(charge?.cost ?? 0).toBe(0);
          }
          const charged = [...charges.values()].filter(({ cost }) => cost > 0);
          expect(charged.length).toBeGreaterThan(whole.length / 2);
        }
      } finally {
        await stage.close();
      }
    });

  test("nothing is restored over its data, and it goes on", async () => {
    const env = { DATA_DIR: join(folder.path, "served") };
    await commands.run(["accounts", "create", "--name", "a"], env);
    const file = join(folder.path, "of-served");
    expect(await commands.run(["backup", file], env)).toMatchObject({ code: 0 });
    const { server, rootUrl } = await startServer([], env);
    try {
      const refused = await commands.run(["restore", file, "--force"], env);
      expect(refused).toMatchObject({
        ...{ code: 1, stdout: "" },
        stderr: `model-gateway: a gateway, or another command, works on ${env.DATA_DIR}/gateway.db. Stop it first\n`,
      });
      expect((await fetch(`${rootUrl}/readyz`)).status).toBe(200);
      expect((await server.stop()).code).toBe(0);
    } finally {
      await server.stop();
    }
    const done = await commands.run(["restore", file, "--force"], env);
    expect(done).toMatchObject({ code: 0, stdout: holds });
    const [, moved = ""] = /^The database that was there is (\S+) now\.\n/.exec(done.stderr) ?? [];
    expect(statSync(moved).isFile()).toBe(true);
  });
});

test("by standard output and input, from one machine to another", async () => {
  const env = { DATA_DIR: join(folder.path, "piped") };
  await commands.run(["accounts", "create", "--name", "piped"], env);
  const to = { DATA_DIR: join(folder.path, "piped-to") };
  const command = `"$0" "$1" backup - | DATA_DIR="$2" "$0" "$1" restore -`;
  const done = await run("sh", ["-c", command, systemNode, bin, to.DATA_DIR], env);
  expect(done).toMatchObject({ code: 0, stdout: "The sums hold: 1 account, 0 keys, 0 ledger entries, 0 calls.\n" });
  expect(done.stderr).toMatch(/^Backed up .*\nRestored .*\n$/);
  expect((await commands.run(["accounts", "list"], to)).stdout).toMatch(/ piped\n$/);
  const broken = await run("sh", ["-c", `echo text | "$0" "$1" restore -`, systemNode, bin], {
    DATA_DIR: `${to.DATA_DIR}2`,
  });
  expect(broken).toMatchObject({
    code: 1,
    stdout: "",
    stderr: expect.stringContaining("standard input is no back-up"),
  });
});

test("a signal ends a back-up and a restore, and nothing is left of them", async () => {
  const path = join(folder.path, "interrupted");
  const env = { DATA_DIR: join(path, "data") };
  await commands.run(["accounts", "create", "--name", "a"], env);
  const sqlite = new Sqlite(join(env.DATA_DIR, "gateway.db"));
  // So large that it is not written before the signal comes.
  sqlite.exec("CREATE TABLE large (bytes)");
  for (let i = 0; i < 60; i++) sqlite.exec("INSERT INTO large VALUES (randomblob(1000000))");
  sqlite.close();
  const before = readdirSync(path, { recursive: true }).sort();
  /** Interrupts a command when it has begun. Where this process was slower than the command, it is tried again. */
  const interrupt = async (args: readonly string[], begun: RegExp, variables: { DATA_DIR: string }, made: string) => {
    for (let tries = 0; tries < 20 && !(await isInterrupted(args, begun, variables)); tries++)
      rmSync(made, { recursive: true, force: true });
  };
  const isInterrupted = async (args: readonly string[], begun: RegExp, variables: { DATA_DIR: string }) => {
    const running = new Running(process.execPath, [starter, ...args], variables);
    await eventually(() => {
      if (!readdirSync(path, { recursive: true, encoding: "utf8" }).some((name) => begun.test(name)))
        throw new Error("not begun");
    });
    const { code, stderr } = await running.stop("SIGINT");
    if (existsSync(args[0] === "backup" ? join(path, "b") : join(path, "new/gateway.db"))) return false;
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: "model-gateway: it was stopped by SIGINT, and nothing was changed\n",
    });
    return true;
  };
  await interrupt(["backup", join(path, "b")], /^b\.partial-\w+$/, env, join(path, "b"));
  expect(readdirSync(path, { recursive: true }).sort()).toEqual(before);
  const file = join(folder.path, "interrupted-file");
  expect(await commands.run(["backup", file], env)).toMatchObject({ code: 0 });
  await interrupt(["restore", file], /gateway\.db\.restoring-\w+$/, { DATA_DIR: join(path, "new") }, join(path, "new"));
  // Nor one that waits for its input.
  const stdio = ["pipe", "pipe", "pipe"] as const;
  const waiting = new Running(
    process.execPath,
    [starter, "restore", "-"],
    { DATA_DIR: join(path, "new"), TMPDIR: path },
    { stdio: [...stdio] },
  );
  await eventually(() => expect(readdirSync(path).some((name) => name.startsWith("model-gateway-"))).toBe(true));
  expect(await waiting.stop("SIGTERM")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("stopped by SIGTERM"),
  });
  expect(readdirSync(path, { recursive: true }).sort()).toEqual(before);
});

/** killAt is what Node imports to kill itself before it moves or names a database for the n-th time. */
function killAt(n: number): string {
  const program = `import fs from "node:fs"; import { syncBuiltinESMExports } from "node:module";
    let left = ${n};
    for (const name of ["renameSync", "linkSync", "rmSync"]) {
      const real = fs[name];
      fs[name] = (...of) => {
        if (of.some((path) => /gateway\\.db\\S*\\.(?:replaced|before-move)-/.test(path)) || name === "linkSync")
          if (left-- === 0) process.kill(process.pid, "SIGKILL");
        return real(...of);
      };
    }
    syncBuiltinESMExports();`;
  return `--import=data:text/javascript,${encodeURIComponent(program)}`;
}

test("a restore that is killed as it moves a database aside is done by the next, and the old one is whole", async () => {
  const env = { DATA_DIR: join(folder.path, "ended-moving/data") };
  await commands.run(["accounts", "create", "--name", "backed up"], env);
  const file = join(folder.path, "ended-moving/b");
  expect(await commands.run(["backup", file], env)).toMatchObject({ code: 0 });
  await commands.run(["accounts", "create", "--name", "later"], env);
  const journal = join("gateway.db.notes", "nod_x.jsonl");
  mkdirSync(join(env.DATA_DIR, "gateway.db.notes"));
  writeFileSync(join(env.DATA_DIR, journal), "kept");
  const old = contentsOf(env.DATA_DIR);
  let kills = 0;
  for (; ; kills++) {
    const DATA_DIR = join(folder.path, "ended-moving", String(kills));
    cpSync(env.DATA_DIR, DATA_DIR, { recursive: true });
    const killed = await modelGateway(["restore", "--force", file], { DATA_DIR, NODE_OPTIONS: killAt(kills) });
    const isThere = existsSync(join(DATA_DIR, "gateway.db"));
    if (killed.code !== 0) {
      expect(killed.signal).toBe("SIGKILL");
      const started = isThere || (await commands.run(["accounts", "create", "--name", "new"], { DATA_DIR })).stderr;
      expect(started).toEqual(isThere || expect.stringMatching(/Run `.* restore` again/));
      const again = await commands.run(["restore", ...(isThere ? ["--force"] : []), file], { DATA_DIR });
      expect(again).toMatchObject({ code: 0, stdout: holds });
    }
    expect((await commands.run(["accounts", "list"], { DATA_DIR })).stdout).not.toContain("later");
    const there = contentsOf(DATA_DIR) ?? {};
    expect(Object.keys(there).filter((name) => name.endsWith(".moving"))).toEqual([]);
    const aside =
      Object.keys(there).find((name) => name.includes(".replaced-") && there[name] === old?.["gateway.db"]) ?? "";
    expect(there[journal.replace("gateway.db", aside)]).toBe("kept");
    if (killed.code === 0) break;
  }
  expect(kills).toBeGreaterThan(2);
});

describe("a mistake changes nothing, and says in one line what to do:", () => {
  const whole = () => join(folder.path, "mistakes/whole");
  const here = () => ({ DATA_DIR: join(folder.path, "mistakes/data") });
  const nowhere = () => ({ DATA_DIR: join(folder.path, "mistakes/nowhere") });

  beforeAll(async () => {
    await commands.run(["accounts", "create", "--name", "a"], here());
    await commands.run(["backup", whole()], here());
    const bytes = readFileSync(whole());
    writeFileSync(join(folder.path, "mistakes/cut"), bytes.subarray(0, bytes.length - 5000));
    bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] as number) ^ 1;
    writeFileSync(join(folder.path, "mistakes/damaged"), bytes);
    mkdirSync(join(folder.path, "mistakes/folder"));
  });

  const at = (name: string) => join(folder.path, "mistakes", name);
  type Mistake = readonly [args: () => string[], env: () => { DATA_DIR: string }, code: 1 | 2, words: string];
  const mistakes: Readonly<Record<string, Mistake>> = {
    "no file to write": [() => ["backup"], here, 2, "backup needs FILE. `model-gateway help backup` shows"],
    "no database to back up": [() => ["backup", at("new")], nowhere, 2, "there is no database"],
    "a file that exists": [() => ["backup", whole()], here, 2, "exists. Name another file, or replace it by --force"],
    "a folder in the place of a file": [() => ["backup", at("folder")], here, 2, "is no file"],
    "a folder that is missing": [() => ["backup", at("none/new")], here, 2, "there is no folder"],
    "an unknown option": [() => ["backup", at("new"), "--forse"], here, 2, "Unknown option '--forse'"],
    "no file to restore": [() => ["restore"], nowhere, 2, "restore needs FILE"],
    "a file that is missing": [() => ["restore", at("none")], nowhere, 2, "there is no such file"],
    "a folder to restore": [() => ["restore", at("folder")], nowhere, 2, "it is a folder. Name a file"],
    "a file that is cut": [() => ["restore", at("cut")], nowhere, 1, "is cut: its end is missing"],
    "a file that is damaged": [() => ["restore", at("damaged")], nowhere, 1, "is damaged: it has changed"],
    "a database in the place of a back-up": [
      () => ["restore", join(here().DATA_DIR, "gateway.db")],
      ...([nowhere, 1, "is no back-up: `model-gateway backup` writes one"] as const),
    ],
    "a folder that has a database": [() => ["restore", whole()], here, 1, "already. Restore into an empty folder"],
    "a data folder below a file": [() => ["restore", whole()], () => ({ DATA_DIR: at("cut/data") }), 1, "below a file"],
  };

  for (const [name, [args, env, code, words]] of Object.entries(mistakes)) {
    test(name, async () => {
      const before = contentsOf(at("."));
      const done = await commands.run(args(), env());
      expect(done.stderr).toContain(words);
      expect(done.stderr).toMatch(/^model-gateway: .*\n$/);
      expect(done).toMatchObject({ code, stdout: "" });
      expect(contentsOf(at("."))).toEqual(before);
    });
  }

  /** What somebody may have done to a back-up, whose sum is right nevertheless, and what is said of it. */
  const others: Readonly<Record<string, readonly [sql: string, words: string]>> = {
    "a moment that is none": ["UPDATE backup_header SET created_at = 'soon'", "what it says of itself cannot be read"],
    "a moment that no date has": [
      "UPDATE backup_header SET created_at = 9e18",
      "what it says of itself cannot be read",
    ],
    "a version for terminals": [
      "UPDATE backup_header SET version = char(27) || '[2J' || char(10)",
      "what it says of itself cannot be read",
    ],
    "no row of itself": ["DELETE FROM backup_header", "what it says of itself cannot be read"],
    "no journal": ["DROP TABLE backup_journal", "what it says of itself cannot be read"],
    "a view of itself that never ends": [
      `DROP TABLE backup_header; CREATE VIEW backup_header AS
        WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)
        SELECT 1 AS created_at, 'v' AS version, 1 AS journal_lines, 1 AS user_version FROM n ORDER BY x`,
      "what it says of itself cannot be read",
    ],
    "a journal elsewhere": ["INSERT INTO backup_journal VALUES ('../x.jsonl', 1, 'x')", "no gateway has: ../x.jsonl"],
    "a journal without a name": ["INSERT INTO backup_journal VALUES ('..', 1, 'x')", "no gateway has: ..\n"],
    "a journal whose name is bytes": ["INSERT INTO backup_journal VALUES (x'6162', 1, 'x')", "no gateway has: ab\n"],
    "a journal named for terminals": [
      "INSERT INTO backup_journal VALUES (char(27) || '[2J', 1, 'x')",
      "no gateway has: \\u{1b}[2J\n",
    ],
    ...Object.fromEntries(
      ["moves", "CHANGES", "journals", "set_aside"].map((name) => [
        `a view that never ends in the place of ${name}`,
        [
          `PRAGMA foreign_keys = OFF; PRAGMA legacy_alter_table = ON; DROP TABLE ${name}; CREATE VIEW ${name} AS
            WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x AS id, x AS version FROM n ORDER BY x`,
          `the view ${name}, which no gateway has made`,
        ] as const,
      ]),
    ),
    "a trigger": [
      "CREATE TRIGGER more AFTER UPDATE ON accounts BEGIN UPDATE accounts SET balance = 1e9; END",
      "the trigger more, which no gateway has made",
    ],
  };

  test.each(Object.entries(others))("a back-up that has %s", async (_, [sql, words]) => {
    cpSync(whole(), at("other"));
    const sqlite = new Sqlite(at("other"));
    sqlite.function("lower_case", (text) => text);
    sqlite.exec(sql).close();
    writeChecksum(at("other"));
    const before = contentsOf(at("."));
    const done = await commands.run(["restore", at("other")], nowhere());
    expect(done.stderr).toContain(words);
    expect(done.stderr).toMatch(/^model-gateway: .*\n$/);
    expect(done).toMatchObject({ code: 1, stdout: "" });
    expect(contentsOf(at("."))).toEqual(before);
  });

  test("a trigger of the gateway's own name becomes its own, and views and indexes of other names stay", async () => {
    cpSync(whole(), at("renamed"));
    const sqlite = new Sqlite(at("renamed"));
    sqlite.function("lower_case", (text) => text);
    sqlite.exec(`DROP TRIGGER accounts_updated; CREATE VIEW rich AS SELECT * FROM accounts;
      CREATE TRIGGER accounts_updated AFTER UPDATE ON accounts BEGIN UPDATE accounts SET balance = 1e9; END`);
    sqlite.close();
    writeChecksum(at("renamed"));
    const env = { DATA_DIR: at("renamed-again") };
    expect(await commands.run(["restore", at("renamed")], env)).toMatchObject({ code: 0, stdout: holds });
    const restored = new Sqlite(join(env.DATA_DIR, "gateway.db"), { readonly: true });
    const sqlOf = (name: string) => restored.prepare("SELECT sql FROM sqlite_master WHERE name = ?").pluck().get(name);
    expect([sqlOf("accounts_updated"), sqlOf("rich")]).toEqual([
      expect.stringContaining("changed_names"),
      expect.stringContaining("VIEW rich"),
    ]);
    restored.close();
  });

  test("data that do not add up are restored as they were, and reported", async () => {
    const env = { DATA_DIR: at("wrong") };
    cpSync(here().DATA_DIR, env.DATA_DIR, { recursive: true });
    new Sqlite(join(env.DATA_DIR, "gateway.db")).exec("UPDATE accounts SET balance = balance + 1").close();
    await commands.run(["backup", at("of-wrong")], env);
    const done = await modelGateway(["restore", at("of-wrong")], { DATA_DIR: at("wrong-again") });
    expect(done).toMatchObject({ code: 1, stdout: expect.stringMatching(/^balance of acc_\w+: 0\.000001 is written/) });
    expect(done.stderr).toContain("Restored");
  });
});
