/**
 * Connections to Postgres break, go silent, and are lost one by one, while the server itself is there: nobody but those whose writes were
 * under way hears of it. And what is held exactly is charged although the server is away when its call ends.
 */
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createLeasedLedger } from "../../../../src/ledger/leases/leased-ledger.ts";
import { newId } from "../../../../src/runtime/ids.ts";
import { LockedError, troubleOf } from "../../../../src/runtime/write-trouble.ts";
import { AwayError } from "../../../../src/storage/engines/postgres/errors.ts";
import { guardedPool } from "../../../../src/storage/engines/postgres/guarded-pool.ts";
import type { Storage } from "../../../../src/storage/storage.ts";
import { openStorageOnPostgres } from "../../../../src/storage/storage-on-postgres.ts";
import { temporaryFolder } from "../../../support/command.ts";
import { eventually } from "../../../support/eventually.ts";
import { openAccount, type Payer } from "../../../support/payer.ts";
import { timed } from "../../../support/run/running-time.ts";
import { callOf } from "../../../support/storage/books-stage.ts";
import {
  type PostgresServer,
  postgresPrograms,
  query,
  serverAt,
  startPostgres,
} from "../../../support/storage/postgres.ts";
import { startProxy, type TcpProxy } from "../../../support/upstreams/tcp-proxy.ts";

describe.skipIf(!postgresPrograms)("connections to Postgres that break", () => {
  let postgres: PostgresServer;
  let proxy: TcpProxy;
  let storage: Storage;
  let url: string;
  let payer: Payer;
  const errors: unknown[] = [];
  const closing: (() => Promise<unknown>)[] = [];

  beforeAll(async () => {
    postgres = await startPostgres();
  });

  afterAll(() => postgres.stop());

  beforeEach(async () => {
    url = await postgres.createDatabase();
    proxy = await startProxy({ serverPort: postgres.port, isPostgres: true });
    const through = url.replace(`:${postgres.port}/`, `:${proxy.port}/`);
    const folder = await temporaryFolder();
    errors.length = 0;
    storage = await openStorageOnPostgres({
      ...{ url: through, dataDir: folder.path, poolSize: 4, version: "test", isSynced: false },
      onError: (error) => void errors.push(error),
    });
    closing.push(folder.remove, proxy.close, storage.close);
    payer = await openAccount({ storage }, { recharge: 10_000 });
  });

  afterEach(async () => {
    proxy.set("forward");
    for (const close of closing.splice(0).reverse()) await close();
  });

  const find = () => storage.accounts.find(payer.accountId);

  test("reads go on over others, also when all that were idle were reset at once", async () => {
    for (let i = 0; i < 5; i++) {
      await Promise.all(Array.from({ length: 8 }, find));
      const reading = Promise.all(Array.from({ length: 8 }, find));
      expect(proxy.cut()).toBeGreaterThan(3);
      for (const found of [...(await reading), await find()]) expect(found?.id).toBe(payer.accountId);
    }
    expect(storage.writable.trouble()).toBeUndefined();
  });

  test("what is told of one that was idle holds nothing of the connection, which knows how to cancel statements", async () => {
    await Promise.all(Array.from({ length: 4 }, find));
    proxy.cut();
    await eventually(() => expect(errors.length).toBeGreaterThan(0));
    for (const error of errors) expect(Object.keys(error as object)).not.toContain("client");
  });

  test("a server that refuses for a moment is waited for", async () => {
    proxy.set("refuse");
    const reading = find();
    await delay(300);
    proxy.set("forward");
    expect((await reading)?.id).toBe(payer.accountId);
  });

  test("nobody waits much longer than a second for a server that is silent, nor after that", async () => {
    proxy.set("silent");
    const [, first] = await timed(() => expect(find()).rejects.toThrow(AwayError));
    expect(first.runningMs).toBeLessThan(2500);
    const [, second] = await timed(() => expect(find()).rejects.toThrow(AwayError));
    expect(second.runningMs).toBeLessThan(500);
    proxy.set("forward");
    await eventually(async () => expect((await find())?.id).toBe(payer.accountId));
  });

  test("a lost connection for notifications does not make the server away, and what changes is seen", async () => {
    const seen = storage.version();
    proxy.silenceListeners();
    await query(url, "UPDATE accounts SET name = 'other'");
    for (const until = performance.now() + 2500; performance.now() < until; await delay(20)) {
      expect((await find())?.id).toBe(payer.accountId);
      expect(storage.writable.trouble()).toBeUndefined();
    }
    expect(storage.version()).not.toBe(seen);
  });

  test("a single statement that is the victim of a ring of locks is repeated", async () => {
    const server = serverAt(url);
    const other = await server.connect();
    await query(url, "CREATE TABLE pairs (id int PRIMARY KEY, number int)");
    await query(url, "INSERT INTO pairs VALUES (1, 0), (2, 0)");
    let repeats = 0;
    const pool = guardedPool(server.pool, { isAway: () => false, onRepeat: () => repeats++ });
    const client = await pool.connect();
    await client.query("SET deadlock_timeout = '200ms'", []);
    await other.query("SET deadlock_timeout = '20s'");
    await other.query("BEGIN");
    await other.query("UPDATE pairs SET number = number + 1 WHERE id = 2");
    // It locks the first row, and waits for the second.
    const updating = client.query(
      "WITH both_rows AS (SELECT id FROM pairs ORDER BY id FOR UPDATE) UPDATE pairs p SET number = number + 10 FROM both_rows b WHERE b.id = p.id",
      [],
    );
    await delay(50);
    await other.query("UPDATE pairs SET number = number + 1 WHERE id = 1");
    await other.query("COMMIT");
    await updating;
    client.release();
    other.close();
    expect(repeats).toBeGreaterThan(0);
    expect(await query(url, "SELECT number FROM pairs ORDER BY id")).toEqual([{ number: 11 }, { number: 11 }]);
    await server.pool.end();
  });

  test("a single statement that waits for a lock in vain is repeated, and is told as locked at last", async () => {
    const server = serverAt(url);
    const other = await server.connect();
    const repeated: (() => void)[] = [];
    const pool = guardedPool(server.pool, { isAway: () => false, onRepeat: () => repeated.shift()?.() });
    const client = await pool.connect();
    await client.query("SET lock_timeout = '50ms'", []);
    const lock = async () => {
      await other.query("BEGIN");
      await other.query("SELECT 1 FROM accounts FOR UPDATE");
    };
    const rename = (name: string) => client.query("UPDATE accounts SET name = $1", [name]);
    await lock();
    const isRepeated = new Promise<void>((resolve) => repeated.push(resolve));
    const renamed = rename("waited");
    await isRepeated;
    await other.query("COMMIT");
    await renamed;
    expect(await query(url, "SELECT name FROM accounts")).toEqual([{ name: "waited" }]);
    await lock();
    const error: unknown = await rename("never").catch((error: unknown) => error);
    expect([error, troubleOf(error)]).toEqual([expect.any(LockedError), "locked"]);
    await other.query("COMMIT");
    client.release();
    other.close();
    await server.pool.end();
  });

  test("a call whose hold was decided exactly is charged once, though the server is away when it ends", async () => {
    const ledger = createLeasedLedger({ openBooks: storage.openBooks(true), clock: Date.now, onError: () => {} });
    closing.push(ledger.close);
    const { accountId, keyId } = payer;
    const requestId = newId("req");
    // Credit for few such calls is not leased.
    const request = {
      requestId,
      accountId,
      keyId,
      operation: "chat",
      model: "m",
      max: 5000,
      min: 5000,
      now: Date.now(),
    };
    const held = await ledger.hold({ ...request, isLimited: false });
    if (held.kind !== "held") throw new Error("it is not held");
    expect(held.isExact).toBe(true);
    proxy.set("silent");
    const call = callOf(requestId, 1234, { account_id: accountId, key_id: keyId });
    const [told, { runningMs }] = await timed(async () => ledger.capture(call, held));
    expect(told).toEqual({ cost: 1234, waived: 0 });
    expect(runningMs).toBeLessThan(4000);
    proxy.set("forward");
    await eventually(async () => {
      expect(await query(url, "SELECT id, cost, waived FROM requests")).toEqual([
        { id: requestId, cost: 1234, waived: 0 },
      ]);
      expect(await query(url, "SELECT balance, held FROM accounts_now")).toEqual([{ balance: 10_000 - 1234, held: 0 }]);
    });
  });

  test("what a turn held, and was to give back, when the server fell silent is free again soon after", async () => {
    const ledger = createLeasedLedger({ openBooks: storage.openBooks(true), clock: Date.now, onError: () => {} });
    closing.push(ledger.close);
    const { accountId, keyId } = payer;
    const hold = (requestId: string, max: number) => {
      const of = { accountId, keyId, operation: "chat", model: "m", min: max, now: Date.now(), isLimited: false };
      return ledger.hold({ ...of, requestId, max });
    };
    const requestId = newId("req");
    const held = await hold(requestId, 5);
    if (held.kind !== "held") throw new Error("it is not held");
    expect(held.isExact).toBe(false);
    await ledger.capture(callOf(requestId, 5, { account_id: accountId, key_id: keyId }), held);
    proxy.set("silent");
    await expect(hold(newId("req"), 9000)).rejects.toThrow(AwayError);
    proxy.set("forward");
    await eventually(async () => {
      await ledger.sweep();
      expect(await query(url, "SELECT balance, held FROM accounts_now")).toEqual([{ balance: 9995, held: 0 }]);
    });
  });
});
