/** What may be done once is done once, by however many nodes at once: the conditions are the database's, under READ COMMITTED too. */
import { setTimeout as delay } from "node:timers/promises";
import { sql } from "kysely";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { asRefusal, Reason } from "../../../../src/call/refusals.ts";
import { troubleOf } from "../../../../src/runtime/write-trouble.ts";
import { dueColumns } from "../../../../src/storage/engines/postgres/books/functions/call-columns.ts";
import { openManagement } from "../../../../src/storage/engines/postgres/management.ts";
import { migrate } from "../../../../src/storage/engines/postgres/migrate.ts";
import type { Scope } from "../../../../src/storage/engines/scope.ts";
import { proveAndRepair } from "../../../../src/storage/proof/repair.ts";
import { type Stores, storesOver } from "../../../../src/storage/storage.ts";
import { type PostgresServer, postgresPrograms, serverAt, startPostgres } from "../../../support/storage/postgres.ts";

const now = Date.UTC(2026, 0, 2, 3, 4, 5);
const day = 86_400_000;

describe.skipIf(!postgresPrograms)("two nodes on Postgres at once", () => {
  let postgres: PostgresServer;
  let nodes: readonly (Stores & { readonly close: () => Promise<void>; readonly scope: Scope })[];

  beforeAll(async () => {
    postgres = await startPostgres();
  });

  afterAll(() => postgres.stop());

  beforeEach(async () => {
    const url = await postgres.createDatabase();
    nodes = await Promise.all(
      [1, 2, 3].map(async () => {
        const server = serverAt(url);
        const { db, scope } = openManagement(server, () => {});
        await migrate(db as never, server.name);
        return { ...storesOver(scope), scope, close: () => db.destroy() };
      }),
    );
    await one().accounts.insert({ id: "acc_1", name: "one", created_at: 1, suspended_at: null });
    return () => Promise.all(nodes.map(({ close }) => close()));
  });

  const one = () => nodes[0] as Stores;

  /** Has all nodes do the same a few times at once, and counts the answers. */
  async function atOnce(work: (stores: Stores, i: number) => Promise<unknown>): Promise<Record<string, number>> {
    const answers = await Promise.all([0, 1, 2, 3].flatMap((i) => nodes.map((stores, n) => work(stores, 3 * i + n))));
    const counts: Record<string, number> = {};
    for (const answer of answers) counts[String(answer)] = (counts[String(answer)] ?? 0) + 1;
    return counts;
  }

  const anEntry = (id: string, kind: 1 | 2 | 3, amount: number) => ({
    id,
    accountId: "acc_1",
    kind,
    amount,
    note: null,
    now,
  });
  const kindOf = async (answer: Promise<{ readonly kind: string }>) => (await answer).kind;

  test("one gets a name", async () => {
    const insert = (stores: Stores, i: number) =>
      stores.accounts.insert({ id: `acc_x${i}`, name: "same", created_at: 1, suspended_at: null });
    expect(await atOnce(insert)).toEqual({ true: 1, false: 11 });
  });

  test("one account gets a name that others give up theirs for", async () => {
    for (let i = 0; i < 12; i++)
      await one().accounts.insert({ id: `acc_x${i}`, name: `n${i}`, created_at: 1, suspended_at: null });
    const rename = async (stores: Stores, i: number) => {
      const answer = await stores.accounts.update(`acc_x${i}`, { name: "same" }).catch(String);
      return typeof answer === "string" ? answer : "renamed";
    };
    const { renamed, ...others } = await atOnce(rename);
    expect(renamed).toBe(1);
    expect(Object.keys(others)).toEqual(["taken"]);
  });

  test("transactions that wait for each other in a ring are begun anew, and all are done", async () => {
    const ids = ["acc_x0", "acc_x1", "acc_x2"];
    for (const id of ids) await one().accounts.insert({ id, name: id, created_at: 1, suspended_at: null });
    let begun = 0;
    const met = Promise.withResolvers<void>();
    await Promise.all(
      nodes.map(({ scope }, n) =>
        scope.transact(async (within) => {
          const { accounts } = storesOver(within);
          await accounts.lock(ids[n] as string);
          // Each has its own row before any asks for the next one's.
          if (++begun === 3) met.resolve();
          await met.promise;
          await accounts.lock(ids[(n + 1) % 3] as string);
          await accounts.update(ids[(n + 1) % 3] as string, { suspended_at: n + 1 });
        }),
      ),
    );
    expect(begun).toBeGreaterThan(3);
    const rows = await Promise.all(ids.map((id) => one().accounts.find(id)));
    expect(rows.map((row) => row?.suspended_at)).toEqual([3, 1, 2]);
  });

  test.each([
    ["40001", 10],
    ["40P01", 10],
    ["55P03", 5],
  ])("a transaction that always ends with %s is given up after %d tries, as for a lock", async (code, most) => {
    let tries = 0;
    const failing = (nodes[0] as { readonly scope: Scope }).scope.transact(async () => {
      tries++;
      throw Object.assign(new Error("it met another"), { code });
    });
    const error = await failing.catch((thrown: unknown) => thrown);
    expect(troubleOf(error)).toBe("locked");
    expect(asRefusal(error).reason).toBe(Reason.STORAGE_UNAVAILABLE);
    expect(tries).toBe(most);
  });

  /** Adds a key to the account, of which something is due. */
  async function aKeyWithDues(): Promise<void> {
    const key = { account_id: "acc_1", name: "k", secret_mask: "m", created_at: 1 };
    await one().keys.insert({ id: "key_1", secret_hash: "h", ...key } as never);
    const { scope } = nodes[1] as { readonly scope: Scope };
    const names: Record<string, string> = { account_id: "acc_1", key_id: "key_1", model: "m" };
    const values = sql.join(dueColumns.map((name) => names[name] ?? 0));
    await sql`INSERT INTO due_sums (${sql.join(dueColumns.map((name) => sql.ref(name)))}) VALUES (${values})`.execute(
      scope.db,
    );
  }

  test("a key is changed once its account is not locked any more", async () => {
    await aKeyWithDues();
    const { scope } = nodes[1] as { readonly scope: Scope };
    const locked = Promise.withResolvers<void>();
    const locking = scope.transact(async (within) => {
      await storesOver(within).accounts.lock("acc_1");
      locked.resolve();
      await delay(1_500);
    });
    await locked.promise;
    expect(await kindOf(one().keys.update("acc_1", "key_1", { credit_limit: 5 }))).toBe("updated");
    await locking;
  });

  const newSecret = { hash: "h2", mask: "m", previousUntil: null };

  test.each<[string, (keys: Stores["keys"]) => Promise<unknown>]>([
    ["changed", (keys) => keys.update("acc_1", "key_1", { credit_limit: 5 })],
    ["rotated", (keys) => keys.rotate("acc_1", "key_1", newSecret)],
    ["made an administrator's", (keys) => keys.setAdministrator("acc_1", "key_1", true)],
  ])("a key that is %s locks its account first, as calls do, so that none waits for the other", async (_, change) => {
    await aKeyWithDues();
    let changing: Promise<unknown> | undefined;
    // As a call is decided: its account, and then its key. A ring of locks would end this transaction, or have it begun anew.
    let begun = 0;
    await (nodes[1] as { readonly scope: Scope }).scope.transact(async ({ db, lock }) => {
      begun++;
      await lock(db.selectFrom("accounts").select("id").where("id", "=", "acc_1"));
      changing ??= change(one().keys);
      await delay(200);
      await sql`SELECT set_config('lock_timeout', '500', true)`.execute(db);
      await lock(db.selectFrom("api_keys").select("id").where("id", "=", "key_1"));
    });
    expect(begun).toBe(1);
    await changing;
  });

  test("another account's key is neither changed nor locked", async () => {
    await aKeyWithDues();
    await one().accounts.insert({ id: "acc_2", name: "two", created_at: 1, suspended_at: null });
    await (nodes[1] as { readonly scope: Scope }).scope.transact(async ({ db, lock }) => {
      await lock(db.selectFrom("api_keys").select("id").where("id", "=", "key_1"));
      expect(await kindOf(one().keys.update("acc_2", "key_1", { credit_limit: 5 }))).toBe("absent");
      expect(await one().keys.rotate("acc_2", "key_1", newSecret)).toBeUndefined();
      expect(await one().keys.setAdministrator("acc_2", "key_1", true)).toBeUndefined();
    });
    expect(await one().keys.find("acc_1", "key_1")).toMatchObject({
      secret_hash: "h",
      is_admin: 0,
      credit_limit: null,
    });
  });

  test("one claims a code, and its account is recharged once", async () => {
    const code = {
      id: "cod_1",
      batch_id: "b",
      code_hash: "h",
      code_mask: "m",
      amount: 500,
      note: null,
      created_at: 1,
      expires_at: null,
    };
    await one().redeemCodes.insert([code]);
    const claim = (stores: Stores, i: number) =>
      kindOf(stores.redeemCodes.claim({ codeHash: "h", accountId: "acc_1", entryId: `led_${i}`, now }));
    expect(await atOnce(claim)).toEqual({ recorded: 1, claimed: 11 });
    expect(await one().accounts.find("acc_1")).toMatchObject({ balance: 500, recharged: 500 });
  });

  test("no more is returned than was recharged", async () => {
    await one().entries.record(anEntry("led_0", 1, 500));
    const refund = (stores: Stores, i: number) => kindOf(stores.entries.record(anEntry(`led_r${i}`, 2, 100)));
    expect(await atOnce(refund)).toEqual({ recorded: 5, short: 7 });
    expect(await one().accounts.find("acc_1")).toMatchObject({ balance: 0, recharged: 0 });
  });

  test("a sum is repaired while its account is written, and by one of two", async () => {
    await one().entries.record(anEntry("led_0", 1, 500));
    const [first, second, third] = nodes.map(({ scope }) => scope) as [Scope, Scope, Scope];
    await sql`UPDATE accounts SET balance = balance + 7`.execute(first.db);
    const proofs = [first, second].map(({ db }) => proveAndRepair(db, { now, isRepairing: true }));
    for (const proving of proofs) expect((await proving.next()).value).toMatchObject({ kind: "balance" });
    const locked = Promise.withResolvers<void>();
    const writing = third.transact(async ({ db }) => {
      await sql`UPDATE accounts SET time_zone = 'Asia/Tokyo'`.execute(db);
      locked.resolve();
      await delay(300);
    });
    await locked.promise;
    const ended = await Promise.allSettled(proofs.map((proving) => proving.next()));
    await writing;
    expect(ended.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    expect(ended).toContainEqual(
      expect.objectContaining({
        value: expect.objectContaining({
          done: true,
          value: expect.objectContaining({ repaired: ["balance of acc_1"] }),
        }),
      }),
    );
    expect(ended).toContainEqual(
      expect.objectContaining({
        reason: expect.objectContaining({ message: expect.stringContaining("repaired sums meanwhile") }),
      }),
    );
    expect(await one().accounts.find("acc_1")).toMatchObject({ balance: 500, time_zone: "Asia/Tokyo" });
  });

  test("an account has no more keys than it may have", async () => {
    const insert = (stores: Stores, i: number) =>
      stores.keys.insert(
        {
          id: `key_${i}`,
          account_id: "acc_1",
          name: "k",
          secret_hash: `h${i}`,
          secret_mask: "m",
          created_at: 1,
        } as never,
        5,
      );
    expect(await atOnce(insert)).toEqual({ true: 5, false: 7 });
  });

  test("a key is rotated or revoked, and a revoked one has no new secret", async () => {
    await one().keys.insert({
      id: "key_1",
      account_id: "acc_1",
      name: "k",
      secret_hash: "h",
      secret_mask: "m",
      created_at: 1,
    } as never);
    await atOnce(async (stores, i) =>
      i % 3 === 0
        ? stores.keys.revoke("key_1", now)
        : stores.keys.rotate("acc_1", "key_1", { hash: `h${i}`, mask: "m", previousUntil: null }),
    );
    expect(await one().keys.findWithAccount("key_1")).toMatchObject({ revoked_at: now });
    expect(await one().keys.rotate("acc_1", "key_1", { hash: "late", mask: "m", previousUntil: null })).toBeUndefined();
  });

  const aUser = (id: string, email: string) => ({
    id,
    account_id: "acc_1",
    email,
    password_hash: "x",
    created_at: 1,
    is_operator: 1,
  });

  test("one gets an address", async () => {
    expect(await atOnce((stores, i) => stores.users.insert(aUser(`usr_${i}`, "a@example.com")))).toEqual({
      true: 1,
      false: 11,
    });
  });

  test("an operator is left, whoever is demoted or removed", async () => {
    for (let i = 0; i < 12; i++) await one().users.insert(aUser(`usr_${i}`, `${i}@example.com`));
    const answers = await atOnce((stores, i) =>
      i % 2 ? stores.users.remove(`usr_${i}`) : stores.users.setOperator(`usr_${i}`, false),
    );
    expect(answers.last).toBe(1);
    expect(await one().users.countOperators()).toBe(1);
  });

  test("a code of the authenticator, and a recovery code, work once", async () => {
    await one().users.insert(aUser("usr_1", "a@example.com"));
    await one().users.setPendingFactor("usr_1", "S");
    await one().users.enableFactor("usr_1", { secret: "S", step: 1, recoveryHashes: ["a", "b"] });
    expect(await atOnce((stores) => stores.users.useStep("usr_1", 7))).toEqual({ true: 1, false: 11 });
    expect(await atOnce((stores) => stores.users.useRecoveryCode("usr_1", "a"))).toEqual({ true: 1, false: 11 });
    expect(await atOnce((stores, i) => stores.users.useRecoveryCode("usr_1", i % 2 ? "b" : "none"))).toEqual({
      true: 1,
      false: 11,
    });
  });

  /** Does something on one node, and before that is committed something on another, which has to wait for it. */
  async function whileForgotten(work: (stores: Stores) => Promise<unknown>, other: (stores: Stores) => unknown) {
    let forgetting: unknown;
    await (nodes[1] as { readonly scope: Scope }).scope.transact(async (within) => {
      await work(storesOver(within));
      forgetting = other(one());
      await delay(200);
    });
    await forgetting;
  }

  describe("a key of yesterday that is used again while another node forgets what is old", () => {
    const claim = (key: string, at: number, id: string) => ({
      ...{ accountId: "acc_1", keyHash: key, requestHash: "r", requestId: id, node: `nod_${id}` },
      ...{ now: at, expiresAt: at + 90_000 },
    });
    const once = ({ idempotency }: Stores, key: string, at: number, id: string) =>
      idempotency.once({ scope: "s", key, fingerprint: "f" }, at, async () => id);

    test("makes nothing twice", async () => {
      await once(one(), "k", now - day, "led_old");
      await once(one(), "l", now - day, "led_old_2");
      const again = async (within: Stores) =>
        expect(await once(within, "k", now, "led_new")).toEqual({ kind: "done", resultId: "led_new" });
      // The work of the one has not ended, and its own deletion has not come.
      await whileForgotten(again, (stores) => once(stores, "m", now, "led_m"));
      expect(await once(one(), "k", now, "led_twice")).toEqual({ kind: "replayed", resultId: "led_new" });
    });

    test("calls no model twice", async () => {
      await one().replays.claim(claim("k", now - day, "req_old"));
      await one().replays.keep(claim("k", now - day, "req_old"), Buffer.from("old"));
      const again = async ({ replays }: Stores) =>
        expect(await replays.claim(claim("k", now, "req_new"))).toEqual({ kind: "claimed" });
      await whileForgotten(again, ({ replays }) => replays.claim(claim("m", now, "req_m")));
      expect(await one().replays.claim(claim("k", now, "req_twice"))).toEqual({ kind: "running" });
    });
  });

  test("an answer that goes on at the moment at which it expires is kept", async () => {
    const response = (id: string, previous_id: string | null, created_at: number, expires_at: number) => ({
      ...{ id, account_id: "acc_1", previous_id, created_at, expires_at, input: "[1]", response: "{}" },
    });
    await one().responses.insert(response("resp_1", null, now - day, now), 9);
    await whileForgotten(
      ({ responses }) => responses.insert(response("resp_2", "resp_1", now - 1, now + day), 9),
      ({ responses }) => responses.insert(response("resp_3", null, now, now + day), 9),
    );
    expect((await one().responses.line("acc_1", "resp_2", now)).map(({ id }) => id)).toEqual(["resp_2", "resp_1"]);
  });

  test("a link is used once", async () => {
    const link = {
      id: "lnk_1",
      kind: 2,
      token_hash: "h",
      account_id: null,
      user_id: null,
      email: null,
      created_at: 1,
      expires_at: now + day,
      used_at: null,
    };
    await one().links.insert(link);
    expect(await atOnce(async (stores) => (await stores.links.use("h", 2, now)) !== undefined)).toEqual({
      true: 1,
      false: 11,
    });
  });

  test("one call claims a replay, and one whose process died is claimed by one", async () => {
    const claim = (i: number, at: number) => ({
      ...{
        accountId: "acc_1",
        keyHash: "k",
        requestHash: "r",
        requestId: `req_${i}`,
        node: `nod_${i}`,
        now: at,
        expiresAt: at + 1000,
      },
    });
    expect(await atOnce((stores, i) => kindOf(stores.replays.claim(claim(i, now))))).toEqual({
      claimed: 1,
      running: 11,
    });
    expect(await atOnce((stores, i) => kindOf(stores.replays.claim(claim(20 + i, now + 5000))))).toEqual({
      expired: 12,
    });
    const { node: endedNode } = (await one().replays.claim(claim(40, now + 5000))) as { node: string };
    const take = (i: number) => ({ ...claim(40 + i, now + 5000), endedNode });
    expect(await atOnce((stores, i) => kindOf(stores.replays.claim(take(i))))).toEqual({
      claimed: 1,
      running: 11,
    });
  });

  test("what is done under an Idempotency-Key is done once", async () => {
    let made = 0;
    const once = (stores: Stores, i: number) =>
      kindOf(
        stores.idempotency.once({ scope: "s", key: "k", fingerprint: "f" }, now, async () => {
          made++;
          return `id_${i}`;
        }),
      );
    const answers = await atOnce(once);
    expect(answers).toEqual({ done: 1, replayed: 11 });
    expect(made).toBeLessThanOrEqual(12);
  });

  test("responses of an account stay within its bound", async () => {
    const response = (i: number) => ({
      id: `resp_${i}`,
      account_id: "acc_1",
      previous_id: null,
      created_at: now + i,
      expires_at: now + day,
      input: "[]",
      response: "{}",
    });
    await atOnce((stores, i) => stores.responses.insert(response(i), 3));
    await one().responses.insert(response(99), 3);
    const ids = Array.from({ length: 100 }, (_, i) => `resp_${i}`);
    expect(await one().responses.find("acc_1", ids, now)).toHaveLength(3);
  });
});
