/**
 * Accounts: the money that comes in, by the operator and by redeem codes, the tier that follows from it, and what an
 * account is told of its usage.
 */

import type { JsonObject } from "@bufbuild/protobuf";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Reason } from "../../../src/call/refusals.ts";
import { newId } from "../../../src/runtime/ids.ts";
import { pageQuery, type RequestFilter, spanOf } from "../../../src/storage/calls/requests-query.ts";
import { openDatabase } from "../../../src/storage/engines/sqlite/database.ts";
import { Running, root } from "../../support/command.ts";
import { type Bank, openBank } from "../../support/money/bank.ts";
import { onSqlite } from "../../support/storage/test-database.ts";

let bank: Bank;
let account: string;

beforeEach(async () => {
  bank = await openBank();
  account = await createAccount("acme");
});

afterEach(() => bank.close());

async function createAccount(name: string, more: JsonObject = {}): Promise<string> {
  const { account } = (await bank.ask("createAccount", { name, ...more })) as { account: { id: string } };
  return account.id;
}

const record = (kind: string, amount: string, idempotencyKey?: string) =>
  bank.ask("recordEntry", { account, kind, amount }, idempotencyKey === undefined ? {} : { idempotencyKey });

async function standing(): Promise<JsonObject> {
  return (await bank.ask("getAccount", {}, { account })).account as JsonObject;
}

describe("an account", () => {
  test("begins with nothing, in the lowest tier, and is told all tiers", async () => {
    const { account: told, tiers, unit } = await bank.ask("getAccount", {}, { account });
    expect(told).toMatchObject({
      id: account,
      name: "acme",
      balance: "0.00",
      held: "0.00",
      recharged: "0.00",
      postpaid: false,
    });
    expect(told).toMatchObject({
      tier: { name: "Free", requests_per_minute: 60 },
      next_tier: { name: "VIP", recharge: "20.00" },
    });
    expect((tiers as JsonObject[]).map(({ name }) => name)).toEqual(["Free", "VIP", "Premium"]);
    expect(unit).toBe("JPY");
  });

  test("rises by recharges, falls by refunds, and not by grants", async () => {
    expect(await record("recharge", "19.999999")).toMatchObject({ account: { tier: { name: "Free" } } });
    expect(await record("grant", "1000")).toMatchObject({
      account: { tier: { name: "Free" }, balance: "1019.999999" },
    });
    expect(await record("recharge", "0.000001")).toMatchObject({ account: { tier: { name: "VIP" } } });
    expect(await record("recharge", "280")).toMatchObject({ account: { tier: { name: "Premium" } } });
    expect((await standing()).next_tier).toBeUndefined();
    expect(await record("refund", "0.01")).toMatchObject({
      entry: { kind: "refund", amount: "-0.01" },
      account: { tier: { name: "VIP" }, recharged: "299.99", balance: "1299.99" },
    });
  });

  test("is refunded no more than was recharged, nor than is left and not reserved", async () => {
    await record("recharge", "10");
    await record("grant", "5");
    expect((await bank.refused("recordEntry", { account, kind: "refund", amount: "10.01" })).message).toContain(
      "Cannot refund 10.01 JPY: 10.00 JPY may be refunded",
    );
    await bank.charge(account, { id: "req_1", key_id: "key_1", cost: 8_000_000 });
    const hold = { requestId: "req_2", accountId: account, keyId: "key_1", operation: "chat", model: "m" };
    const wish = { max: 3_000_000, min: 3_000_000, now: bank.now() };
    expect((await bank.money.hold({ ...hold, ...wish })).kind).toBe("held");
    const refusal = await bank.refused("recordEntry", { account, kind: "refund", amount: "4.000001" });
    expect(refusal).toMatchObject({ reason: Reason.CONFLICT, status: 409 });
    expect(refusal.message).toContain("4.00 JPY may be refunded");
    await record("refund", "4");
    expect(await standing()).toMatchObject({ balance: "3.00", held: "3.00", recharged: "6.00" });
  });

  test("never holds more than can be counted exactly", async () => {
    for (let i = 0; i < 6; i++) await record("grant", "1000000000");
    const refusal = await bank.refused("recordEntry", { account, kind: "grant", amount: "0.000001" });
    expect(refusal).toMatchObject({ reason: Reason.CONFLICT, status: 409 });
    expect(refusal.message).toContain("credited at most 6000000000.00 JPY in its life");
    expect(await bank.refused("recordEntry", { account, kind: "recharge", amount: "1" })).toMatchObject({
      status: 409,
    });
    expect(await standing()).toMatchObject({ balance: "6000000000.00", recharged: "0.00" });
  });

  test("spends no more by many keys and many grants than can be counted exactly", async () => {
    const most = 6_000_000_000;
    for (let i = 0; i < 6; i++) {
      await record("grant", "1000000000");
      await bank.charge(account, { id: newId("req", bank.now()), key_id: `key_${i}`, cost: 1e15 });
    }
    expect(await standing()).toMatchObject({ balance: "0.00" });
    for (const kind of ["grant", "recharge"]) {
      const { reason, message } = await bank.refused("recordEntry", { account, kind, amount: "1" });
      expect(reason).toBe(Reason.CONFLICT);
      expect(message).toContain(`at most ${most}.00`);
    }
    const { codes } = (await bank.ask("createRedeemCodes", { amount: "1" })) as { codes: string[] };
    const claim = await bank.refused("redeemCode", { code: codes[0] as string }, { account });
    expect(claim.message).toContain(`at most ${most}.00`);
    // A claim that is refused leaves the code as it was.
    const other = await createAccount("other");
    await bank.ask("redeemCode", { code: codes[0] as string }, { account: other });
    // Billed afterwards it may owe half as much again: what all its keys have spent then is the greatest sum that is exact.
    await bank.ask("updateAccount", { account, postpaid: true });
    const hold = { accountId: account, keyId: "key_0", operation: "chat", model: "m", now: bank.now() };
    for (const [i, amount] of [1e15, 2e15].entries()) {
      const requestId = newId("req", bank.now() + i);
      expect(await bank.money.hold({ ...hold, requestId, max: amount, min: amount })).toMatchObject({
        kind: "held",
      });
      await bank.charge(account, { id: requestId, key_id: "key_0", cost: amount });
    }
    const refused = { ...hold, requestId: newId("req", bank.now() + 9), max: 1, min: 1 };
    expect((await bank.money.hold(refused)).kind).toBe("short");
    expect(await standing()).toMatchObject({ balance: "-3000000000.00" });
    expect((await bank.storage.reconcile()).findings).toEqual([]);
    expect((await bank.refused("recordEntry", { account, kind: "recharge", amount: "1" })).status).toBe(409);
  });

  test("that is not charged what its calls cost beyond their holds makes the operator's loss, which is summed and proved", async () => {
    expect(await bank.ask("getLosses")).toEqual({ waived: "0.00", cost: "0.00" });
    const other = await createAccount("other");
    await record("grant", "4");
    const call = (cost: number) => ({ id: newId("req", bank.now()), key_id: `key_${cost}`, cost: cost * 1e6 });
    await bank.charge(account, call(3));
    await bank.charge(account, call(7));
    await bank.charge(other, call(2));
    bank.pass(3_600_000 * 2);
    await record("grant", "1");
    await bank.charge(account, { ...call(5), created_at: bank.now() });
    expect(await bank.ask("getLosses")).toEqual({
      waived: "12.00",
      cost: "5.00",
      accounts: [
        { account_id: account, name: "acme", waived: "10.00" },
        { account_id: other, name: "other", waived: "2.00" },
      ],
    });
    const from = new Date(bank.now() - 3_600_000).toISOString();
    expect(await bank.ask("getLosses", { from })).toMatchObject({ waived: "4.00", cost: "1.00" });
    expect(await bank.ask("getLosses", { to: from })).toMatchObject({ waived: "8.00", cost: "4.00" });
    expect((await bank.refused("getLosses", { from, to: from })).status).toBe(400);
    expect((await bank.storage.reconcile()).findings).toEqual([]);
    await bank.tamper("UPDATE usage_hours SET waived = waived + 1 WHERE key_id = 'key_7'");
    const { findings } = await bank.storage.reconcile({ isFull: true });
    expect(findings).toMatchObject([
      { kind: "operators_loss", written: 6_000_001, derived: 6_000_000, isRepairable: true },
    ]);
    await bank.storage.reconcile({ isFull: true, isRepairing: true });
    expect((await bank.storage.reconcile({ isFull: true })).findings).toEqual([]);
    expect(await bank.ask("getLosses")).toMatchObject({ waived: "12.00" });
  });

  test("is found by its name, in any case, and page by page", async () => {
    const other = await createAccount("Łódź 100%");
    const search = async (text: string) =>
      (((await bank.ask("listAccounts", { search: text })).accounts ?? []) as JsonObject[]).map(({ id }) => id);
    expect(await search("łÓDŹ")).toEqual([other]);
    expect(await search("ACM")).toEqual([account]);
    expect(await search(other)).toEqual([other]);
    expect(await search("0%")).toEqual([other]);
    expect(await search("_cme")).toEqual([]);
    const first = await bank.ask("listAccounts", { page_size: 1 });
    expect(first.accounts).toMatchObject([{ id: account }]);
    const next = await bank.ask("listAccounts", { page_size: 1, page_token: first.next_page_token as string });
    expect(next.accounts).toMatchObject([{ id: other }]);
    expect(next.next_page_token).toBeUndefined();
    expect(await bank.refused("listAccounts", { page_token: "x" })).toMatchObject({ status: 400, param: "page_token" });
  });

  test("has a name of its own, and can be renamed, suspended, reinstated, and billed afterwards", async () => {
    expect(await bank.refused("createAccount", { name: "acme" })).toMatchObject({ reason: Reason.CONFLICT });
    const other = await createAccount("other", { postpaid: true });
    expect(await bank.refused("updateAccount", { account: "other", name: "acme" })).toMatchObject({ status: 409 });
    expect(await bank.ask("updateAccount", { account: "other", name: "other", postpaid: false })).toMatchObject({
      account: { id: other, postpaid: false },
    });
    const suspended = await bank.ask("updateAccount", { account, suspended: true });
    bank.pass(5000);
    expect(await bank.ask("updateAccount", { account, suspended: true })).toEqual(suspended);
    expect(suspended).toMatchObject({ account: { suspended_at: "2026-01-02T03:04:05.000Z" } });
    expect((await bank.ask("updateAccount", { account, suspended: false })).account).not.toHaveProperty("suspended_at");
    expect(await bank.refused("updateAccount", { account: "none" })).toMatchObject({ status: 404, param: "account" });
  });
});

describe("an entry", () => {
  test("is recorded once for an idempotency key, and another request under it is refused", async () => {
    const first = await record("recharge", "5", "k");
    expect(await record("recharge", "5.00", "k")).toEqual(first);
    const as = { idempotencyKey: "k" };
    for (const change of [{ amount: "6" }, { kind: "grant" }, { note: "n" }]) {
      const request = { account, kind: "recharge", amount: "5", ...change };
      expect(await bank.refused("recordEntry", request, as)).toMatchObject({ reason: Reason.IDEMPOTENCY_CONFLICT });
    }
    expect(await standing()).toMatchObject({ balance: "5.00" });
    // The refused request recorded nothing, and may be repeated with the same key.
    await bank.refused("recordEntry", { account, kind: "refund", amount: "6" }, { idempotencyKey: "k2" });
    await record("recharge", "1");
    expect(await record("refund", "6", "k2")).toMatchObject({ account: { balance: "0.00" } });
  });

  for (const [name, amount] of Object.entries<JsonObject[string]>({
    negative: "-5",
    zero: "0",
    absurd: "1000000000.000001",
    "more than absurd": "99999999999999999999",
    "over-precise": "0.0000001",
    "no number": "five",
    exponential: "1e3",
    empty: "",
    "a list": ["5"],
  })) {
    test(`whose amount is ${name} is refused`, async () => {
      const refusal = await bank.refused("recordEntry", { account, kind: "recharge", amount });
      expect(refusal).toMatchObject({ status: 400, param: "amount" });
      expect(await standing()).toMatchObject({ balance: "0.00" });
    });
  }

  test("of no known kind, of a charge, and of an unknown account is refused", async () => {
    for (const kind of ["charge", "gift"]) {
      expect(await bank.refused("recordEntry", { account, kind, amount: "5" })).toMatchObject({
        status: 400,
        param: "kind",
      });
    }
    const refusal = await bank.refused("recordEntry", { account: "nobody", kind: "grant", amount: "5" });
    expect(refusal).toMatchObject({ reason: Reason.RESOURCE_NOT_FOUND, status: 404 });
  });

  test("is listed to its account, newest first, by kind, and to no other", async () => {
    for (const kind of ["recharge", "grant"]) {
      bank.pass(1);
      await record(kind, "5");
    }
    const id = newId("req", bank.now() + 1);
    await bank.charge(account, { id, key_id: "key_1", cost: 7 });
    const kinds = async (request: JsonObject, who = account) =>
      (((await bank.ask("listLedger", request, { account: who })).entries ?? []) as JsonObject[]).map(
        ({ kind }) => kind,
      );
    expect(await kinds({})).toEqual(["charge", "grant", "recharge"]);
    expect(await kinds({ kinds: ["recharge", "charge"] })).toEqual(["charge", "recharge"]);
    expect(await kinds({ kinds: ["recharge", "grant"] })).toEqual(["grant", "recharge"]);
    expect(await kinds({}, await createAccount("other"))).toEqual([]);
    const page = await bank.ask("listLedger", { page_size: 2 }, { account });
    expect(page.entries).toMatchObject([{ amount: "-0.000007", request_id: id, key_id: "key_1" }, {}]);
    const rest = await bank.ask("listLedger", { page_token: page.next_page_token as string }, { account });
    expect(rest.entries).toMatchObject([{ kind: "recharge" }]);
  });
});

describe("a redeem code", () => {
  async function issue(more: JsonObject = {}): Promise<{ batch: string; codes: string[] }> {
    const made = await bank.ask("createRedeemCodes", { amount: "25", ...more });
    return { batch: made.batch_id as string, codes: made.codes as string[] };
  }

  test("is a recharge, once, however it is typed", async () => {
    const { codes } = await issue({ note: "spring" });
    const [code = ""] = codes;
    expect(code).toMatch(/^([0-9A-HJKMNP-TV-Z]{5}-){3}[0-9A-HJKMNP-TV-Z]{5}$/);
    const typed = ` ${code.toLowerCase().replaceAll("-", " ").replaceAll("0", "o").replaceAll("1", "l")} `;
    expect(await bank.ask("redeemCode", { code: typed }, { account })).toMatchObject({
      entry: { kind: "recharge", amount: "25.00", note: "spring" },
      account: { balance: "25.00", tier: { name: "VIP" } },
    });
    for (const who of [account, await createAccount("late")]) {
      expect(await bank.refused("redeemCode", { code }, { account: who })).toMatchObject({ reason: Reason.CONFLICT });
    }
    expect(await standing()).toMatchObject({ balance: "25.00" });
  });

  test("that is unknown, has expired or was taken back is refused with the same words, and is not repeated", async () => {
    const expired = await issue({ expires_at: "2026-01-02T03:04:06Z" });
    const revoked = await issue({ count: 2 });
    await bank.ask("redeemCode", { code: revoked.codes[0] as string }, { account });
    expect(await bank.ask("revokeRedeemCodes", { batch_id: revoked.batch })).toEqual({ revoked: 1 });
    expect(await bank.ask("revokeRedeemCodes", { batch_id: revoked.batch })).toEqual({ revoked: 0 });
    bank.pass(1000);
    const words = new Set<string>();
    for (const code of [expired.codes[0], revoked.codes[1], "AAAAA-AAAAA-AAAAA-AAAAA", "?"] as string[]) {
      const refusal = await bank.refused("redeemCode", { code }, { account });
      expect(refusal).toMatchObject({ status: 404, reason: Reason.RESOURCE_NOT_FOUND });
      expect(refusal.message).not.toContain(code);
      words.add(refusal.message);
    }
    expect(words.size).toBe(1);
  });

  test.each(["0", "-5", "1000000000.01"])("is not made of %s, and the bounds are told in units", async (amount) => {
    const refused = bank.ask("createRedeemCodes", { amount });
    await expect(refused).rejects.toMatchObject({
      message: "Invalid value for 'amount': must be more than 0.00, at most 1000000000.00.",
    });
  });

  test("is kept as a hash, and listed masked, newest first", async () => {
    const { codes, batch } = await issue({ count: 3 });
    bank.pass(1);
    await issue();
    await bank.ask("redeemCode", { code: codes[0] as string }, { account });
    const list = (await bank.ask("listRedeemCodes", { batch_id: batch })).codes as JsonObject[];
    expect(list.map(({ mask }) => mask).sort()).toEqual(codes.map((c) => `${c.slice(0, 4)}…`).sort());
    expect(list.filter(({ claimed_by }) => claimed_by === account)).toHaveLength(1);
    const first = await bank.ask("listRedeemCodes", { page_size: 1 });
    expect((first.codes as JsonObject[])[0]?.batch_id).not.toBe(batch);
    const rest = await bank.ask("listRedeemCodes", { page_token: first.next_page_token as string });
    expect(rest.codes).toEqual(list);
    const kept = JSON.stringify(await bank.storage.redeemCodes.page({ limit: 10 }));
    for (const code of codes) expect(kept).not.toContain(code);
  });

  test("in a batch of too many, of no amount or of the past is refused", async () => {
    const refusals: JsonObject[] = [
      { count: 1001 },
      { count: 0 },
      { amount: "0" },
      { expires_at: "2026-01-02T03:04:05Z" },
    ];
    for (const more of refusals) {
      const refusal = await bank.refused("createRedeemCodes", { amount: "5", ...more });
      expect(refusal).toMatchObject({ status: 400, param: Object.keys(more)[0] });
    }
    expect(await bank.refused("revokeRedeemCodes", { batch_id: "bat_none" })).toMatchObject({ status: 404 });
  });

  test("is claimed once by all the connections and processes that try at the same moment", async () => {
    const { codes } = await issue({ count: 20 });
    const claim = `
      const { openAgain } = await import(process.env.STORAGE);
      const { hashRedeemCode } = await import(process.env.CODES);
      const storage = await openAgain();
      console.log("ready");
      await new Promise((resolve) => process.stdin.once("data", resolve));
      process.stdin.destroy();
      const { codes, accountId } = JSON.parse(process.env.TASK);
      const claims = codes.map((code, i) => storage.redeemCodes.claim({
        codeHash: hashRedeemCode(code), accountId, entryId: "led_" + process.pid + "_" + i, now: ${bank.now()},
      }));
      const won = (await Promise.all(claims)).filter(({ kind }) => kind === "recorded");
      console.log("won " + won.length);
      await storage.close();`;
    const env = {
      ...bank.database.variables,
      STORAGE: `${root}/test/support/storage/open-again.ts`,
      CODES: `${root}/src/services/accounts/redeem-codes.ts`,
      TASK: JSON.stringify({ codes, accountId: account }),
    };
    const workers = [1, 2].map(
      () =>
        new Running(process.execPath, ["--input-type=module", "--eval", claim], env, {
          stdio: ["pipe", "pipe", "pipe"],
        }),
    );
    await Promise.all(workers.map((one) => one.shows(/ready/)));
    for (const { child } of workers) child.stdin?.write("go\n");
    const ended = await Promise.all(workers.map(({ ended }) => ended));
    const won = ended.map(({ stdout }) => Number(/won (\d+)/.exec(stdout)?.[1]));
    expect((won[0] ?? 0) + (won[1] ?? 0)).toBe(20);
    expect(await standing()).toMatchObject({ balance: "500.00", recharged: "500.00" });
    expect((await bank.storage.reconcile()).findings).toEqual([]);
    // Another connection of this process also fails to claim it.
    const other = await bank.database.open();
    expect(
      (await other.redeemCodes.claim({ codeHash: "none", accountId: account, entryId: "led_x", now: 0 })).kind,
    ).toBe("none");
    await other.close();
    expect(await bank.refused("redeemCode", { code: codes[0] as string }, { account })).toMatchObject({ status: 409 });
  });
});

describe("usage", () => {
  const hour = 3_600_000;

  /** used charges a call of a key, so many hours after the beginning, and returns its id. */
  async function used(hours: number, key_id: string, model: string, cost: number, outcome = 1): Promise<string> {
    const created_at = bank.now() + hours * hour;
    const id = newId("req", created_at);
    await bank.charge(account, { id, key_id, model, cost, outcome, created_at });
    return id;
  }

  test("lists calls newest first, by key, model, outcome and time", async () => {
    await record("grant", "5");
    const [a, b, c, d] = [
      await used(0, "key_1", "m", 10),
      await used(1, "key_1", "n", 20),
      await used(2, "key_2", "m", 30),
      await used(3, "key_2", "m", 0, 2),
    ];
    const ids = async (filter: JsonObject, more: JsonObject = {}) =>
      ((await bank.ask("listRequests", { filter, ...more }, { account })).requests as JsonObject[]).map(({ id }) => id);
    expect(await ids({})).toEqual([d, c, b, a]);
    expect(await ids({ key_id: "key_1" })).toEqual([b, a]);
    expect(await ids({ model: "m" })).toEqual([d, c, a]);
    expect(await ids({ model: "m", key_id: "key_2", outcomes: ["answered", "left"] })).toEqual([c]);
    expect(await ids({ outcomes: ["failed"] })).toEqual([d]);
    expect(await ids({ from: "2026-01-02T04:04:05Z", to: "2026-01-02T06:04:05Z" })).toEqual([c, b]);
    const page = await bank.ask("listRequests", { page_size: 3 }, { account });
    expect(await ids({}, { page_token: page.next_page_token as string })).toEqual([a]);
    expect(await bank.ask("getRequest", { id: c }, { account })).toEqual({
      request: {
        ...{
          id: c,
          account_id: account,
          key_id: "key_2",
          operation: "chat",
          model: "m",
          upstream: "u",
          outcome: "answered",
          estimated: false,
          cached: false,
          implausible: false,
        },
        usage: {
          ...{ input_tokens: 1, cache_read_tokens: 2, cache_write_tokens: 3, output_tokens: 4 },
          ...{ reasoning_tokens: 1, characters: 0, cache_write_hour_tokens: 0 },
        },
        ...{
          cost: "0.00003",
          waived: "0.00",
          created_at: "2026-01-02T05:04:05.000Z",
          duration_ms: 7,
          first_byte_ms: 3,
        },
      },
    });
  });

  test("tells nobody of another account's calls and keys", async () => {
    await record("grant", "5");
    const id = await used(0, "key_1", "m", 10);
    const other = { account: await createAccount("other") };
    expect(await bank.refused("getRequest", { id }, other)).toMatchObject({ status: 404 });
    expect((await bank.ask("listRequests", {}, other)).requests ?? []).toEqual([]);
    expect((await bank.ask("listRequests", { filter: { key_id: "key_1" } }, other)).requests ?? []).toEqual([]);
    expect((await bank.ask("listUsage", { key_id: "key_1" }, other)).sums ?? []).toEqual([]);
    expect((await bank.csv(other.account, { key_id: "key_1" })).text.trim().split("\r\n")).toHaveLength(1);
  });

  test("sums calls by hour and day, by key and model", async () => {
    await record("grant", "5");
    for (const [hours, key, model, cost] of [
      [0, "key_1", "m", 10],
      [0, "key_2", "n", 20],
      [1, "key_1", "m", 40],
      [25, "key_1", "m", 80],
    ] as const)
      await used(hours, key, model, cost);
    bank.pass(26 * hour);
    const sums = async (request: JsonObject) =>
      ((await bank.ask("listUsage", request, { account })).sums as JsonObject[]).map(
        ({ begins_at, key_id, model, requests, cost }) =>
          [String(begins_at).slice(5, 13), key_id ?? "", model ?? "", requests, cost].join(" "),
      );
    expect(await sums({})).toEqual(["01-02T00   3 0.00007", "01-03T00   1 0.00008"]);
    expect(await sums({ bucket: "hour" })).toEqual([
      "01-02T03   2 0.00003",
      "01-02T04   1 0.00004",
      "01-03T04   1 0.00008",
    ]);
    expect(await sums({ by_key: true, to: "2026-01-03T00:00:00Z" })).toEqual([
      "01-02T00 key_1  2 0.00005",
      "01-02T00 key_2  1 0.00002",
    ]);
    expect(await sums({ by_model: true, by_key: true, model: "n" })).toEqual(["01-02T00 key_2 n 1 0.00002"]);
    expect(await sums({ bucket: "hour", from: "2026-01-02T04:59:59Z", key_id: "key_1" })).toEqual([
      "01-02T04   1 0.00004",
      "01-03T04   1 0.00008",
    ]);
    const backwards = { from: "2026-01-03T00:00:00Z", to: "2026-01-02T00:00:00Z" };
    expect(await bank.refused("listUsage", backwards, { account })).toMatchObject({ status: 400, param: "from" });
    const long = { from: "2020-01-01T00:00:00Z", bucket: "hour" };
    expect(await bank.refused("listUsage", long, { account })).toMatchObject({ status: 400, param: "from" });
  });

  test("is exported as a table that spreadsheets take for text, in pieces", async () => {
    await record("grant", "5");
    const id = await used(0, "key_1", '=cmd|"x",y', 10);
    const { text, contentType } = await bank.csv(account);
    expect(contentType).toBe("text/csv; charset=utf-8");
    const [head, line, ...rest] = text.split("\r\n");
    expect(head).toMatch(
      /^id,created_at,key_id,operation,model,.*,cost,waived,duration_ms,first_byte_ms,cached,cache_write_hour_tokens,implausible,price_id,key_tags,key_owner$/,
    );
    expect(line).toBe(
      `${id},2026-01-02T03:04:05.000Z,key_1,chat,"'=cmd|""x"",y",u,answered,1,2,3,4,1,0,false,0.00001,0.00,7,3,false,0,false,,,`,
    );
    expect(rest).toEqual([""]);
    for (let i = 0; i < 1200; i++) await used(1, "key_1", "m", 1);
    const all = await bank.csv(account);
    const ids = all.text
      .trimEnd()
      .split("\r\n")
      .slice(1)
      .map((row) => row.split(",")[0]);
    expect([ids.length, new Set(ids).size]).toEqual([1201, 1201]);
    expect(all.pieces).toBe(4);
    expect((await bank.csv(account, { to: "2026-01-02T03:30:00Z" })).text.split("\r\n")).toHaveLength(3);
  });

  onSqlite(() =>
    test("is looked up along an index, however it is asked for, and never sorted", async () => {
      const { db, engine } = await openDatabase(bank.database.path);
      const at = Date.UTC(2026, 0, 2);
      const own = { accountId: account };
      const plans: [RequestFilter, string][] = [
        [own, "requests_account"],
        [{ ...own, from: at, to: at }, "requests_account"],
        [{ ...own, keyId: "key_1" }, "requests_account"],
        [{ ...own, keyId: "key_1", outcomes: [2] }, "requests_unanswered"],
        [{ ...own, outcomes: [2, 5] }, "requests_unanswered"],
        [{ ...own, outcomes: [1, 5] }, "requests_account"],
      ];
      for (const [filter, index] of plans) {
        const { sql, parameters } = pageQuery(db, filter, spanOf(filter, "req_2"), 10).compile();
        const plan = engine.prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`).all(...parameters);
        const details = plan.map(({ detail }) => detail).join("; ");
        expect(details, JSON.stringify(filter)).toContain(`SEARCH requests USING INDEX ${index}`);
        expect(details).not.toContain("TEMP B-TREE");
      }
      await db.destroy();
    }),
  );
});
