/** The database goes away under calls, and comes back: what was told is charged once, and new calls are refused meanwhile. */
import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Hold } from "../../../../src/ledger/contract.ts";
import { createLeasedLedger } from "../../../../src/ledger/leases/leased-ledger.ts";
import { mayPass } from "../../../../src/runtime/write-trouble.ts";
import { openSpool, writeLeftBehind } from "../../../../src/storage/engines/postgres/books/spool.ts";
import { AwayError } from "../../../../src/storage/engines/postgres/errors.ts";
import { startWatcher } from "../../../../src/storage/engines/postgres/watcher.ts";
import { createNodeLocks } from "../../../../src/storage/engines/sqlite/node-lock.ts";
import { createSegments } from "../../../../src/storage/journal/segments.ts";
import { openSentLog } from "../../../../src/storage/journal/sent-log.ts";
import { fillDisk, mayMount, mountDisk } from "../../../support/disk.ts";
import { eventually } from "../../../support/eventually.ts";
import { endedCall, unlimitedRequest } from "../../../support/money/ledger.ts";
import { timed } from "../../../support/run/running-time.ts";
import {
  begun,
  callOf,
  ended,
  hold,
  holdOf,
  leaseOfAccount,
  now,
  recordsOf,
} from "../../../support/storage/books-stage.ts";
import {
  keepCommits,
  type PostgresServer,
  postgresPrograms,
  serverAt,
  startPostgres,
} from "../../../support/storage/postgres.ts";
import { openPostgresStage, type PostgresStage } from "../../../support/storage/postgres-stage.ts";

describe.skipIf(!postgresPrograms)("while Postgres is away", () => {
  let postgres: PostgresServer;
  let folder: string;
  let t: PostgresStage;
  let url: string;
  const taken = leaseOfAccount("nod_a");
  const segments = () => createSegments(join(folder, "journal"), false);

  beforeEach(async () => {
    postgres = await startPostgres();
    folder = mkdtempSync(join(tmpdir(), "gateway-spool-"));
    url = await postgres.createDatabase();
    t = await openPostgresStage(serverAt(url), (node, database) => openSpool(segments(), node, database));
    await t.addAccount("acc_1", { balance: 1e9 });
    await t.addKey("key_1", "acc_1");
  });

  afterEach(async () => {
    await t.close();
    await postgres.stop();
    rmSync(folder, { recursive: true });
  });

  const lease = { lease: { id: taken.leaseId, isOfKey: false } };

  /** A new look at the database, after it was away: the old one's connection broke. */
  async function look() {
    const stage = await openPostgresStage(serverAt(url));
    const seen = {
      account: await stage.account("acc_1"),
      faults: await stage.faults(),
      rows: await stage.query("SELECT id, cost FROM requests"),
    };
    await stage.close();
    return seen;
  }

  test("calls under way end, kept in a file of the node, and are charged once when it is back", async () => {
    const books = await t.open("nod_a");
    await hold(books, holdOf("req_0", 100, lease));
    const write = recordsOf(books);
    await write(begun("req_1", 100, taken), begun("req_2", 100, taken));
    await postgres.crash();
    const [, first] = await timed(async () => write(ended(callOf("req_1", 30), taken)));
    expect(first.runningMs).toBeLessThan(2000);
    // It is known to be away: nobody waits for it again.
    const [, later] = await timed(async () => {
      for (let i = 10; i < 60; i++) await write(begun(`req_${i}`, 10, taken), ended(callOf(`req_${i}`, 2), taken));
      await expect(hold(books, holdOf("req_9", 5))).rejects.toThrow(AwayError);
    });
    expect(later.runningMs).toBeLessThan(500);
    expect(
      segments()
        .nodes()
        .map((node) => [node, segments().read(node)?.lines.length]),
    ).toEqual([["nod_a", 51]]);
    await postgres.start();
    await expect.poll(() => hold(books, holdOf("req_3", 5)).catch(String)).toEqual([5]);
    await write(ended(callOf("req_2", 40), taken));
    expect(segments().nodes()).toEqual([]);
    const { account, faults, rows } = await look();
    expect(faults).toEqual([]);
    expect(rows).toHaveLength(52);
    expect(account.balance).toBe(1e9 - 30 - 40 - 100);
  });

  test("a call that cost more than it held is kept with what is waived, and charged its hold when it is back", async () => {
    const books = await t.open("nod_a");
    const ledger = createLeasedLedger({ openBooks: () => books, clock: Date.now, onError: () => {} });
    const ask = async (id: string, max: number) => (await ledger.hold(unlimitedRequest(id, max, Date.now()))) as Hold;
    // The first takes its hold from a lease; the second's is decided, for it is of nearly all that there is.
    const [leased, decided] = [await ask("req_1", 100), await ask("req_2", 5e8)];
    expect([leased.isExact, decided.isExact]).toEqual([false, true]);
    await expect.poll(() => t.holds()).toContainEqual({ id: "req_1", amount: 100 });
    await postgres.crash();
    const end = (held: Hold, beyond: number) =>
      ledger.capture(endedCall(held.request.requestId, held.amount + beyond, Date.now()), held);
    expect(await end(leased, 7)).toEqual({ cost: 100, waived: 7 });
    expect(await end(decided, 9)).toEqual({ cost: 5e8, waived: 9 });
    expect(segments().nodes()).toEqual(["nod_a"]);
    await postgres.start();
    await expect.poll(() => segments().nodes()).toEqual([]);
    const { account, faults } = await look();
    expect(faults).toEqual([]);
    expect(account.balance).toBe(1e9 - 100 - 5e8);
    const stage = await openPostgresStage(serverAt(url));
    expect(await stage.query("SELECT id, cost, waived FROM requests ORDER BY id")).toEqual([
      { id: "req_1", cost: 100, waived: 7 },
      { id: "req_2", cost: 5e8, waived: 9 },
    ]);
    expect(await stage.query("SELECT sum(waived)::bigint AS waived FROM usage_hours_now")).toEqual([{ waived: 16 }]);
    await stage.close();
  });

  test("what a process that died has left in its file is written by the next", async () => {
    const books = await t.open("nod_a");
    await hold(books, holdOf("req_0", 100, lease));
    const write = recordsOf(books);
    await write(begun("req_1", 100, taken));
    const spool = openSpool(segments(), "nod_a", String((await t.query("SELECT id FROM database_identity"))[0]?.id));
    // The first was written before the process died, and nobody had told it so.
    spool.append({ seq: 1, at: now, entries: [begun("req_1", 100, taken)] });
    spool.append({ seq: 2, at: now, entries: [ended(callOf("req_1", 30), taken), begun("req_2", 10, taken)] });
    spool.append({ seq: 3, at: now, entries: [ended(callOf("req_2", 7), taken)] });
    const next = () =>
      writeLeftBehind({
        server: t.server,
        segments: segments(),
        folder,
        own: new Set(["nod_b"]),
        now: () => now,
        onError: (error) => t.errors.push(error),
      });
    // As long as it may live, nobody touches it.
    expect(await next()).toBe(0);
    await t.pass(100_000);
    expect([await next(), await next()]).toEqual([1, 0]);
    expect(t.errors).toEqual([]);
    expect(await t.account("acc_1")).toMatchObject({ balance: 1e9 - 37 });
    expect(await t.faults()).toEqual([]);
  });

  test("what a living process has in a folder is left alone by others there, however long the database takes it for dead", async () => {
    const books = await t.open("nod_a");
    await hold(books, holdOf("req_0", 100, lease));
    const database = String((await t.query("SELECT id FROM database_identity"))[0]?.id);
    const unlock = createNodeLocks(folder, (error) => t.errors.push(error)).keep("nod_a");
    const spool = openSpool(segments(), "nod_a", database);
    spool.append({ seq: 1, at: now, entries: [begun("req_1", 100, taken), ended(callOf("req_1", 30), taken)] });
    const log = openSentLog({ folder, node: "nod_a", database, onError: (error) => t.errors.push(error) });
    log.note([begun("req_2", 100, taken), begun("req_1", 100, taken)], 2, 0);
    const next = () =>
      writeLeftBehind({
        ...{ server: t.server, segments: segments(), folder, now: () => now },
        ...{ own: new Set(["nod_b"]), onError: (error: unknown) => t.errors.push(error) },
      });
    await t.pass(100_000);
    expect(await next()).toBe(0);
    expect(segments().nodes()).toEqual(["nod_a"]);
    unlock();
    expect([await next(), await next()]).toEqual([1, 0]);
    expect(t.errors).toEqual([]);
    // The one was charged, and the other has a hold that has expired: it is recorded as lost with all such.
    expect(await t.account("acc_1")).toMatchObject({ balance: 1e9 - 30 });
    expect((await t.holds()).map(({ id }) => id)).toContain("req_2");
    expect(readdirSync(folder).filter((name) => name !== "journal")).toEqual([]);
  });

  test("a node counts as ended where its process has let go of its lock, and not where it never had one", async () => {
    const books = await t.open("nod_a");
    await hold(books, holdOf("req_0", 100, lease));
    const next = () =>
      writeLeftBehind({
        ...{ server: t.server, segments: segments(), folder, now: () => now },
        ...{ own: new Set(["nod_b"]), onError: (error: unknown) => t.errors.push(error) },
      });
    const locks = createNodeLocks(folder, (error) => t.errors.push(error));
    const lockFile = join(folder, "nod_a.lock");
    // Another has its lock: what is no lock leaves no file.
    const first = createNodeLocks(folder, (error) => t.errors.push(error)).keep("nod_a");
    locks.keep("nod_a");
    expect(t.errors.splice(0).map(String)).toEqual([expect.stringContaining("nod_a.lock cannot be locked")]);
    expect(existsSync(lockFile)).toBe(false);
    await next();
    expect(await t.account("acc_1")).not.toMatchObject({ held: 0 });
    first();
    const unlock = locks.keep("nod_a");
    await next();
    expect(await t.account("acc_1")).not.toMatchObject({ held: 0 });
    unlock();
    // As a process that is killed leaves it.
    writeFileSync(lockFile, "");
    await next();
    expect(await t.account("acc_1")).toMatchObject({ held: 0 });
    expect([existsSync(lockFile), t.errors, await t.faults()]).toEqual([false, [], []]);
  });

  test("calls are noted in two files in turn, which keep no more than the database does not know", async () => {
    const log = openSentLog({
      folder,
      node: "nod_a",
      database: "dba_1",
      onError: (error) => t.errors.push(error),
      maxBytes: 400,
    });
    const call = (seq: number) => [begun(`req_${seq}`, 100, taken)];
    for (let seq = 1; seq <= 200; seq++) log.note(call(seq), seq, seq - 2);
    const text = readdirSync(folder).map((name) => readFileSync(join(folder, name), "utf8"));
    expect(text).toHaveLength(2);
    for (const one of text) expect(one.length).toBeLessThan(1000);
    expect(text.join("")).toContain("req_200");
    // While the database writes nothing, nothing is given up.
    for (let seq = 201; seq <= 260; seq++) log.note(call(seq), seq, 199);
    const all = readdirSync(folder)
      .map((name) => readFileSync(join(folder, name), "utf8"))
      .join("");
    for (let seq = 200; seq <= 260; seq++) expect(all).toContain(`"req_${seq}"`);
    log.remove();
    expect(readdirSync(folder)).toEqual([]);
    expect(t.errors).toEqual([]);
  });

  test("a log that cannot be written is told of once, and keeps no call from being sent", async () => {
    writeFileSync(join(folder, "notes"), "a file where a folder is to be");
    const log = openSentLog({
      folder: join(folder, "notes"),
      node: "nod_a",
      database: "dba_1",
      onError: (error) => t.errors.push(error),
    });
    for (let seq = 1; seq < 10; seq++) log.note([begun(`req_${seq}`, 100, taken)], seq, 0);
    expect(t.errors.map(String)).toEqual(["Error: calls cannot be noted on this machine before they are sent"]);
    log.remove();
  });

  test.skipIf(!mayMount())(
    "a full disk (of memory, mounted) stops a node while the database is away, and only then",
    async () => {
      const disk = join(folder, "disk");
      mkdirSync(disk);
      execFileSync("mount", ["-t", "tmpfs", "-o", "size=1m", "tmpfs", disk]);
      try {
        const fill = () => {
          const { bavail, bsize } = statfsSync(disk);
          writeFileSync(join(disk, "fill"), Buffer.alloc(bavail * bsize));
        };
        fill();
        const told: unknown[] = [];
        const log = openSentLog({
          folder: disk,
          node: "nod_f",
          database: "dba_1",
          onError: (error) => told.push(error),
        });
        const server = serverAt(url);
        const stage = await openPostgresStage(server, (node, database) =>
          openSpool(createSegments(disk, false), node, database),
        );
        const books = await stage.open("nod_f");
        const own = leaseOfAccount("nod_f");
        await hold(books, holdOf("req_0", 100, { lease: { id: own.leaseId, isOfKey: false } }));
        const write = recordsOf(books);
        for (const seq of [1, 2, 3]) log.note([begun(`req_f${seq}`, 100, own)], seq, 0);
        expect(told.map(String)).toEqual(["Error: calls cannot be noted on this machine before they are sent"]);
        // The database itself is there.
        await write(begun("req_1", 100, own), ended(callOf("req_1", 30), own));
        await postgres.crash();
        await expect(write(begun("req_2", 100, own), ended(callOf("req_2", 40), own))).rejects.toThrow(/no space left/);
        await expect(write(begun("req_3", 100, own), ended(callOf("req_3", 50), own))).rejects.toThrow(/no space left/);
        rmSync(join(disk, "fill"));
        await write(begun("req_4", 100, own), ended(callOf("req_4", 7), own));
        await postgres.start();
        await expect.poll(() => hold(books, holdOf("req_5", 5)).catch(String)).toEqual([5]);
        const { account, faults, rows } = await look();
        expect(rows.map(({ id, cost }) => [id, cost]).sort()).toEqual([
          ["req_1", 30],
          ["req_4", 7],
        ]);
        expect([account.balance, faults]).toEqual([1e9 - 37, []]);
        await stage.close();
      } finally {
        execFileSync("umount", ["--lazy", disk]);
      }
    },
  );

  test.skipIf(!mayMount()).each(["there is room", "the database is back"] as const)(
    "a full disk has ended calls wait until %s, and each is charged once",
    async (isOver) => {
      const disk = join(folder, "disk");
      const unmount = mountDisk(disk, "1m");
      const makeRoom = fillDisk(disk);
      const spools = () => createSegments(disk, false);
      const stage = await openPostgresStage(serverAt(url), (node, database) => openSpool(spools(), node, database));
      const books = await stage.open("nod_f");
      const ledger = createLeasedLedger({ openBooks: () => books, clock: Date.now, onError: () => {} });
      const ask = async (id: string, max: number) => (await ledger.hold(unlimitedRequest(id, max, Date.now()))) as Hold;
      const [leased, decided, next] = [await ask("req_1", 100), await ask("req_2", 5e8), await ask("req_3", 100)];
      expect([leased.isExact, decided.isExact]).toEqual([false, true]);
      await expect.poll(() => stage.holds()).toHaveLength(4);
      await postgres.crash();
      const ended: unknown[] = [];
      const end = async (held: Hold) => ledger.capture(endedCall(held.request.requestId, 40, Date.now()), held);
      const ending = [leased, decided, next].map(async (held) => ended.push(await end(held).catch(String)));
      // For longer than what does not pass is tried.
      await delay(7_000);
      expect(ended).toEqual([]);
      for (const max of [0, 100]) await expect(ask(`req_of_${max}`, max)).rejects.toSatisfy(mayPass);
      if (isOver === "there is room") makeRoom();
      else await postgres.start();
      await Promise.all(ending);
      expect(ended).toEqual(Array(3).fill({ cost: 40, waived: 0 }));
      expect(spools().nodes()).toEqual(isOver === "there is room" ? ["nod_f"] : []);
      if (isOver === "there is room") await postgres.start();
      await expect.poll(() => spools().nodes()).toEqual([]);
      await ledger.close();
      const { account, faults, rows } = await look();
      expect(rows.map(({ id, cost }) => [id, cost]).sort()).toEqual(["req_1", "req_2", "req_3"].map((id) => [id, 40]));
      expect([account, faults]).toEqual([{ balance: 1e9 - 120, held: 0 }, []]);
      await stage.close();
      unmount();
    },
    60_000,
  );

  test("a turn that was given up and decided all the same is undone before the next", async () => {
    const books = await t.open("nod_a");
    await t.addAccount("acc_poor", { balance: 10 });
    await t.addKey("key_poor", "acc_poor");
    await t.addKey("key_limited", "acc_1", 10);
    // The database decides and commits, and the node waits in vain for longer than it does for a database that is away.
    const letCommits = await keepCommits(url);
    const given = hold(
      books,
      holdOf("req_1", 100, lease),
      holdOf("req_2", 500),
      holdOf("req_poor", 50, { accountId: "acc_poor", keyId: "key_poor" }),
      holdOf("req_limited", 50, { keyId: "key_limited" }),
    );
    await expect(given).rejects.toThrow(AwayError);
    await letCommits();
    await expect.poll(() => hold(books, holdOf("req_3", 5)).catch(String)).toEqual([5]);
    expect(await t.holds()).toEqual([{ id: "req_3", amount: 5 }]);
    expect(await t.account("acc_1")).toEqual({ balance: 1e9, held: 5 });
    expect(await t.faults()).toEqual([]);
  });

  test("the watcher says so within a second and a half, and knows no version until it is back", async () => {
    const watcher = await startWatcher({ connect: () => t.server.connect(), onError: () => {} });
    const before = watcher.version();
    expect([watcher.version(), watcher.awayMs()]).toEqual([before, undefined]);
    await postgres.crash();
    const [, { runningMs }] = await timed(() => eventually(() => expect(watcher.awayMs()).toBeGreaterThan(900)));
    expect(runningMs).toBeLessThan(1500);
    expect(watcher.version()).not.toBe(watcher.version());
    await postgres.start();
    await expect.poll(() => watcher.awayMs()).toBeUndefined();
    const after = watcher.version();
    await delay(300);
    expect(watcher.version()).toBe(after);
    watcher.close();
  });
});
