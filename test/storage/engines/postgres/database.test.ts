/** A database of Postgres as storage has it: stores, books and the watch over one server, also while that is away. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { sql } from "kysely";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { StorageError, troubleOf } from "../../../../src/runtime/write-trouble.ts";
import { openSpool } from "../../../../src/storage/engines/postgres/books/spool.ts";
import { type Opened, openPostgres } from "../../../../src/storage/engines/postgres/database.ts";
import { createSegments } from "../../../../src/storage/journal/segments.ts";
import { type Stores, storesOver } from "../../../../src/storage/storage.ts";
import { temporaryFolder } from "../../../support/command.ts";
import { timed } from "../../../support/run/running-time.ts";
import { begun, callOf, ended, hold, holdOf, now } from "../../../support/storage/books-stage.ts";
import { type PostgresServer, postgresPrograms, startPostgres } from "../../../support/storage/postgres.ts";

describe.skipIf(!postgresPrograms)("a database of Postgres", () => {
  let postgres: PostgresServer;
  let folder: Awaited<ReturnType<typeof temporaryFolder>>;
  let url: string;
  let opened: Opened;
  let stores: Stores;
  const errors: unknown[] = [];

  const options = () => ({
    ...{ url, dataDir: folder.path, poolSize: 4, version: "1", isSynced: false },
    onError: (error: unknown) => void errors.push(error),
  });
  const open = () => openPostgres(options());

  beforeEach(async () => {
    postgres = await startPostgres();
    folder = await temporaryFolder();
    url = await postgres.createDatabase();
    opened = await open();
    stores = storesOver(opened.scope);
    await stores.accounts.insert({ id: "acc_1", name: "one", created_at: 1, suspended_at: null });
    await stores.keys.insert({
      id: "key_1",
      account_id: "acc_1",
      name: "k",
      secret_hash: "h",
      secret_mask: "m",
      created_at: 1,
    } as never);
    await stores.entries.record({ id: "led_1", accountId: "acc_1", kind: 1, amount: 1_000_000, note: null, now });
  });

  afterEach(async () => {
    await opened.close();
    await postgres.stop();
    await folder.remove();
  });

  const booksOf = (node: string) =>
    opened.openBooks({
      node,
      clock: Date.now,
      onError: (error) => errors.push(error),
      recall: () => ({ records: [], leases: [] }),
    });

  test("knows at once what it changes itself", async () => {
    const before = opened.version();
    await stores.keys.update("acc_1", "key_1", { credit_limit: 500 });
    expect(opened.version()).not.toBe(before);
    await stores.keys.find("acc_1", "key_1");
    await opened.scope.transact(async (scope) => void (await storesOver(scope).accounts.find("acc_1")));
    expect(await opened.available("key_1")).toEqual({ of: "limit", available: 500 });
    await delay(400);
    // The server's own count may come behind it, and then nothing more.
    const then = opened.version();
    await delay(400);
    expect(opened.version()).toBe(then);
  });

  test("tells that nothing bounds an account that is billed afterwards, also once it owes something", async () => {
    const unbounded = { of: "balance", available: Number.POSITIVE_INFINITY };
    await stores.accounts.update("acc_1", { postpaid: 1 });
    for (const balance of [0, -1, -1_000_000]) {
      await sql`UPDATE accounts SET balance = ${balance} WHERE id = 'acc_1'`.execute(opened.db);
      expect(await opened.available("key_1")).toEqual(unbounded);
    }
    expect(await opened.available("key_none")).toEqual(unbounded);
  });

  test("has idle leases of all nodes come back before a refund, and what calls spent in the account's sums", async () => {
    const taken = { leaseId: "lea_1", isOfKey: false };
    const leases = [taken.leaseId];
    const books = opened.openBooks({
      ...{ node: "nod_a", clock: Date.now, onError: (error) => errors.push(error) },
      recall: () => ({ records: [], leases: leases.splice(0) }),
    });
    await books.renew();
    await hold(books, holdOf("req_0", 100, { lease: { id: taken.leaseId, isOfKey: false } }));
    await books.write({ seq: 1, at: now, entries: [begun("req_1", 100, taken), ended(callOf("req_1", 40), taken)] });
    expect(await stores.accounts.find("acc_1")).toMatchObject({ balance: 1_000_000 - 40, held: 31_250 - 40 });
    const refund = (id: string) =>
      stores.entries.record({ id, accountId: "acc_1", kind: 2, amount: 999_960, note: null, now });
    expect(await refund("led_2")).toMatchObject({ kind: "short" });
    await opened.recall("acc_1");
    expect(await refund("led_3")).toMatchObject({ kind: "recorded", account: { balance: 0, held: 0 } });
    await books.close();
  });

  test("what a node has kept that is killed and started anew at once is charged as soon as it counts as dead", async () => {
    const killed = booksOf("nod_killed");
    const taken = { leaseId: "lea_1", isOfKey: false };
    await hold(killed, holdOf("req_0", 100, { lease: { id: taken.leaseId, isOfKey: false } }));
    const { id } = await opened.db.selectFrom("database_identity").select("id").executeTakeFirstOrThrow();
    const segments = createSegments(join(folder.path, "postgres.notes"), false);
    openSpool(segments, "nod_killed", id).append({
      ...{ seq: 1, at: now },
      entries: [begun("req_1", 100, taken), ended(callOf("req_1", 40), taken)],
    });
    const next = await openPostgres({ ...options(), leftBehindMs: 20 });
    try {
      expect(segments.nodes()).toEqual(["nod_killed"]);
      // The system takes back the lock of a process that is killed.
      rmSync(join(folder.path, "postgres.notes", "nod_killed.lock"));
      const later = sql`UPDATE nodes SET alive_until = now_ms() - 1 WHERE node = 'nod_killed'`;
      await later.execute(next.db);
      await expect.poll(() => segments.nodes()).toEqual([]);
      const charged = await storesOver(next.scope).accounts.find("acc_1");
      expect(charged).toMatchObject({ balance: 1_000_000 - 40 });
      expect(errors).toEqual([]);
    } finally {
      await next.close();
    }
  });

  test("is refused to an older program that starts", async () => {
    const session = await opened.db.connection().execute(async (db) => {
      await db
        .insertInto("migrations" as never)
        .values({ name: "9999-newer", at: 1 } as never)
        .execute();
    });
    expect(session).toBeUndefined();
    await expect(open()).rejects.toThrow(StorageError);
    await expect(open()).rejects.toThrow(/was written by a newer model-gateway \(it has 9999-newer\)/);
  });

  test("that is away refuses within moments, keeps what calls came to, and goes on by itself", async () => {
    const books = booksOf("nod_a");
    const taken = { leaseId: "lea_1", isOfKey: false };
    expect(await hold(books, holdOf("req_0", 100, { lease: { id: "lea_1", isOfKey: false } }))).toEqual([
      "leased 31250",
    ]);
    await books.write({ seq: 1, at: now, entries: [begun("req_1", 100, taken)] });
    expect(opened.writable.trouble()).toBeUndefined();
    const changes: (string | undefined)[] = [];
    opened.writable.onChange(() => changes.push(opened.writable.trouble()));
    // A transaction is open, between two statements, when the server goes.
    const broken = opened.scope.transact(async (scope) => {
      await storesOver(scope).accounts.find("acc_1");
      await postgres.crash();
      await storesOver(scope).accounts.update("acc_1", { name: "two" });
    });
    expect(troubleOf(await broken.catch((error: unknown) => error))).toBe("away");
    await expect.poll(() => opened.writable.trouble()).toMatch(/^the database does not answer, for \d+ s$/);
    await expect.poll(() => changes.length).toBe(1);
    const asks = [
      () => stores.accounts.find("acc_1"),
      () => hold(books, holdOf("req_2", 5)),
      async () => books.mayLease("key_1", false),
    ];
    const [, { runningMs }] = await timed(async () => {
      for (const ask of asks) expect(troubleOf(await ask().catch((error: unknown) => error))).toBe("away");
      await books.write({ seq: 2, at: now, entries: [ended(callOf("req_1", 40), taken)] });
    });
    expect(runningMs).toBeLessThan(1500);
    await postgres.start();
    await expect.poll(() => opened.writable.trouble()).toBeUndefined();
    await expect.poll(() => stores.accounts.find("acc_1").catch(() => undefined)).toMatchObject({ name: "one" });
    await expect.poll(() => hold(books, holdOf("req_2", 5)).catch(String)).toEqual([5]);
    await expect.poll(() => stores.requests.findAny("req_1")).toMatchObject({ cost: 40 });
    await expect.poll(() => changes).toEqual([expect.stringContaining("does not answer"), undefined]);
    await books.close();
  });

  test("writes what a node before it has left on this machine", async () => {
    const books = booksOf("nod_a");
    const taken = { leaseId: "lea_1", isOfKey: false };
    await hold(books, holdOf("req_0", 100, { lease: { id: "lea_1", isOfKey: false } }));
    await postgres.crash();
    await books.write({ seq: 1, at: now, entries: [begun("req_1", 100, taken), ended(callOf("req_1", 40), taken)] });
    await opened.close();
    await postgres.start();
    const other = await open();
    await storesOver(other.scope).holds.total();
    // It counts as alive for a while yet: the next to start finds it dead.
    await other.db
      .updateTable("nodes" as never)
      .set({ alive_until: 0 } as never)
      .execute();
    await other.close();
    opened = await open();
    expect(await storesOver(opened.scope).requests.findAny("req_1")).toMatchObject({ cost: 40 });
    expect(opened.journalRejects()).toBe(0);
  });
});
