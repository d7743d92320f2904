/**
 * The database, also in the hands of several processes.
 */
import { once } from "node:events";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Storage } from "../../src/storage/storage.ts";
import { Running, root } from "../support/command.ts";
import { newTestDatabase, type TestDatabase } from "../support/storage/test-database.ts";

const account = { id: "acc_1", name: "one", created_at: 1 };
const nothing = {
  ...{ balance: 0, held: 0, recharged: 0, postpaid: 0, was_postpaid: 0, suspended_at: null },
  ...{ time_zone: null, budgets: null },
};
const user = { id: "usr_1", account_id: "acc_1", email: "a@example.com", password_hash: "x", created_at: 1 };
/** What the storage says of it besides. */
const asMade = {
  ...{ is_operator: 0, totp_secret: null, totp_pending: null, totp_step: 0, recovery_hashes: null },
  ...{ account_name: "one", last_seen_at: null },
};
const key = {
  id: "key_1",
  account_id: "acc_1",
  name: "k",
  secret_hash: "h1",
  secret_mask: "sk-a…b",
  is_admin: 0,
  created_at: 1,
  revoked_at: null,
};

async function withStorage(database: TestDatabase, work: (storage: Storage) => Promise<void>): Promise<void> {
  const storage = await database.open();
  try {
    await work(storage);
  } finally {
    await storage.close();
  }
}

/** A process that says "ready", waits for a line, and then does the work with `storage` at hand. */
function worker({ variables }: TestDatabase, work: string): Running {
  const code = `
    const { openAgain } = await import(process.env.STORAGE);
    const storage = await openAgain();
    console.log("ready");
    await new Promise((resolve) => process.stdin.once("data", resolve));
    process.stdin.destroy();
    ${work}`;
  const env = { ...variables, STORAGE: join(root, "test/support/storage/open-again.ts") };
  return new Running(process.execPath, ["--input-type=module", "--eval", code], env, {
    stdio: ["pipe", "pipe", "pipe"],
  });
}

let database: TestDatabase;

describe("several processes", () => {
  beforeEach(async () => {
    database = await newTestDatabase();
    return () => database.remove();
  });

  test("may write at the same time, and lose nothing", async () => {
    const insert = `
      for (let i = 0; i < 50; i++) {
        const name = process.pid + "-" + i;
        await storage.accounts.insert({ id: "acc_" + name, name, created_at: i });
      }
      await storage.close();`;
    const workers = Array.from({ length: 4 }, () => worker(database, insert));
    await Promise.all(workers.map((one) => one.shows(/ready/)));
    for (const { child } of workers) child.stdin?.write("go\n");
    for (const { code, stderr } of await Promise.all(workers.map(({ ended }) => ended))) {
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    }
    await withStorage(database, async ({ accounts }) => expect(await accounts.list()).toHaveLength(200));
  });

  test("may die without warning: what was written stays", async () => {
    const work = `
      await storage.accounts.insert({ id: "acc_1", name: "one", created_at: 1 });
      console.log("written");
      setInterval(() => {}, 1000);`;
    const victim = worker(database, work);
    await victim.shows(/ready/);
    victim.child.stdin?.write("go\n");
    await victim.shows(/written/);
    victim.child.kill("SIGKILL");
    await once(victim.child, "exit");
    await withStorage(database, async ({ accounts }) =>
      expect(await accounts.find("one")).toEqual({ ...account, ...nothing }),
    );
  });
});

describe("the tables", () => {
  let storage: Storage;

  beforeAll(async () => {
    database = await newTestDatabase();
    storage = await database.open();
    await storage.accounts.insert(account);
    await storage.users.insert(user);
    await storage.keys.insert(key);
  });

  afterAll(async () => {
    await storage.close();
    await database.remove();
  });

  test("hold one account of a name, one user of an address, one key of a secret", async () => {
    expect(await storage.accounts.insert({ ...account, id: "acc_2" })).toBe(false);
    expect(await storage.accounts.find("acc_2")).toBeUndefined();
    await expect(storage.accounts.insert({ ...account, name: "two" })).rejects.toThrow(
      /UNIQUE.*accounts.id|unique.*accounts_pkey/,
    );
    expect(await storage.users.insert({ ...user, id: "usr_2" })).toBe(false);
    expect(await storage.users.insert({ ...user, id: "usr_2", email: "A@Example.COM" })).toBe(false);
    expect(await storage.users.find("usr_2")).toBeUndefined();
    await expect(storage.keys.insert({ ...key, id: "key_2" })).rejects.toThrow(
      /UNIQUE.*api_keys.secret_hash|unique.*api_keys_secret_hash/,
    );
  });

  test("hold no key and no user of an account that is not there", async () => {
    await expect(storage.keys.insert({ ...key, id: "key_2", secret_hash: "h2", account_id: "acc_9" })).rejects.toThrow(
      /FOREIGN KEY/i,
    );
    await expect(storage.users.insert({ ...user, id: "usr_2", email: "b@x", account_id: "acc_9" })).rejects.toThrow(
      /FOREIGN KEY/i,
    );
  });

  test("find an account by its id and by its name", async () => {
    expect(await storage.accounts.find("acc_1")).toEqual({ ...account, ...nothing });
    expect(await storage.accounts.find("one")).toEqual({ ...account, ...nothing });
    for (const other of ["ONE", "", "' OR 1=1 --", "%"]) expect(await storage.accounts.find(other)).toBeUndefined();
  });

  test("find an account by its id also where another has that for a name", async () => {
    await storage.accounts.insert({ id: "acc_0", name: "acc_1", created_at: 0 });
    expect((await storage.accounts.find("acc_1"))?.id).toBe("acc_1");
    expect(await storage.accounts.update("acc_0", { name: "zero" })).toMatchObject({ name: "zero" });
  });

  test("find a user by the address in any case, and change the password", async () => {
    await storage.users.setPassword("usr_1", "y");
    expect(await storage.users.findByEmail("A@EXAMPLE.com")).toEqual({ ...user, ...asMade, password_hash: "y" });
    expect(await storage.users.findByEmail("a@example.co")).toBeUndefined();
  });

  test("tell of a user when one of its sessions was last used", async () => {
    const { users, sessions } = storage;
    const session = { user_id: "usr_1", address: "", user_agent: "", created_at: 1, expires_at: 99 };
    await sessions.insert({ ...session, id: "ses_1", token_hash: "t1", last_seen_at: 7 });
    await sessions.insert({ ...session, id: "ses_2", token_hash: "t2", last_seen_at: 5 });
    expect((await users.find("usr_1"))?.last_seen_at).toBe(7);
    await sessions.revokeAll("usr_1");
    expect((await users.find("usr_1"))?.last_seen_at).toBeNull();
  });

  test("list users oldest first, and find them by a part of the address or by an id", async () => {
    const { users } = storage;
    await users.insert({ ...user, id: "usr_3", email: "c_d@x.example" });
    await users.insert({ ...user, id: "usr_2", email: "B@x.example" });
    const ids = async (filter: { search?: string; after?: string; limit?: number }) =>
      (await users.page({ limit: 10, ...filter })).map(({ id }) => id);
    expect(await ids({})).toEqual(["usr_1", "usr_2", "usr_3"]);
    expect(await ids({ limit: 1, after: "usr_1" })).toEqual(["usr_2"]);
    expect(await ids({ search: "X.EXAMPLE" })).toEqual(["usr_2", "usr_3"]);
    expect(await ids({ search: "c_d" })).toEqual(["usr_3"]);
    expect(await ids({ search: "_" })).toEqual(["usr_3"]);
    expect(await ids({ search: "usr_2" })).toEqual(["usr_2"]);
    expect(await ids({ search: "acc_1" })).toHaveLength(3);
    expect(await ids({ search: "%" })).toEqual([]);
    for (const id of ["usr_2", "usr_3"]) expect(await users.remove(id)).toBe("removed");
  });

  test("enable a second factor once, by the secret that is pending, and none in the place of another", async () => {
    const { users } = storage;
    const factor = { secret: "NEW", step: 5, recoveryHashes: ["r1", "r2"] };
    expect(await users.enableFactor("usr_1", factor)).toBe(false);
    await users.setPendingFactor("usr_1", "OLD");
    await users.setPendingFactor("usr_1", "NEW");
    expect(await users.enableFactor("usr_1", { ...factor, secret: "OLD" })).toBe(false);
    expect([await users.enableFactor("usr_1", factor), await users.enableFactor("usr_1", factor)]).toEqual([
      true,
      false,
    ]);
    expect(await users.setPendingFactor("usr_1", "OTHER")).toBe(false);
    expect(await users.find("usr_1")).toMatchObject({ totp_secret: "NEW", totp_pending: null, totp_step: 5 });
    expect([await users.useStep("usr_1", 5), await users.useStep("usr_1", 6), await users.useStep("usr_1", 6)]).toEqual(
      [false, true, false],
    );
    for (const [hash, isUsed] of [
      ["r2", true],
      ["r2", false],
      ["r1", true],
      ["r3", false],
    ] as const)
      expect(await users.useRecoveryCode("usr_1", hash), hash).toBe(isUsed);
    await users.disableFactor("usr_1");
    expect(await users.find("usr_1")).toMatchObject({ totp_secret: null, totp_pending: null, recovery_hashes: null });
  });

  test("keep the last user who operates the gateway, whatever is asked", async () => {
    const { users } = storage;
    expect(await users.setOperator("usr_1", true)).toBe("changed");
    expect(await users.setOperator("usr_1", true)).toBe("changed");
    expect([await users.setOperator("usr_1", false), await users.remove("usr_1")]).toEqual(["last", "last"]);
    await users.insert({ ...user, id: "usr_2", email: "b@x", is_operator: 1 });
    expect(await users.countOperators()).toBe(2);
    expect(await users.remove("usr_2")).toBe("removed");
    expect(await users.countOperators()).toBe(1);
    await users.insert({ ...user, id: "usr_2", email: "b@x" });
    expect([await users.setOperator("usr_2", false), await users.setOperator("usr_2", true)]).toEqual([
      "changed",
      "changed",
    ]);
    expect(await users.setOperator("usr_1", false)).toBe("changed");
    expect([
      await users.setOperator("usr_9", true),
      await users.setOperator("usr_9", false),
      await users.remove("usr_9"),
    ]).toEqual(Array(3).fill("absent"));
    await users.setOperator("usr_1", true);
    await users.remove("usr_2");
  });

  test("list an account's keys oldest first, revoked ones among them", async () => {
    await storage.accounts.insert({ id: "acc_3", name: "three", created_at: 3 });
    const of3 = { ...key, account_id: "acc_3" };
    await storage.keys.insert({ ...of3, id: "key_8", secret_hash: "h8" });
    await storage.keys.insert({ ...of3, id: "key_7", secret_hash: "h7" });
    expect(await storage.keys.revoke("key_7", 77)).toBe(true);
    expect((await storage.keys.list("acc_3")).map(({ id, revoked_at }) => [id, revoked_at])).toEqual([
      ["key_7", 77],
      ["key_8", null],
    ]);
    expect((await storage.keys.list()).map(({ id }) => id)).toEqual(["key_1", "key_7", "key_8"]);
  });

  test("revoke a key once, and keep the first time", async () => {
    expect(await storage.keys.revoke("key_1", 100)).toBe(true);
    expect(await storage.keys.revoke("key_1", 200)).toBe(false);
    expect(await storage.keys.revoke("key_none", 100)).toBe(false);
    expect((await storage.keys.findBySecretHash("h1", 300))?.revoked_at).toBe(100);
  });
});
