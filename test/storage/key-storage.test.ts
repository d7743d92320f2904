/**
 * Keys in the database: what its conditions hold to, also where several processes write, and what is done but once.
 */
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import type { NewKey } from "../../src/storage/keys.ts";
import type { Storage } from "../../src/storage/storage.ts";
import { Running, root } from "../support/command.ts";
import { newTestDatabase, type TestDatabase } from "../support/storage/test-database.ts";

const dayMs = 86_400_000;

let database: TestDatabase;
let storage: Storage;

beforeEach(async () => {
  database = await newTestDatabase();
  storage = await database.open();
  for (const id of ["acc_1", "acc_2"])
    await storage.accounts.insert({ id, name: id, created_at: 1, suspended_at: null });
  return async () => {
    await storage.close();
    await database.remove();
  };
});

function aKey(id: string, more: Partial<NewKey> = {}): NewKey {
  const names = { name: id, secret_hash: `hash of ${id}`, secret_mask: "sk-a…b" };
  return { id, account_id: "acc_1", ...names, created_at: 1, ...more };
}

/** Runs the work in several processes at once, with `storage`, `me` and `print` at hand. Returns what each printed. */
async function inProcesses(works: readonly string[]): Promise<string[][]> {
  const processes = works.map((work, me) => {
    const code = `
      const { openAgain } = await import(process.env.STORAGE);
      const storage = await openAgain();
      const me = ${me};
      const print = (text) => process.stdout.write(text + "\\n");
      print("ready");
      await new Promise((resolve) => process.stdin.once("data", resolve));
      process.stdin.destroy();
      ${work}
      await storage.close();`;
    const env = { ...database.variables, STORAGE: join(root, "test/support/storage/open-again.ts") };
    return new Running(process.execPath, ["--input-type=module", "--eval", code], env, { stdio: "pipe" });
  });
  await Promise.all(processes.map((one) => one.shows(/ready/)));
  for (const { child } of processes) child.stdin?.write("go\n");
  const ends = await Promise.all(processes.map(({ ended }) => ended));
  return ends.map(({ code, stdout, stderr }) => {
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    return stdout.trim().split("\n").slice(1);
  });
}

describe("an account", () => {
  test("has as many keys as it may have, revoked ones aside", async () => {
    const { keys } = storage;
    for (const id of ["key_1", "key_2", "key_3"]) expect(await keys.insert(aKey(id), 3), id).toBe(true);
    expect(await keys.insert(aKey("key_4"), 3)).toBe(false);
    expect(await keys.insert(aKey("key_4", { account_id: "acc_2" }), 3)).toBe(true);
    expect(await keys.revoke("key_2", 2)).toBe(true);
    expect(await keys.insert(aKey("key_5"), 3)).toBe(true);
    expect(await keys.insert(aKey("key_6"), 3)).toBe(false);
    expect((await keys.page("acc_1", "", 1000)).map(({ id }) => id)).toEqual(["key_1", "key_3", "key_5"]);
  });

  test("has no more of them when several processes make keys at once", async () => {
    const work = `
      for (let i = 0; i < 60; i++) {
        const id = "key_" + me + "_" + i;
        const names = { name: id, secret_hash: id, secret_mask: "m" };
        print(String(await storage.keys.insert({ id, account_id: "acc_1", ...names, created_at: i }, 100)));
      }`;
    const printed = (await inProcesses([work, work, work])).flat();
    expect(printed).toHaveLength(180);
    expect(printed.filter((made) => made === "true")).toHaveLength(100);
    expect(await storage.keys.page("acc_1", "", 1000)).toHaveLength(100);
  });
});

describe("a secret", () => {
  test("finds its key with all that the account lends it", async () => {
    await storage.keys.insert(aKey("key_1", { credit_limit: 7, models: '["m"]', expires_at: 9, is_admin: 1 }));
    await storage.entries.record({ id: "led_1", accountId: "acc_1", kind: 1, amount: 50, note: null, now: 2 });
    await storage.accounts.update("acc_1", { postpaid: 1, suspended_at: 8 });
    const found = await storage.keys.findBySecretHash("hash of key_1", 100);
    expect(found).toEqual({
      ...{ id: "key_1", account_id: "acc_1", name: "key_1", secret_hash: "hash of key_1", secret_mask: "sk-a…b" },
      ...{ is_admin: 1, created_at: 1, revoked_at: null, spent: 0, held: 0, credit_limit: 7, models: '["m"]' },
      ...{ disabled: 0, expires_at: 9, last_used_at: null, previous_hash: null, previous_expires_at: null },
      ...{ budgets: null, requests_per_minute: null, tokens_per_minute: null, model_rates: null, max_concurrent: null },
      ...{ allowed_ips: null, tags: null, owner: null },
      ...{ account_name: "acc_1", account_balance: 50, account_held: 0, account_recharged: 50 },
      ...{ account_postpaid: 1, account_suspended_at: 8, account_time_zone: null, account_budgets: null },
    });
    expect(await storage.keys.findWithAccount("key_1")).toEqual(found);
    for (const other of ["", "hash of key_2", "HASH OF KEY_1", "' OR 1=1 --"]) {
      expect(await storage.keys.findBySecretHash(other, 100), other).toBeUndefined();
    }
  });

  test("that was rotated finds its key until its time, and the one before it no longer", async () => {
    const { keys } = storage;
    await keys.insert(aKey("key_1"));
    await keys.insert(aKey("key_2"));
    const finds = async (hash: string, now: number) => (await keys.findBySecretHash(hash, now))?.id;
    expect(await keys.rotate("acc_1", "key_1", { hash: "second", mask: "2", previousUntil: 100 })).toMatchObject({
      ...{ id: "key_1", secret_hash: "second", secret_mask: "2", previous_hash: "hash of key_1" },
      previous_expires_at: 100,
    });
    expect([await finds("second", 99), await finds("hash of key_1", 99), await finds("hash of key_1", 100)]).toEqual([
      ...["key_1", "key_1", undefined],
    ]);
    await keys.rotate("acc_1", "key_1", { hash: "third", mask: "3", previousUntil: 200 });
    expect([await finds("third", 50), await finds("second", 50), await finds("hash of key_1", 50)]).toEqual([
      ...["key_1", "key_1", undefined],
    ]);
    await keys.rotate("acc_1", "key_1", { hash: "fourth", mask: "4", previousUntil: null });
    expect([await finds("fourth", 50), await finds("third", 50)]).toEqual(["key_1", undefined]);
    expect(await keys.find("acc_1", "key_1")).toMatchObject({ previous_hash: null, previous_expires_at: null });
    expect(await finds("hash of key_2", 50)).toBe("key_2");
  });

  test("of a revoked key says so, the one before its rotation too", async () => {
    const { keys } = storage;
    await keys.insert(aKey("key_1"));
    await keys.rotate("acc_1", "key_1", { hash: "second", mask: "2", previousUntil: 100 });
    await keys.revoke("key_1", 50);
    for (const hash of ["second", "hash of key_1"])
      expect((await keys.findBySecretHash(hash, 60))?.revoked_at).toBe(50);
  });
});

describe("a change", () => {
  const all = { name: "n", credit_limit: 5, models: '["m"]', expires_at: 9, disabled: 1 };

  test("changes what it names and leaves the rest", async () => {
    await storage.keys.insert(aKey("key_1"));
    const before = await storage.keys.find("acc_1", "key_1");
    const updated = await storage.keys.update("acc_1", "key_1", all);
    expect(updated).toEqual({ kind: "updated", key: { ...before, ...all } });
    for (const unchanged of [{}, { name: undefined, credit_limit: undefined }]) {
      expect(await storage.keys.update("acc_1", "key_1", unchanged)).toEqual(updated);
    }
    const cleared = { credit_limit: null, models: null, expires_at: null };
    await storage.keys.update("acc_1", "key_1", cleared);
    expect(await storage.keys.find("acc_1", "key_1")).toEqual({ ...before, ...all, ...cleared });
  });

  test("of a key that is revoked or another account's finds none", async () => {
    const { keys } = storage;
    await keys.insert(aKey("key_1"));
    await keys.insert(aKey("key_2"));
    await keys.revoke("key_2", 2);
    const before = await keys.list();
    for (const [accountId, id] of [
      ["acc_2", "key_1"],
      ["acc_1", "key_2"],
      ["acc_1", "key_9"],
    ] as const) {
      expect(await keys.find(accountId, id)).toBeUndefined();
      for (const change of [{}, { name: "n" }, { credit_limit: 0 }]) {
        expect(await keys.update(accountId, id, change)).toEqual({ kind: "absent" });
      }
      expect(await keys.rotate(accountId, id, { hash: "x", mask: "x", previousUntil: null })).toBeUndefined();
      expect(await keys.revoke(id, 3, accountId)).toBe(false);
    }
    expect(await keys.list()).toEqual(before);
  });

  test("of the limit to less than is spent and reserved changes nothing, not even the name", async () => {
    await storage.keys.insert(aKey("key_1", { credit_limit: 100 }));
    await database.exec("UPDATE api_keys SET spent = 30, held = 12");
    const key = await storage.keys.find("acc_1", "key_1");
    expect(await storage.keys.update("acc_1", "key_1", { name: "n", credit_limit: 41 })).toEqual({
      kind: "below",
      key,
    });
    expect(await storage.keys.find("acc_1", "key_1")).toEqual(key);
    expect(await storage.keys.update("acc_1", "key_1", { credit_limit: 42 })).toMatchObject({ kind: "updated" });
  });

  test("of the limit never passes what another process reserves at the same time", async () => {
    await storage.keys.insert(aKey("key_1", { credit_limit: 1000 }));
    await storage.accounts.update("acc_1", { postpaid: 1 });
    const holds = `
      const call = { accountId: "acc_1", keyId: "key_1", operation: "chat", model: "m", lease: undefined };
      // A lock that the other process holds for long is told, and the turn is taken again.
      const onError = (error) => error.code === "SQLITE_BUSY" || console.error(error);
      const options = { node: "n", clock: () => 1, onError, recall: () => ({ records: [], leases: [] }) };
      const books = storage.openBooks(false)(options);
      const turn = (requestId) => ({
        ...{ records: [], leases: [], captures: [], releases: [] },
        holds: [{ requestId, ...call, max: 1, min: 1, now: 1 }],
      });
      const isHeld = async (id) => (await books.decide(() => turn(id))).holds[0].value.kind === "held";
      let held = 0;
      while (await isHeld("req_" + held)) held++;
      await books.close();
      print(String(held));`;
    const lowers = `
      let limit = 1000;
      while ((await storage.keys.update("acc_1", "key_1", { credit_limit: limit - 1 })).kind === "updated") limit--;
      print(String(limit));`;
    const [[held], [limit]] = (await inProcesses([holds, lowers])) as [[string], [string]];
    // Each went on until the other stood in its way: they met, and neither went beyond.
    expect(held).toBe(limit);
    expect(await storage.keys.find("acc_1", "key_1")).toMatchObject({
      credit_limit: Number(limit),
      held: Number(held),
    });
  });
});

describe("a page", () => {
  test("goes on after a key, whether it still works or not", async () => {
    const { keys } = storage;
    for (const id of ["key_3", "key_1", "key_2", "key_4"]) await keys.insert(aKey(id));
    await keys.insert(aKey("key_0", { account_id: "acc_2" }));
    const ids = async (after: string, limit = 1000) => (await keys.page("acc_1", after, limit)).map(({ id }) => id);
    expect(await ids("", 2)).toEqual(["key_1", "key_2"]);
    await keys.revoke("key_2", 2);
    expect(await ids("key_2", 1)).toEqual(["key_3"]);
    expect(await ids("key_3")).toEqual(["key_4"]);
    expect(await ids("key_4")).toEqual([]);
  });
});

type Once = Storage["idempotency"]["once"];

describe("what is done under an idempotency key", () => {
  const occasion = { scope: "acc_1 X", key: "once", fingerprint: "f" };

  test("is done once, and told again for a day", async () => {
    const once: Once = (...init) => storage.transact(({ idempotency }) => idempotency.once(...init));
    let made = 0;
    const make = async () => `res_${++made}`;
    expect(await once(occasion, 1000, make)).toEqual({ kind: "done", resultId: "res_1" });
    expect(await once(occasion, 1000 + dayMs - 1, make)).toEqual({ kind: "replayed", resultId: "res_1" });
    expect(await once({ ...occasion, fingerprint: "g" }, 2000, make)).toEqual({ kind: "conflict" });
    expect(await once({ ...occasion, scope: "acc_2 X" }, 2000, make)).toEqual({ kind: "done", resultId: "res_2" });
    expect(await once({ ...occasion, key: "twice" }, 2000, make)).toEqual({ kind: "done", resultId: "res_3" });
    expect(await once({ ...occasion, fingerprint: "g" }, 1000 + dayMs, make)).toEqual({
      kind: "done",
      resultId: "res_4",
    });
    expect(await once(occasion, 1000 + dayMs, make)).toEqual({ kind: "conflict" });
  });

  test("is undone where it fails, and may be tried again", async () => {
    const once: Once = (...init) => storage.transact(({ idempotency }) => idempotency.once(...init));
    const failing = storage.transact(({ idempotency, keys }) =>
      idempotency.once(occasion, 1, async () => {
        await keys.insert(aKey("key_1"));
        throw new Error("no");
      }),
    );
    await expect(failing).rejects.toThrow("no");
    expect(await storage.keys.list()).toEqual([]);
    expect(await once({ ...occasion, fingerprint: "g" }, 2, async () => "res_1")).toEqual({
      kind: "done",
      resultId: "res_1",
    });
  });

  test("is done once by several processes", async () => {
    const work = `
      for (let i = 0; i < 50; i++) {
        const occasion = { scope: "s", key: "k" + i, fingerprint: "f" };
        const outcome = await storage.transact(({ idempotency, keys }) => idempotency.once(occasion, 1, async () => {
          const id = "key_" + me + "_" + i;
          await keys.insert({ id, account_id: "acc_1", name: id, secret_hash: id, secret_mask: "m", created_at: 1 });
          return id;
        }));
        print(outcome.resultId);
      }`;
    const [first, ...others] = await inProcesses([work, work, work]);
    for (const other of others) expect(other).toEqual(first);
    const made = (await storage.keys.list()).map(({ id }) => id);
    expect(made.sort()).toEqual([...(first as string[])].sort());
  });

  test("is forgotten after a day, some at a time", async () => {
    const once: Once = (...init) => storage.transact(({ idempotency }) => idempotency.once(...init));
    for (let i = 0; i < 150; i++) await once({ ...occasion, key: `k${i}` }, i, async () => "r");
    const kept = async () => (await database.query("SELECT key FROM idempotency_keys")).length;
    expect(await kept()).toBe(150);
    await once({ ...occasion, key: "one" }, dayMs + 149, async () => "r");
    expect(await kept()).toBe(51);
    await once({ ...occasion, key: "two" }, dayMs + 149, async () => "r");
    expect(await kept()).toBe(2);
  });
});
