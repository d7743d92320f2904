/**
 * Two who do the same thing at once, within a process or in two: the database decides, and one of them is told that the other was first.
 */
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { asRefusal } from "../../src/call/refusals.ts";
import { holdMs, sweepMs } from "../../src/ledger/contract.ts";
import { createClaims } from "../../src/pipeline/replay/replay-claims.ts";
import { addUser } from "../../src/services/people/add-user.ts";
import type { Claim } from "../../src/storage/answers/replays.ts";
import type { NewKey } from "../../src/storage/keys.ts";
import type { Storage } from "../../src/storage/storage.ts";
import { eventually } from "../support/eventually.ts";
import { newTestDatabase, type TestDatabase } from "../support/storage/test-database.ts";

let database: TestDatabase;

const now = Date.UTC(2026, 0, 2);
const minute = 60_000;

function aKey(id: string): NewKey {
  return { id, account_id: "acc_1", name: id, secret_hash: `hash of ${id}`, secret_mask: "m", created_at: 1 };
}

function aUser(id: string, more: { readonly is_operator?: number } = {}) {
  return { id, account_id: "acc_1", email: `${id}@example.com`, password_hash: "x", created_at: 1, ...more };
}

describe.each(["within a process", "in two processes"])("%s", (where) => {
  let one: Storage;
  let other: Storage;

  beforeEach(async () => {
    database = await newTestDatabase();
    one = await database.open();
    other = where === "in two processes" ? await database.open() : one;
    await one.accounts.insert({ id: "acc_1", name: "one", created_at: 1 });
    return async () => {
      if (other !== one) await other.close();
      await one.close();
      await database.remove();
    };
  });

  /** Does the same twice at once, and returns what came of it, in any order. */
  async function twice<T>(work: (storage: Storage, i: number) => Promise<T>): Promise<T[]> {
    return Promise.all([work(one, 1), work(other, 2)]);
  }

  test("one account gets a name, by making and by renaming", async () => {
    const made = await twice(({ accounts }, i) => accounts.insert({ id: `acc_1${i}`, name: "same", created_at: 1 }));
    expect(made.sort()).toEqual([false, true]);
    await one.accounts.insert({ id: "acc_2", name: "two", created_at: 1 });
    const renamed = await twice(({ accounts }, i) => accounts.update(`acc_${i}`, { name: "new" }));
    expect(renamed.filter((outcome) => outcome === "taken")).toHaveLength(1);
  });

  test("one user gets an e-mail address, and who was late leaves no account", async () => {
    const init = { email: "ann@example.com", passwordHash: "x", operator: false, now };
    const tried = await Promise.allSettled([
      one.transact((stores) => addUser(stores, { ...init, accountName: "first" })),
      other.transact((stores) => addUser(stores, { ...init, accountName: "second" })),
    ]);
    expect(tried.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    expect(await one.accounts.list()).toHaveLength(2);
    expect(await one.users.page({ limit: 10 })).toHaveLength(1);
  });

  test("who registers an address that is taken is told of the address, and of the account's name where that was chosen", async () => {
    const init = { email: "ann@example.com", passwordHash: "x", operator: false, now };
    const reasons = async (more: object = {}) => {
      const add = (stores: Storage) => stores.transact((within) => addUser(within, { ...init, ...more }));
      const tried = await Promise.allSettled([add(one), add(other)]);
      return tried.flatMap((each) => (each.status === "rejected" ? [asRefusal(each.reason).message] : []));
    };
    const ofAddress = expect.stringContaining('There is a user "ann@example.com" already');
    expect(await reasons()).toEqual([ofAddress]);
    expect(await reasons()).toEqual([ofAddress, ofAddress]);
    const ofName = expect.stringContaining('There is an account "ann@example.com" already');
    expect(await reasons({ accountName: "ann@example.com" })).toEqual([ofName, ofName]);
  });

  test("an account gets one key where it may have one more", async () => {
    await one.keys.insert(aKey("key_0"), 2);
    const made = await twice(({ keys }, i) => keys.insert(aKey(`key_${i}`), 2));
    expect(made.sort()).toEqual([false, true]);
    expect(await one.keys.list()).toHaveLength(2);
  });

  test("a redeem code recharges one account once", async () => {
    const code = { id: "cod_1", batch_id: "b", code_hash: "c", code_mask: "m", amount: 5, note: null, created_at: 1 };
    await one.redeemCodes.insert([{ ...code, expires_at: null }]);
    const claimed = await twice(({ redeemCodes }, i) =>
      redeemCodes.claim({ codeHash: "c", accountId: "acc_1", entryId: `led_${i}`, now }),
    );
    expect(claimed.map(({ kind }) => kind).sort()).toEqual(["claimed", "recorded"]);
    expect(await one.accounts.find("acc_1")).toMatchObject({ balance: 5, recharged: 5 });
  });

  test("refunds return no more together than was recharged", async () => {
    await one.entries.record({ id: "led_0", accountId: "acc_1", kind: 1, amount: 10, note: null, now });
    const refunded = await twice(({ entries }, i) =>
      entries.record({ id: `led_${i}`, accountId: "acc_1", kind: 2, amount: 6, note: null, now }),
    );
    expect(refunded.map(({ kind }) => kind).sort()).toEqual(["recorded", "short"]);
    expect(await one.accounts.find("acc_1")).toMatchObject({ balance: 4, recharged: 4 });
  });

  test("of the last two operators one stays, whoever gives it up and whoever is removed", async () => {
    for (const id of ["usr_1", "usr_2"]) await one.users.insert(aUser(id, { is_operator: 1 }));
    const given = await twice(({ users }, i) => users.setOperator(`usr_${i}`, false));
    expect(given.sort()).toEqual(["changed", "last"]);
    for (const id of ["usr_1", "usr_2"]) await one.users.setOperator(id, true);
    const removed = await twice(({ users }, i) => users.remove(`usr_${i}`));
    expect(removed.sort()).toEqual(["last", "removed"]);
    expect(await one.users.countOperators()).toBe(1);
  });

  test("a key that is revoked while it is rotated answers to neither secret", async () => {
    await one.keys.insert(aKey("key_1"));
    await Promise.all([
      one.keys.rotate("acc_1", "key_1", { hash: "new", mask: "m", previousUntil: now + minute }),
      other.keys.revoke("key_1", now),
    ]);
    for (const hash of ["new", "hash of key_1"])
      expect((await one.keys.findBySecretHash(hash, now))?.revoked_at ?? now, hash).toBe(now);
    expect(await one.keys.find("acc_1", "key_1")).toBeUndefined();
  });

  test("of two rotations at once the key has one secret and the one before", async () => {
    await one.keys.insert(aKey("key_1"));
    await twice(({ keys }, i) =>
      keys.rotate("acc_1", "key_1", { hash: `new ${i}`, mask: "m", previousUntil: now + minute }),
    );
    const key = await one.keys.find("acc_1", "key_1");
    expect([key?.secret_hash, key?.previous_hash].sort()).toEqual(["new 1", "new 2"]);
  });

  test("what has an Idempotency-Key is made once, and told to both", async () => {
    let made = 0;
    const occasion = { scope: "acc_1 CreateKey", key: "k", fingerprint: "f" };
    const outcomes = await twice(({ transact }, i) =>
      transact(({ idempotency, keys }) =>
        idempotency.once(occasion, now, async () => {
          made++;
          await keys.insert(aKey(`key_${i}`));
          return `key_${i}`;
        }),
      ),
    );
    expect(made).toBe(1);
    expect(outcomes.map(({ kind }) => kind).sort()).toEqual(["done", "replayed"]);
    const [key, ...others] = await one.keys.list();
    expect(others).toEqual([]);
    for (const outcome of outcomes) expect(outcome).toMatchObject({ resultId: key?.id });
  });

  test("a link is used once, and not used where its work fails", async () => {
    const link = { id: "lnk_1", kind: 2, token_hash: "t", created_at: now, expires_at: now + minute };
    await one.links.insert({ ...link, account_id: null, user_id: null, email: null, used_at: null });
    await expect(
      one.transact(async ({ links }) => {
        expect(await links.use("t", 2, now)).toMatchObject({ id: "lnk_1" });
        throw new Error("no");
      }),
    ).rejects.toThrow("no");
    const used = await twice(({ transact }) => transact(({ links }) => links.use("t", 2, now)));
    expect(used.filter((found) => found !== undefined)).toHaveLength(1);
  });

  test("a code of the second factor, and a recovery code, are used once", async () => {
    await one.users.insert(aUser("usr_1"));
    await one.users.setPendingFactor("usr_1", "s");
    await one.users.enableFactor("usr_1", { secret: "s", step: 5, recoveryHashes: ["r1", "r2"] });
    expect((await twice(({ users }) => users.useStep("usr_1", 6))).sort()).toEqual([false, true]);
    expect((await twice(({ users }) => users.useRecoveryCode("usr_1", "r1"))).sort()).toEqual([false, true]);
    expect((await twice(({ users }, i) => users.useRecoveryCode("usr_1", `r${i}`))).sort()).toEqual([false, true]);
    expect(await one.users.find("usr_1")).toMatchObject({ recovery_hashes: "[]" });
  });

  test("a pending second factor becomes one once", async () => {
    await one.users.insert(aUser("usr_1"));
    await one.users.setPendingFactor("usr_1", "s");
    const enabled = await twice(({ users }) =>
      users.enableFactor("usr_1", { secret: "s", step: 5, recoveryHashes: ["r"] }),
    );
    expect(enabled.sort()).toEqual([false, true]);
  });

  test("a response is cancelled or complete, and not both", async () => {
    const row = { id: "resp_1", account_id: "acc_1", node: "n", created_at: now, expires_at: now + minute };
    await one.backgroundResponses.insert({ ...row, alive_until: now + minute, response: "{}" }, 10);
    const kept = { id: "resp_1", account_id: "acc_1", previous_id: null, created_at: now, expires_at: now + minute };
    const [isKept] = await Promise.all([
      one.backgroundResponses.complete({ ...kept, input: null, response: "{}" }, 10),
      other.backgroundResponses.cancel("acc_1", "resp_1"),
    ]);
    const inBackground = await one.backgroundResponses.find("acc_1", "resp_1", now);
    expect(await one.responses.find("acc_1", ["resp_1"], now)).toHaveLength(isKept ? 1 : 0);
    expect(inBackground?.is_cancelled).toBe(isKept ? undefined : 1);
  });

  test("a call under an Idempotency-Key is made once at a time, also where nobody knew the key", async () => {
    const claim = { accountId: "acc_1", keyHash: "k", requestHash: "r", now, expiresAt: now + minute };
    const claimed = await twice(({ replays }, i) =>
      replays.claim({ ...claim, requestId: `req_${i}`, node: `nod_${i}` }),
    );
    expect(claimed.map(({ kind }) => kind).sort()).toEqual(["claimed", "running"]);
    const again = await twice(({ replays }, i) =>
      replays.claim({
        ...claim,
        requestId: `req_${i + 2}`,
        node: `nod_${i + 2}`,
        now: now + 2 * minute,
        expiresAt: now + 3 * minute,
        endedNode: claimed[0]?.kind === "claimed" ? "nod_1" : "nod_2",
      }),
    );
    expect(again.map(({ kind }) => kind).sort()).toEqual(["claimed", "running"]);
  });

  test("answers of an account that come at once take no more room than it has", async () => {
    const init = { accountId: "acc_1", requestHash: "r", node: "n", now, expiresAt: now + minute };
    const claims = [1, 2].map((i) => ({ ...init, keyHash: `k${i}`, requestId: `req_${i}` }));
    for (const claim of claims) await one.replays.claim(claim);
    await database.query("INSERT INTO replay_sizes (account_id, size) VALUES ('acc_1', ?)", 1024 ** 3 - 1500);
    await Promise.all(claims.map((claim, i) => (i === 0 ? one : other).replays.keep(claim, Buffer.alloc(1000))));
    const found = await Promise.all(claims.map((claim) => one.replays.claim({ ...claim, requestId: "req_3" })));
    expect(found.map(({ kind }) => kind).sort()).toEqual(["answered", "too_large"]);
    expect(await database.query("SELECT size FROM replay_sizes")).toEqual([{ size: 1024 ** 3 - 500 }]);
  });
});

describe("calls of one process under the same Idempotency-Key", () => {
  let storage: Storage;

  beforeEach(async () => {
    database = await newTestDatabase();
    storage = await database.open();
    await storage.accounts.insert({ id: "acc_1", name: "one", created_at: 1 });
    return async () => {
      await storage.close();
      await database.remove();
    };
  });

  const asking = (requestId: string, requestHash = "r", keyHash = "k") => ({
    accountId: "acc_1",
    keyHash,
    requestHash,
    requestId,
  });
  const mayLive = async () => false;
  const forever = { aborted: false, addEventListener() {}, removeEventListener() {} } as unknown as AbortSignal;

  test("that come at once are made one after the other, and the second gets the first one's answer", async () => {
    const claim = createClaims({ store: storage.replays, node: "n", mayLive, clock: () => now, onError: () => {} });
    const [first, second] = [claim(asking("req_1"), forever), claim(asking("req_2"), forever)];
    const held = await first;
    if (!("end" in held)) throw new Error("the first was not made");
    let isAnswered = false;
    void second.then(() => (isAnswered = true));
    expect(await storage.replays.claim({ ...asking("req_3"), node: "m", now, expiresAt: now })).toEqual({
      kind: "running",
    });
    expect(isAnswered).toBe(false);
    await held.keep(Buffer.from("answer"));
    held.end();
    expect(await second).toMatchObject({ requestId: "req_1", answer: Buffer.from("answer") });
  });

  test("have their claims moved on as long as they run, and those that the database did not let end are ended later", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    onTestFinished(() => void vi.useRealTimers());
    let isAway = true;
    const unlessAway = async (work: () => Promise<void>) => {
      if (isAway) throw new Error("the database is away");
      await work();
    };
    const free: typeof storage.replays.free = (of) => unlessAway(() => storage.replays.free(of));
    const renew = vi.fn(storage.replays.renew);
    // The third claim is made, and nobody hears of it.
    const lost = async (of: Claim) => {
      const claimed = await storage.replays.claim(of);
      if (of.requestId === "req_3") throw new Error("the connection broke");
      return claimed;
    };
    const errors = vi.fn();
    const store = { ...storage.replays, free, renew, claim: lost };
    let at = now;
    const claim = createClaims({ store, node: "n", mayLive, clock: () => at, onError: errors });
    const [failed, runs] = [await claim(asking("req_1"), forever), await claim(asking("req_2", "r", "l"), forever)];
    if (!("end" in failed && "end" in runs)) throw new Error("they were not made");
    await expect(claim(asking("req_3", "r", "m"), forever)).rejects.toThrow("broke");
    failed.end();
    await eventually(() => expect(errors).toHaveBeenCalledTimes(1));
    const beat = async () => {
      at += minute;
      vi.advanceTimersByTime(sweepMs);
      await renew.mock.results.at(-1)?.value;
    };
    await beat();
    // One says for all that the database is away.
    await eventually(() => expect(errors).toHaveBeenCalledTimes(2));
    const elsewhere = { node: "m", now: now + holdMs, expiresAt: now + 2 * holdMs };
    const ask = async (keyHash: string) =>
      (await storage.replays.claim({ ...asking("req_4", "r", keyHash), ...elsewhere })).kind;
    expect([await ask("k"), await ask("l"), await ask("m")]).toEqual(["expired", "running", "expired"]);
    isAway = false;
    await beat();
    await eventually(async () => expect([await ask("k"), await ask("m")]).toEqual(["claimed", "claimed"]));
    expect(await ask("l")).toBe("running");
    runs.end();
    await eventually(() => expect(vi.getTimerCount()).toBe(0));
  });

  test("are told by what the database has whose request is the wrong one, and not by who asked first", async () => {
    const claim = createClaims({ store: storage.replays, node: "n", mayLive, clock: () => now, onError: () => {} });
    const made = await claim(asking("req_1", "right"), forever);
    if (!("end" in made)) throw new Error("it was not made");
    await made.keep(Buffer.from("answer"));
    made.end();
    const [wrong, right] = await Promise.allSettled([
      claim(asking("req_2", "wrong"), forever),
      claim(asking("req_3", "right"), forever),
    ]);
    expect(wrong.status).toBe("rejected");
    expect(right).toMatchObject({ status: "fulfilled", value: { requestId: "req_1" } });
  });
});
