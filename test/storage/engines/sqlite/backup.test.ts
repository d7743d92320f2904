/**
 * Back-up and restore: every charge that was told to a caller is in the file once, in the tables or in a line of the journal, and a file
 * that is not whole restores nothing.
 */
import {
  appendFileSync,
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { setTimeout } from "node:timers/promises";
import Sqlite from "better-sqlite3";
import fc from "fast-check";
import { afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { recover } from "../../../../src/composition/recover.ts";
import { StorageError } from "../../../../src/runtime/write-trouble.ts";
import { backUp, describeBackup } from "../../../../src/storage/backup.ts";
import { writeChecksum } from "../../../../src/storage/engines/sqlite/backup/format.ts";
import { keepAlone } from "../../../../src/storage/engines/sqlite/database.ts";
import { createSegments } from "../../../../src/storage/journal/segments.ts";
import { restore } from "../../../../src/storage/restore.ts";
import { openStorage } from "../../../../src/storage/storage.ts";
import { createLeasingLedger } from "../../../support/accelerators.ts";
import { temporaryFolder } from "../../../support/command.ts";
import { contentsOf } from "../../../support/contents.ts";
import { charge, ledgersOfTests, type TestLedger, unlimitedRequest } from "../../../support/money/sqlite-ledger.ts";

const ledgerOf = ledgersOfTests(createLeasingLedger);
const ample = 1_000_000;
afterEach(() => void vi.useRealTimers());

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
beforeEach(async () => {
  folder = await temporaryFolder();
  return () => folder.remove();
});

const inFolder = (name: string) => join(folder.path, name);

function backUpAt(database: string, file: string, now: number, replaces = false) {
  return backUp({ database, file, clock: () => now, replaces, version: "1.2.3" });
}

/** Restores into a new folder, and returns what is there then. */
async function restored(file: string, to = "restored") {
  const errors: unknown[] = [];
  const database = join(folder.path, to, "gateway.db");
  const done = await restore({
    ...{ file, database, movesAside: false },
    recover: (storage, livedAt) => recover(storage, { livedAt, onError: (error) => errors.push(error) }),
  });
  const sqlite = new Sqlite(database);
  const all = (sql: string) => sqlite.prepare(sql).all();
  const [account] = all("SELECT balance, held FROM accounts");
  const calls = all("SELECT id, cost, outcome FROM requests ORDER BY id");
  const holds = all("SELECT * FROM holds");
  const tables = all("SELECT name FROM sqlite_master WHERE name LIKE 'backup%'");
  sqlite.close();
  return { ...done, account, calls, holds, tables, errors, database };
}

/** A process that posts nothing by itself: the timer of that stands still. Whatever reads through it has it post. */
async function charging(): Promise<TestLedger> {
  vi.useFakeTimers({ toFake: ["setTimeout"] });
  const t = await ledgerOf({ balance: ample });
  t.ledger.touch("key_1", t.now());
  vi.useRealTimers();
  return t;
}

describe("a back-up", () => {
  test("has a charge that is in the journal alone, and it is charged once after the restore", async () => {
    const t = await charging();
    await charge(t, "r1", 4);
    const written = await backUpAt(t.path, inFolder("b"), t.now());
    expect(written).toMatchObject({ createdAt: t.now(), version: "1.2.3", journalLines: 2 });
    expect(await describeBackup(inFolder("b"))).toEqual(written);
    const { account, calls, holds, proof, errors, tables, movedTo } = await restored(inFolder("b"));
    expect({ account, holds, errors, tables, movedTo }).toEqual({
      ...{ account: { balance: ample - 4, held: 0 }, holds: [], errors: [], tables: [], movedTo: undefined },
    });
    expect(calls).toMatchObject([{ id: "r1", cost: 4 }]);
    expect(proof.findings).toEqual([]);
  });

  test("leaves out lines that are posted in it, though the journal still has them", async () => {
    const t = await charging();
    await charge(t, "r1", 4);
    expect(t.account().balance).toBe(ample - 4); // Which posts the line, and leaves it in its file.
    const [node = ""] = createSegments(`${t.path}.notes`, false).nodes();
    expect(createSegments(`${t.path}.notes`, false).read(node)?.lines).not.toEqual([]);
    await charge(t, "r2", 5);
    expect(await backUpAt(t.path, inFolder("b"), t.now())).toMatchObject({ journalLines: 2 });
    const { account, calls } = await restored(inFolder("b"));
    expect(account).toEqual({ balance: ample - 9, held: 0 });
    expect(calls).toMatchObject([
      { id: "r1", cost: 4 },
      { id: "r2", cost: 5 },
    ]);
  });

  test("has a call that ran recorded as lost after the restore, and nothing is held of it", async () => {
    const t = await charging();
    await t.ledger.hold(unlimitedRequest("runs", 10, t.now()));
    t.account(); // Gives the call that runs a hold of its own.
    await backUpAt(t.path, inFolder("b"), t.now());
    const { account, calls, holds } = await restored(inFolder("b"));
    expect({ account, holds }).toEqual({ account: { balance: ample, held: 0 }, holds: [] });
    expect(calls).toMatchObject([{ id: "runs", cost: 0, outcome: 5 }]);
  });

  test("leaves a torn last line out, and keeps lines for an operator to look at", async () => {
    const t = await charging();
    await charge(t, "r1", 4);
    const notes = `${t.path}.notes`;
    const [node = ""] = createSegments(notes, false).nodes();
    appendFileSync(join(notes, `${node}.jsonl`), `\n{"seq":2,"entr\n${'{"seq":3,"entries":[],"at":1}'}\n{"torn`);
    writeFileSync(join(notes, "nod_before.jsonl.rejected"), '{"line":7,"reason":"it is torn","text":"x"}\n');
    expect(await backUpAt(t.path, inFolder("b"), t.now())).toMatchObject({ journalLines: 5 });
    const { account, proof, database, errors } = await restored(inFolder("b"));
    expect(account).toEqual({ balance: ample - 4, held: 0 });
    expect(errors.map(String)).toEqual([expect.stringContaining(`1 line or part of the journal of ${node}`)]);
    expect(proof.findings.map(({ what }) => what)).toEqual([
      expect.stringContaining(`of the journal of ${node}, which is no record`),
      expect.stringContaining("line 7 of the journal of nod_before"),
    ]);
    expect(readdirSync(`${database}.notes`).sort()).toEqual(
      [`${node}.jsonl.rejected`, "nod_before.jsonl.rejected"].sort(),
    );
  });

  test("is of one state, though another process writes while it is made", async () => {
    const t = await charging();
    const other = await ledgerOf({}, t.path);
    let [isWritten, told] = [false, 0];
    const writing = (async () => {
      for (let i = 0; !isWritten; i++) {
        await charge(t, `t${i}`, 1);
        await charge(other, `o${i}`, 2);
        told += 2;
        if (i % 3 === 0) t.account();
        if (i % 5 === 0) other.account();
        await new Promise((resolve) => setImmediate(resolve));
      }
    })();
    let before = 0;
    for (const name of ["b1", "b2", "b3"]) {
      // So many more are told of before the back-up begins.
      for (const until = told + 20; told < until; ) await new Promise((resolve) => setImmediate(resolve));
      before = told;
      await backUpAt(t.path, inFolder(name), t.now());
      const { account, calls, proof } = await restored(inFolder(name), `of-${name}`);
      const costs = (calls as { cost: number }[]).reduce((sum, { cost }) => sum + cost, 0);
      expect(account).toEqual({ balance: ample - costs, held: 0 });
      expect(calls.length).toBeGreaterThanOrEqual(before);
      expect(proof.findings).toEqual([]);
    }
    isWritten = true;
    await writing;
  });

  test("is one file, for its owner only, that any tool for SQLite reads", async () => {
    const t = await charging();
    await charge(t, "r1", 4);
    await backUpAt(t.path, inFolder("b"), t.now());
    expect(readdirSync(folder.path)).toEqual(["b"]);
    expect(statSync(inFolder("b")).mode & 0o777).toBe(0o600);
    const sqlite = new Sqlite(inFolder("b"), { readonly: true });
    expect(sqlite.pragma("integrity_check", { simple: true })).toBe("ok");
    expect(sqlite.prepare("SELECT version, journal_lines FROM backup_header").all()).toEqual([
      { version: "1.2.3", journal_lines: 2 },
    ]);
    const line = { file: expect.stringMatching(/^nod_\w+\.jsonl$/), line: expect.any(Number) };
    expect(sqlite.prepare("SELECT file, line FROM backup_journal").all()).toEqual([line, line]);
    sqlite.close();
  });

  test("replaces no file, unless that is asked for", async () => {
    const t = await charging();
    writeFileSync(inFolder("b"), "mine");
    await expect(backUpAt(t.path, inFolder("b"), t.now())).rejects.toThrow(/b exists\. Name another file/);
    expect(contentsOf(folder.path)).toEqual({ b: "mine" });
    await backUpAt(t.path, inFolder("b"), t.now(), true);
    expect(await describeBackup(inFolder("b"))).toMatchObject({ version: "1.2.3" });
    expect(readdirSync(folder.path)).toEqual(["b"]);
  });

  test("disturbs no other back-up to the same file: what another process is writing is left alone", async () => {
    const t = await ledgerOf({ balance: ample });
    // In containers of one volume each process may be the same number.
    const others = [`b.partial-${process.pid}`, `b.partial-${process.pid}-journal`];
    for (const name of others) writeFileSync(inFolder(name), "another's");
    await backUpAt(t.path, inFolder("b"), 1);
    for (const name of others) expect(readFileSync(inFolder(name), "utf8")).toBe("another's");
    const both = await Promise.allSettled([1, 2].map((now) => backUpAt(t.path, inFolder("c"), now)));
    expect(both.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    await describeBackup(inFolder("c"));
  });

  test("removes what others have left that were killed a day ago, and nothing of those that live", async () => {
    const t = await ledgerOf({ balance: ample });
    const [old, young] = [".partial-0123456789ab", ".partial-ba9876543210"].map((end) => `other${end}`) as [
      string,
      string,
    ];
    const kept = [young, `${young}-journal`, "other.partial", "mine.partial-0123"];
    for (const name of [old, `${old}-journal`, ...kept]) {
      writeFileSync(inFolder(name), "another's");
      // Of one that is long under way only one file has been written lately.
      if (name !== young) utimesSync(inFolder(name), 1, 1);
    }
    await backUpAt(t.path, inFolder("b"), 1);
    expect(readdirSync(folder.path).sort()).toEqual(["b", ...kept].sort());
    const data = inFolder("data");
    mkdirSync(join(data, "gateway.db.restoring-0123456789ab.notes"), { recursive: true });
    for (const end of ["", ".lock"]) writeFileSync(join(data, `gateway.db.restoring-0123456789ab${end}`), "another's");
    for (const name of readdirSync(data)) utimesSync(join(data, name), 1, 1);
    await restore({
      ...{ file: inFolder("b"), database: join(data, "gateway.db"), movesAside: false },
      recover: async () => {},
    });
    expect(readdirSync(data).sort()).toEqual(["gateway.db", "gateway.db.lock"]);
  });

  test("waits for nobody longer than some seconds, and leaves nothing then", async () => {
    const t = await charging();
    const lock = new Sqlite(t.path);
    lock.exec("BEGIN IMMEDIATE");
    await expect(backUpAt(t.path, inFolder("b"), t.now())).rejects.toThrow(/another process holds the lock/);
    expect(readdirSync(folder.path)).toEqual([]);
    lock.close();
  });

  test("ends when it is told to, and leaves nothing", async () => {
    const storage = await openStorage(inFolder("gateway.db"));
    await storage.close();
    const sqlite = new Sqlite(inFolder("gateway.db"));
    // More pages than are copied in one step.
    sqlite.exec("CREATE TABLE large (bytes)");
    for (let i = 0; i < 20; i++) sqlite.exec("INSERT INTO large VALUES (randomblob(1000000))");
    sqlite.close();
    const before = readdirSync(folder.path).sort();
    const asked = new AbortController();
    const init = {
      database: inFolder("gateway.db"),
      file: inFolder("b"),
      clock: () => 1,
      replaces: false,
      version: "1",
    };
    const made = backUp({ ...init, signal: asked.signal });
    setImmediate(() => asked.abort(new Error("told to")));
    await expect(made).rejects.toThrow("told to");
    expect(readdirSync(folder.path).sort()).toEqual(before);
  });

  test("is not made of a database that is damaged, or of something else", async () => {
    const storage = await openStorage(inFolder("damaged"));
    for (let i = 0; i < 400; i++)
      await storage.accounts.insert({ id: `acc_${i}`, name: "x".repeat(100) + i, created_at: 0 });
    await storage.close();
    const bytes = readFileSync(inFolder("damaged"));
    // A page in the middle of the names.
    bytes.fill(
      0xff,
      bytes.indexOf(`${"x".repeat(100)}200`) & ~0xfff,
      (bytes.indexOf(`${"x".repeat(100)}200`) & ~0xfff) + 100,
    );
    writeFileSync(inFolder("damaged"), bytes);
    await expect(backUpAt(inFolder("damaged"), inFolder("b"), 0)).rejects.toThrow(/damaged|malformed/);
    new Sqlite(inFolder("other")).exec("CREATE TABLE t (x)").close();
    await expect(backUpAt(inFolder("other"), inFolder("b"), 0)).rejects.toThrow(/is no database of model-gateway/);
    expect(readdirSync(folder.path).sort()).toEqual(["damaged", "damaged.lock", "other"]);
  });
});

describe("a restore", () => {
  let file: string;
  let bytes: Buffer;
  let small: Awaited<ReturnType<typeof temporaryFolder>>;

  beforeAll(async () => {
    small = await temporaryFolder();
    const storage = await openStorage(join(small.path, "gateway.db"));
    await storage.accounts.insert({ id: "acc_a", name: "a", created_at: 0 });
    await storage.close();
    file = join(small.path, "b");
    await backUp({ database: join(small.path, "gateway.db"), file, clock: () => 1, replaces: false, version: "1.2.3" });
    bytes = readFileSync(file);
    return () => small.remove();
  });

  /** Tries to restore these bytes, and returns the words of the refusal. Nothing is made by the way. */
  async function refusalOf(content: Buffer): Promise<string> {
    writeFileSync(inFolder("given"), content);
    const error = await restored(inFolder("given")).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(StorageError);
    expect(readdirSync(folder.path)).toEqual(["given"]);
    return (error as Error).message;
  }

  test("refuses a file that was cut, wherever that was", async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat({ max: bytes.length - 1 }), async (length) => {
        expect(await refusalOf(bytes.subarray(0, length))).toMatch(/given is (?:cut|no back-up)/);
      }),
      { numRuns: 200, examples: [[0], [1], [99], [100], [4096], [bytes.length - 1]] },
    );
  });

  test("refuses a file of which any bit has changed, or that has become longer", async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat({ max: bytes.length - 1 }), fc.integer({ min: 1, max: 255 }), async (at, flips) => {
        const changed = Buffer.from(bytes);
        changed[at] = (changed[at] as number) ^ flips;
        expect(await refusalOf(changed)).toMatch(/given (?:is|was) /);
      }),
      // The head: magic, page size, length, user version (the checksum itself), application id.
      {
        numRuns: 200,
        examples: [
          [0, 1],
          [17, 1],
          [31, 1],
          [60, 1],
          [63, 255],
          [68, 1],
          [71, 2],
          [bytes.length - 1, 1],
        ],
      },
    );
    expect(await refusalOf(Buffer.concat([bytes, Buffer.from("x")]))).toContain("is damaged");
  });

  test("makes a database for its owner only, whoever may read the file", async () => {
    copyFileSync(file, inFolder("b"));
    chmodSync(inFolder("b"), 0o444);
    const { database } = await restored(inFolder("b"));
    expect(statSync(database).mode & 0o777).toBe(0o600);
    expect(readdirSync(join(database, ".."))).toEqual(["gateway.db", "gateway.db.lock"]);
    expect(statSync(`${database}.lock`).mode & 0o777).toBe(0o600);
  });

  test("says of a file what it is instead", async () => {
    expect(await refusalOf(Buffer.from("a text"))).toContain("is no back-up: it is no database of SQLite");
    expect(await refusalOf(readFileSync(join(small.path, "gateway.db")))).toContain(
      "`model-gateway backup` writes one",
    );
    const newer = Buffer.from(bytes);
    newer[71] = 2;
    expect(await refusalOf(newer)).toContain("was written by a newer model-gateway; use that version");
  });

  test("refuses the data of a newer version, and names it", async () => {
    const later = "INSERT INTO kysely_migration VALUES ('9999-later', '')";
    copyFileSync(file, inFolder("b"));
    new Sqlite(inFolder("b")).exec(later).close();
    writeChecksum(inFolder("b"));
    await expect(restored(inFolder("b"))).rejects.toThrow(/was written by model-gateway 1\.2\.3, which is newer/);
    // Nor are they backed up: their journal may be written otherwise.
    copyFileSync(join(small.path, "gateway.db"), inFolder("gateway.db"));
    new Sqlite(inFolder("gateway.db")).exec(later).close();
    await expect(backUpAt(inFolder("gateway.db"), inFolder("b2"), 1)).rejects.toThrow(
      /newer model-gateway \(it has 9999/,
    );
    expect(readdirSync(folder.path).sort()).toEqual(["b", "gateway.db"]);
  });

  test("refuses a folder with a database, a journal, or what SQLite leaves, and changes none of it", async () => {
    for (const name of ["gateway.db", "gateway.db-wal", "gateway.db.notes/nod_x.jsonl"]) {
      const database = join(folder.path, basename(name), "gateway.db");
      const path = join(folder.path, basename(name), name);
      mkdirSync(join(path, ".."), { recursive: true });
      writeFileSync(path, "kept");
      await expect(restored(file, basename(name))).rejects.toThrow(/already\. Restore into an empty folder/);
      expect(contentsOf(join(database, ".."))).toEqual({ [name]: "kept" });
    }
  });

  test("moves a database aside where that is asked for, with its journal, and not while anybody works on it", async () => {
    const t = await charging();
    await charge(t, "r1", 4);
    const before = await backUpAt(t.path, inFolder("b"), t.now());
    await charge(t, "r2", 5);
    const again = () =>
      restore({
        ...{ file: inFolder("b"), database: t.path, movesAside: true },
        recover: (storage, livedAt) => recover(storage, { livedAt, onError: () => {} }),
      });
    const there = contentsOf(join(t.path, ".."));
    await expect(again()).rejects.toThrow(/works on .*gateway\.db\. Stop it first/);
    expect(contentsOf(join(t.path, ".."))).toEqual(there);
    // As if it had died, with a line of the journal.
    const dead = inFolder("dead");
    cpSync(join(t.path, ".."), dead, { recursive: true });
    const database = join(dead, "gateway.db");
    const done = await restore({
      ...{ file: inFolder("b"), database, movesAside: true },
      recover: (storage, livedAt) => recover(storage, { livedAt, onError: () => {} }),
    });
    expect(done).toMatchObject({ createdAt: before.createdAt, version: "1.2.3" });
    // What was there before can be restored in its turn.
    const moved = await backUpAt(done.movedTo as string, inFolder("moved"), t.now());
    expect(moved.journalLines).toBe(3);
    expect((await restored(inFolder("moved"))).account).toEqual({ balance: ample - 9, held: 0 });
    const sqlite = new Sqlite(database, { readonly: true });
    expect(sqlite.prepare("SELECT balance FROM accounts").pluck().get()).toBe(ample - 4);
    sqlite.close();
  });

  test("takes the place of no database that somebody opens meanwhile, whichever of the two comes first", async () => {
    const path = inFolder("gateway.db");
    await (await openStorage(path)).close();
    const present = new Sqlite(`${path}.lock`, { timeout: 0 });
    present.exec("BEGIN; SELECT 1 FROM sqlite_master");
    expect(keepAlone(path)).toBeUndefined();
    present.close();
    const release = keepAlone(path);
    const opening = openStorage(path);
    // While it waits, the place may be empty, and have another database then.
    renameSync(path, `${path}.moved`);
    await setTimeout(120);
    expect(existsSync(path)).toBe(false);
    renameSync(`${path}.moved`, path);
    release?.();
    await (await opening).close();
    expect(readdirSync(folder.path).sort()).toEqual(["gateway.db", "gateway.db.lock"]);
  });

  test("that fails in the middle leaves the folder as it was", async () => {
    const database = join(folder.path, "new/data/gateway.db");
    const failing = restore({
      ...{ file, database, movesAside: false },
      recover: () => Promise.reject(new Error("no")),
    });
    await expect(failing).rejects.toThrow("no");
    expect(readdirSync(folder.path)).toEqual([]);
  });

  test("ends when it is told to, and leaves the folder as it was", async () => {
    const asked = new AbortController();
    const told = restore({
      ...{ file, database: join(folder.path, "new/data/gateway.db"), movesAside: false, signal: asked.signal },
      recover: async () => asked.abort(new Error("told to")),
    });
    await expect(told).rejects.toThrow("told to");
    expect(readdirSync(folder.path)).toEqual([]);
  });

  test("keeps what a truncated copy of the file would have lost", async () => {
    copyFileSync(file, inFolder("copy"));
    truncateSync(inFolder("copy"), bytes.length - 4096);
    await expect(describeBackup(inFolder("copy"))).rejects.toThrow(/is cut: its end is missing/);
    expect((await restored(file)).proof).toMatchObject({ accounts: 1, findings: [] });
  });
});
