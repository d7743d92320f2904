/**
 * The connection that stores work on: transactions of which nobody sees a half, the wait for another process's lock, and what does not
 * wait for it.
 */
import { setTimeout as delay, setImmediate } from "node:timers/promises";
import { beforeEach, expect, test, vi } from "vitest";
import { LockedError } from "../../src/runtime/write-trouble.ts";
import { openDatabase } from "../../src/storage/engines/sqlite/database.ts";
import { maxWaitMs } from "../../src/storage/money/books.ts";
import type { Storage } from "../../src/storage/storage.ts";
import { eventually } from "../support/eventually.ts";
import { dialect, newTestDatabase, onSqlite, type TestDatabase } from "../support/storage/test-database.ts";

let database: TestDatabase;
let storage: Storage;

beforeEach(async () => {
  database = await newTestDatabase();
  storage = await database.open();
  return async () => {
    vi.useRealTimers();
    await storage.close();
    await database.remove();
  };
});

const account = (id: string) => ({ id, name: id, created_at: 1 });

/** Has another connection hold the lock of SQLite. Returns what lets it go. */
async function lock(): Promise<() => Promise<void>> {
  await database.exec("BEGIN IMMEDIATE");
  return () => database.exec("COMMIT");
}

test("a transaction is seen whole or not at all", async () => {
  const begun = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const writing = storage.transact(async ({ accounts }) => {
    await accounts.insert(account("acc_1"));
    begun.resolve();
    await goOn.promise;
    await accounts.insert(account("acc_2"));
  });
  await begun.promise;
  expect(await database.query("SELECT id FROM accounts")).toEqual([]);
  goOn.resolve();
  await writing;
  expect((await storage.accounts.list()).map(({ id }) => id)).toEqual(["acc_1", "acc_2"]);
});

onSqlite(() =>
  test("what comes while a transaction runs waits for its end: there is one connection", async () => {
    const begun = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    const writing = storage.transact(async ({ accounts }) => {
      begun.resolve();
      await goOn.promise;
      await accounts.insert(account("acc_1"));
    });
    await begun.promise;
    const listed = storage.accounts.list();
    const added = storage.accounts.insert(account("acc_2"));
    await setImmediate();
    goOn.resolve();
    await writing;
    expect((await listed).map(({ id }) => id)).toEqual(["acc_1"]);
    expect(await added).toBe(true);
  }),
);

test("a transaction that throws leaves nothing, and those that wait for it go on", async () => {
  const failing = storage.transact(async ({ accounts }) => {
    await accounts.insert(account("acc_1"));
    throw new Error("not this time");
  });
  const after = storage.transact(({ accounts }) => accounts.insert(account("acc_2")));
  await expect(failing).rejects.toThrow("not this time");
  expect(await after).toBe(true);
  expect((await storage.accounts.list()).map(({ id }) => id)).toEqual(["acc_2"]);
});

test("stores of a transaction may begin one of their own, which is a part of it", async () => {
  await storage.accounts.insert(account("acc_1"));
  const failing = storage.transact(async ({ accounts, entries }) => {
    await entries.record({ id: "led_1", accountId: "acc_1", kind: 1, amount: 5, note: null, now: 1 });
    await accounts.update("acc_1", { name: "other" });
    throw new Error("undone");
  });
  await expect(failing).rejects.toThrow("undone");
  expect(await storage.accounts.find("acc_1")).toMatchObject({ name: "acc_1", balance: 0 });
});

test("within a transaction other stores are refused, directly and later, and after it they are not", async () => {
  const refusal = "use the stores that it was given";
  await expect(storage.transact(() => storage.accounts.list())).rejects.toThrow(refusal);
  await expect(storage.transact(() => storage.transact(async () => {}))).rejects.toThrow(refusal);
  await storage.transact(async () => {
    await setImmediate();
    await expect(storage.keys.findBySecretHash("h", 1)).rejects.toThrow(refusal);
  });
  let later: Promise<unknown> | undefined;
  await storage.transact(async () => {
    later = setImmediate().then(() => storage.accounts.list());
  });
  expect(await later).toEqual([]);
});

// On Postgres one that is sent while the commit is under way comes after it, on the same connection.
onSqlite(() =>
  test("a statement of a transaction that is over is refused: nobody awaited it", async () => {
    let late: Promise<unknown> | undefined;
    await storage.transact(async ({ accounts }) => {
      late = setImmediate().then(() => accounts.insert(account("acc_1")));
    });
    await expect(late).rejects.toThrow("already committed");
    expect(await storage.accounts.list()).toEqual([]);
  }),
);

onSqlite(() =>
  test("reads go on while another process holds the lock; writes and transactions wait for it, and the event loop does not", async () => {
    await storage.accounts.insert(account("acc_1"));
    const free = await lock();
    const done: string[] = [];
    const written = storage.accounts.insert(account("acc_2")).then(() => done.push("statement"));
    const committed = storage
      .transact(({ accounts }) => accounts.insert(account("acc_3")))
      .then(() => done.push("all"));
    const gaps = [0, 0];
    let last = performance.now();
    const watching = setInterval(() => {
      gaps.push(performance.now() - last);
      last = performance.now();
    }, 1);
    for (let turn = 0; turn < 50; turn++) {
      expect(await storage.accounts.list()).toHaveLength(1);
      await setImmediate();
    }
    expect(done).toEqual([]);
    await free();
    await Promise.all([written, committed]);
    clearInterval(watching);
    // Both writes would have it wait. What is longest may be the machine's, which did something else.
    const [, second] = gaps.sort((a, b) => b - a);
    expect(second).toBeLessThan(maxWaitMs / 5);
    expect(await storage.accounts.list()).toHaveLength(3);
  }),
);

onSqlite(() =>
  test("a transaction that only reads sees one state, though another process writes, and keeps it from nothing", async () => {
    const { db } = await openDatabase(database.path);
    await storage.accounts.insert(account("acc_1"));
    const reading = db.transaction().setAccessMode("read only").setIsolationLevel("repeatable read");
    const seen = await reading.execute(async (within) => {
      const before = await within.selectFrom("accounts").select("id").execute();
      await storage.accounts.insert(account("acc_2"));
      return [before, await within.selectFrom("accounts").select("id").execute()];
    });
    expect(seen).toEqual([[{ id: "acc_1" }], [{ id: "acc_1" }]]);
    const free = await lock();
    expect(await reading.execute((within) => within.selectFrom("accounts").select("id").execute())).toHaveLength(2);
    await free();
    await db.destroy();
  }),
);

onSqlite(() =>
  test("a write that has waited for long is refused, and says so to whoever asks whether writes arrive", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    const free = await lock();
    const refused = storage.accounts.insert(account("acc_1"));
    const outcome = expect(refused).rejects.toThrow(LockedError);
    await eventually(() => {
      vi.advanceTimersByTime(600);
      expect(storage.writable.trouble()).toContain("another process holds its lock");
    });
    await outcome;
    await free();
    expect(await storage.accounts.insert(account("acc_1"))).toBe(true);
    expect(storage.writable.trouble()).toBeUndefined();
  }, 20_000),
);

test("every write is another version, of this process and of another; what only reads is none", async () => {
  const versions = [storage.version()];
  const look = async (work: () => Promise<unknown>) => {
    await work();
    versions.push(storage.version());
  };
  await look(() => storage.accounts.insert(account("acc_1")));
  await look(() => storage.accounts.update("acc_1", { name: "one" }));
  await look(() => storage.transact(({ accounts }) => accounts.update("acc_1", { name: "two" })));
  expect(new Set(versions).size).toBe(4);
  let settled = Number.NaN;
  // On Postgres a change is counted once more where it comes back from the server, within a quarter of a second.
  await eventually(async () => {
    settled = storage.version();
    await delay(dialect === "sqlite" ? 0 : 400);
    expect(storage.version()).toBe(settled);
  });
  await storage.accounts.list();
  await storage.keys.findBySecretHash("h", 1);
  expect(storage.version()).toBe(settled);
  const other = await database.open();
  await other.accounts.insert(account("acc_2"));
  await eventually(() => expect(storage.version()).toBeGreaterThan(settled));
  await other.close();
});

onSqlite(() =>
  test("closing waits for what is under way", async () => {
    const own = await database.open();
    const free = await lock();
    const written = own.accounts.insert(account("acc_1"));
    const transaction = own.transact(({ accounts }) => accounts.insert(account("acc_2")));
    await setImmediate();
    const closed = own.close();
    await setImmediate();
    await free();
    expect(await Promise.all([written, transaction])).toEqual([true, true]);
    await closed;
    expect(await database.query("SELECT id FROM accounts")).toHaveLength(2);
  }),
);
