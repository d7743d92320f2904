/**
 * Keys: what an account's administrators may do with them. By the service itself, over a real database; the doors are
 * tested elsewhere.
 */

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { ReasonSchema } from "../../../gen/modelgateway/v1/errors_pb.ts";
import { KeyService } from "../../../gen/modelgateway/v1/keys_pb.ts";
import { type Answer, anyRoom, type Call, type Caller, here, nobody } from "../../../src/call/call.ts";
import { newCallRecord } from "../../../src/call/call-record.ts";
import { asRefusal, Reason } from "../../../src/call/refusals.ts";
import { defaultTiers } from "../../../src/call/tiers.ts";
import { readForm } from "../../../src/doors/body/form.ts";
import { createValidate } from "../../../src/pipeline/check/validate.ts";
import { newId } from "../../../src/runtime/ids.ts";
import { hashKeySecret } from "../../../src/runtime/secrets.ts";
import { type IssueKeyInit, issueKey } from "../../../src/services/keys/issue-key.ts";
import { keyService } from "../../../src/services/keys/keys.ts";
import type { Storage } from "../../../src/storage/storage.ts";
import { createCatalog } from "../../../src/targets/catalog.ts";
import type { JsonObject, JsonValue } from "../../../src/wire/json.ts";
import { Wire } from "../../../src/wire/wire.ts";
import { directMoney } from "../../support/money/direct.ts";
import { newTestDatabase, type TestDatabase } from "../../support/storage/test-database.ts";
import { accepted, type Body, caseModels, caseTime, type KeyCase, type Rpc, refused } from "./key-cases.ts";

const maxKeys = 5000;
const dayMs = 86_400_000;
const [free] = defaultTiers;
const validate = createValidate();

let database: TestDatabase;
let storage: Storage;
let service: ReturnType<typeof keyService>;
let time = caseTime;

beforeAll(async () => {
  database = await newTestDatabase();
  storage = await database.open();
  service = keyService({
    budgets: storage.budgets,
    keys: storage.keys,
    transact: storage.transact,
    recall: storage.recall,
    allKnow: storage.allKnow,
    catalog: createCatalog(caseModels),
    clock: () => time,
    settings: () => ({ maxKeysPerAccount: maxKeys }),
    unit: "JPY",
    countCreation: () => () => {},
    accountRate: () => ({ tier: free as (typeof defaultTiers)[0], requestsRemaining: 59 }),
  });
});

afterAll(async () => {
  await storage.close();
  await database.remove();
});

beforeEach(() => {
  time = caseTime;
});

/** newAdmin creates an account with an administrator key. */
async function newAdmin(): Promise<Caller> {
  const accountId = newId("acc", time);
  await storage.accounts.insert({ id: accountId, name: accountId, created_at: time, suspended_at: null });
  const { key } = await issueKey(storage.keys, { accountId, name: "admin", admin: true, now: time });
  return { ...nobody, rights: "admin", accountId, keyId: key.id, tier: free };
}

function newKey({ accountId }: Caller, init: Partial<IssueKeyInit> = {}) {
  return issueKey(storage.keys, { accountId, name: "there", admin: false, now: time, ...init });
}

/** The key that the cases speak of. */
async function caseKey(caller: Caller) {
  return await newKey(caller, { creditLimit: 5_000_000, models: '["small"]', expiresAt: caseTime + dayMs });
}

interface Reply {
  readonly status: number;
  /** json is the answer; empty if it was refused. */
  readonly json: JsonObject;
  readonly reason?: string | undefined;
  readonly param?: string | undefined;
  readonly message?: string;
}

type Headers = Readonly<Record<string, string>>;

async function send(caller: Caller, rpc: Rpc | "describeKey", body: Body, headers: Headers = {}): Promise<Reply> {
  const method = KeyService.method[rpc];
  try {
    const json = body === "empty" ? {} : "form" in body ? readForm(method.input, Buffer.from(body.form)) : body.json;
    const request = Wire.ofBytes(method.input, Buffer.from(JSON.stringify(json)));
    validate(request);
    const signal = new AbortController().signal;
    const call = {
      id: "req_1",
      method,
      header: (name: string) => headers[name],
      peer: here,
      caller,
      request,
      body: anyRoom,
      signal,
      record: newCallRecord(),
    };
    const answer = await (service[rpc] as (call: Call) => Promise<Answer>)(call);
    if (answer.kind !== "whole") throw new Error("a stream");
    return { status: 200, json: JSON.parse(answer.body.bytes().toString()) as JsonObject };
  } catch (error) {
    const { status, reason, param, message, cause } = asRefusal(error);
    if (reason === Reason.INTERNAL) throw cause;
    return { status, json: {}, reason: ReasonSchema.value[reason]?.localName, param, message };
  }
}

async function ask(caller: Caller, rpc: Rpc | "describeKey", json: JsonObject = {}, headers: Headers = {}) {
  const reply = await send(caller, rpc, { json }, headers);
  expect(reply, reply.message).toMatchObject({ status: 200 });
  return reply.json;
}

async function listed(caller: Caller): Promise<JsonObject[]> {
  return (await ask(caller, "listKeys")).keys as JsonObject[];
}

const keyOf = (json: JsonObject) => json.key as JsonObject;

/** eachBody sends each body of the case with an account of its own, and returns its keys before and after. */
async function eachBody(
  { rpc, bodies }: KeyCase,
  check: (reply: Reply, before: JsonValue, after: JsonValue) => void,
): Promise<void> {
  const count = bodies("").length;
  expect(count).toBeGreaterThan(0);
  for (let i = 0; i < count; i++) {
    const caller = await newAdmin();
    const { key } = await caseKey(caller);
    const before = await listed(caller);
    const body = bodies(key.id)[i] as Body;
    const reply = await send(caller, rpc, body);
    try {
      check(reply, before, await listed(caller));
    } catch (error) {
      throw new Error(`for ${JSON.stringify(body).slice(0, 200)}: ${(error as Error).message}`);
    }
  }
}

describe("a request", () => {
  for (const one of accepted) {
    test(one.title, () =>
      eachBody(one, (reply, _, after) => {
        expect(reply.message).toBeUndefined();
        const { key } = one.expected as { key: JsonObject };
        const answered = keyOf(reply.json);
        for (const [name, value] of Object.entries(key)) expect(answered[name], name).toEqual(value);
        const { secret: _secret, ...masked } = answered;
        expect(after).toContainEqual(masked);
      }),
    );
  }
  for (const one of refused) {
    test(`${one.title}, and changes nothing`, () =>
      eachBody(one, (reply, before, after) => {
        const { says, ...expected } = one.expected as { status: number; says?: RegExp };
        expect(reply).toMatchObject(expected);
        if (says) expect(reply.message).toMatch(says);
        expect(after).toEqual(before);
      }));
  }
});

describe("a secret", () => {
  test("is told when it is made, and never again", async () => {
    const caller = await newAdmin();
    const made = await send(caller, "createKey", { json: { name: "k" } });
    const { secret, id, secret_mask } = keyOf(made.json) as Record<string, string>;
    expect(secret).toMatch(/^sk-[\w-]{43}$/);
    expect(secret_mask).toBe(`${secret?.slice(0, 4)}…${secret?.slice(-4)}`);
    const later = [
      await send(caller, "listKeys", "empty"),
      await send(caller, "updateKey", { json: { id: id as string, name: "n" } }),
      await send({ ...caller, keyId: id as string }, "describeKey", "empty"),
      await send(caller, "deleteKey", { json: { id: id as string } }),
    ];
    for (const reply of later) {
      expect(reply.status).toBe(200);
      expect(JSON.stringify(reply)).not.toContain(secret);
      expect(JSON.stringify(reply)).not.toContain('"secret"');
    }
    expect((await storage.keys.findBySecretHash(hashKeySecret(secret as string), time))?.id).toBe(id);
  });

  test("that stands where an id belongs is not repeated", async () => {
    const caller = await newAdmin();
    const { secret } = await newKey(caller);
    for (const rpc of ["updateKey", "rotateKey", "deleteKey"] as const) {
      const reply = await send(caller, rpc, { json: { id: secret } });
      expect(reply).toMatchObject({ status: 404, reason: "RESOURCE_NOT_FOUND", param: "id" });
      expect(JSON.stringify(reply)).not.toContain(secret);
    }
  });

  test("stays valid after a rotation for a day, or as long as is asked", async () => {
    const caller = await newAdmin();
    for (const [overlap, ms] of [
      [undefined, dayMs],
      [null, dayMs],
      [60, 60_000],
      [2_592_000, 30 * dayMs],
    ] as const) {
      const { key, secret } = await newKey(caller);
      const request = { id: key.id, ...(overlap === undefined ? {} : { overlap_seconds: overlap }) };
      const rotated = keyOf(await ask(caller, "rotateKey", request));
      expect(rotated.previous_secret_expires_at).toBe(new Date(time + ms).toISOString());
      expect(rotated.secret).not.toBe(secret);
      const finds = async (text: string, at: number) =>
        (await storage.keys.findBySecretHash(hashKeySecret(text), at))?.id;
      expect(await finds(rotated.secret as string, time)).toBe(key.id);
      expect(await finds(secret, time + ms - 1)).toBe(key.id);
      expect(await finds(secret, time + ms)).toBeUndefined();
      time += ms;
      const after = (await listed(caller)).find(({ id }) => id === key.id);
      expect(after).toMatchObject({ id: key.id, secret_mask: rotated.secret_mask });
      expect(after).not.toHaveProperty("previous_secret_expires_at");
      time = caseTime;
    }
  });

  test("is over at once where no overlap is asked", async () => {
    const caller = await newAdmin();
    const { key, secret } = await newKey(caller);
    const rotated = keyOf(await ask(caller, "rotateKey", { id: key.id, overlap_seconds: 0 }));
    expect(rotated).not.toHaveProperty("previous_secret_expires_at");
    expect(await storage.keys.findBySecretHash(hashKeySecret(secret), time)).toBeUndefined();
  });
});

describe("another account's key", () => {
  test("is as unknown as one that never was, and stays as it is", async () => {
    const [mine, other] = [await newAdmin(), await newAdmin()];
    const { key } = await caseKey(other);
    const unknown = "key_000000000000000000000000z";
    const before = await listed(other);
    for (const rpc of ["updateKey", "rotateKey", "deleteKey"] as const) {
      const request = rpc === "updateKey" ? { name: "mine", credit_limit: "0" } : {};
      const refusal = await send(mine, rpc, { json: { ...request, id: key.id } });
      expect(refusal).toMatchObject({ status: 404, reason: "RESOURCE_NOT_FOUND" });
      const same = await send(mine, rpc, { json: { ...request, id: unknown } });
      expect(JSON.stringify(refusal).replaceAll(key.id, unknown)).toBe(JSON.stringify(same));
    }
    expect(await listed(other)).toEqual(before);
    expect(await storage.keys.findBySecretHash(key.secret_hash, time)).toMatchObject({ id: key.id, revoked_at: null });
  });

  test("is not listed, nor reached by its page token", async () => {
    const other = await newAdmin();
    await newKey(other);
    time += 1;
    const mine = await newAdmin();
    const { next_page_token } = await ask(other, "listKeys", { page_size: 1 });
    const page = await ask(mine, "listKeys", { page_token: next_page_token as string });
    expect((page.keys as JsonObject[]).map(({ name }) => name)).toEqual(["admin"]);
  });
});

describe("a credit limit", () => {
  test("is not set below what is spent and reserved, and the refusal says what that is", async () => {
    const caller = await newAdmin();
    await storage.entries.record({
      ...{ id: newId("led", time), accountId: caller.accountId, kind: 1, amount: 10_000_000 },
      ...{ note: null, now: time },
    });
    const { key } = await newKey(caller, { creditLimit: 5_000_000 });
    const hold = (requestId: string, wanted: number) =>
      directMoney(storage).hold({
        ...{ requestId, accountId: caller.accountId, keyId: key.id, operation: "chat", model: "small" },
        ...{ max: wanted, min: wanted, now: time },
      });
    expect(await hold("req_a", 1_250_000)).toMatchObject({ kind: "held" });
    const change = (credit_limit: string) =>
      send(caller, "updateKey", { json: { id: key.id, credit_limit, name: "n" } });
    expect(await change("1.249999")).toMatchObject({
      ...{ status: 400, reason: "INVALID_VALUE", param: "credit_limit" },
      message: expect.stringMatching(/0\.00 JPY spent and 1\.25 JPY reserved; expected at least 1\.25/),
    });
    expect((await listed(caller)).find(({ id }) => id === key.id)).toMatchObject({
      name: "there",
      credit_limit: "5.00",
    });
    expect(await change("1.25")).toMatchObject({ status: 200 });
    expect((await listed(caller)).find(({ id }) => id === key.id)).toMatchObject({ name: "n", held: "1.25" });
    expect(await hold("req_b", 1)).toEqual({ kind: "short", of: "limit", available: 0 });
    expect(keyOf(await ask(caller, "updateKey", { id: key.id, credit_limit: null }))).not.toHaveProperty(
      "credit_limit",
    );
  });
});

describe("the list", () => {
  test("has the account's working keys, oldest first", async () => {
    const caller = await newAdmin();
    const names = ["b", "a", "c"];
    for (const name of names) {
      time += 1;
      await newKey(caller, { name });
    }
    expect((await listed(caller)).map(({ name }) => name)).toEqual(["admin", ...names]);
    const gone = (await listed(caller))[2]?.id as string;
    expect(await ask(caller, "deleteKey", { id: gone })).toEqual({ id: gone });
    expect((await listed(caller)).map(({ name }) => name)).toEqual(["admin", "b", "c"]);
    expect(await send(caller, "deleteKey", { json: { id: gone } })).toMatchObject({ status: 404 });
  });

  test("comes in pages that miss none and repeat none, whatever is deleted between them", async () => {
    const caller = await newAdmin();
    for (let i = 0; i < 9; i++) {
      time += 1;
      await newKey(caller, { name: `k${i}` });
    }
    const all = (await listed(caller)).map(({ id }) => id as string);
    const seen: string[] = [];
    let token: JsonValue = null;
    do {
      // Null asks for the beginning: so a client may pass on what it has not got yet.
      const page = await ask(caller, "listKeys", { page_size: 3, page_token: token });
      const ids = (page.keys as JsonObject[]).map(({ id }) => id as string);
      expect(ids.length).toBeLessThanOrEqual(3);
      seen.push(...ids);
      // Where the next page begins is where this one ended, though that key is gone.
      await ask(caller, "deleteKey", { id: ids.at(-1) as string });
      token = page.next_page_token ?? null;
    } while (token !== null);
    expect(seen).toEqual(all);
    expect(await ask(caller, "listKeys", { page_size: 7 })).not.toHaveProperty("next_page_token");
  });
});

test("an account has at most 5,000 keys, and room again when one is deleted", async () => {
  const caller = await newAdmin();
  // One is its own. To make them one by one takes a minute on Postgres.
  await database.query(
    `INSERT INTO api_keys (id, account_id, name, secret_hash, secret_mask, created_at)
     WITH RECURSIVE numbers(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM numbers WHERE i < CAST(? AS integer))
     SELECT 'key_' || i, CAST(? AS text), 'many', 'hash ' || i, 'm', CAST(? AS bigint) FROM numbers`,
    ...[maxKeys, caller.accountId, time],
  );
  expect(await send(caller, "createKey", { json: { name: "one too many" } })).toMatchObject({
    ...{ status: 409, reason: "CONFLICT" },
    message: expect.stringContaining("5000"),
  });
  const all = await listed(caller);
  expect(all).toHaveLength(maxKeys);
  await ask(caller, "deleteKey", { id: all[1]?.id as string });
  await ask(caller, "createKey", { name: "in its place" });
  expect(await send(caller, "createKey", { json: { name: "again one too many" } })).toMatchObject({ status: 409 });
  await ask(await newAdmin(), "createKey", { name: "another account's" });
});

describe("an Idempotency-Key", () => {
  const headers = { "idempotency-key": "once" };

  test("makes one key of a request that is repeated, and tells its secret once", async () => {
    const caller = await newAdmin();
    const first = keyOf(await ask(caller, "createKey", { name: "k", models: ["small"] }, headers));
    time += dayMs - 1;
    const { secret, ...rest } = first;
    expect(secret).toBeTypeOf("string");
    expect(keyOf(await ask(caller, "createKey", { models: ["small"], name: "k" }, headers))).toEqual(rest);
    const form = await send(caller, "createKey", { form: "models[]=small&name=k" }, headers);
    expect(keyOf(form.json)).toEqual(rest);
    expect(await listed(caller)).toHaveLength(2);
  });

  test("makes another key a day later", async () => {
    const caller = await newAdmin();
    await ask(caller, "createKey", { name: "k" }, headers);
    time += dayMs;
    expect(keyOf(await ask(caller, "createKey", { name: "other" }, headers))).toHaveProperty("secret");
    expect(await listed(caller)).toHaveLength(3);
  });

  test("rotates a key once, and tells its secret once", async () => {
    const caller = await newAdmin();
    const { id } = keyOf(await ask(caller, "createKey", { name: "k" }));
    const first = keyOf(await ask(caller, "rotateKey", { id: id as string }, headers));
    time += dayMs - 1;
    const { secret, ...rest } = first;
    expect(secret).toBeTypeOf("string");
    expect(keyOf(await ask(caller, "rotateKey", { id: id as string }, headers))).toEqual(rest);
    const other = { id: id as string, overlap_seconds: 0 };
    const reply = await send(caller, "rotateKey", { json: other }, headers);
    expect(reply).toMatchObject({ status: 409, reason: "IDEMPOTENCY_CONFLICT" });
  });

  test("refuses another request", async () => {
    const caller = await newAdmin();
    await ask(caller, "createKey", { name: "k", credit_limit: "1" }, headers);
    for (const json of [{ name: "l", credit_limit: "1" }, { name: "k" }, { name: "k", credit_limit: "2" }]) {
      const reply = await send(caller, "createKey", { json }, headers);
      expect(reply).toMatchObject({ status: 409, reason: "IDEMPOTENCY_CONFLICT" });
    }
    expect(await listed(caller)).toHaveLength(2);
  });

  test("is the account's own", async () => {
    for (const caller of [await newAdmin(), await newAdmin()]) {
      expect(keyOf(await ask(caller, "createKey", { name: caller.accountId }, headers))).toHaveProperty("secret");
    }
  });

  test("is free again where the request was refused", async () => {
    const caller = await newAdmin();
    const models = ["no-such-model"];
    expect(await send(caller, "createKey", { json: { name: "k", models } }, headers)).toMatchObject({ status: 400 });
    expect(keyOf(await ask(caller, "createKey", { name: "k" }, headers))).toHaveProperty("secret");
  });

  test("repeats what was good when it was first asked", async () => {
    const caller = await newAdmin();
    const request = { name: "k", expires_at: new Date(time + 1000).toISOString() };
    const { id } = keyOf(await ask(caller, "createKey", request, headers));
    time += 2000;
    expect(keyOf(await ask(caller, "createKey", request, headers)).id).toBe(id);
    await ask(caller, "deleteKey", { id: id as string });
    expect(await send(caller, "createKey", { json: request }, headers)).toMatchObject({ status: 404 });
  });

  test("is 1 to 255 printable characters", async () => {
    const caller = await newAdmin();
    for (const key of ["", "x".repeat(256), "a\tb", "schlüssel"]) {
      const reply = await send(caller, "createKey", { json: { name: "k" } }, { "idempotency-key": key });
      expect(reply, JSON.stringify(key)).toMatchObject({ status: 400, param: "idempotency-key" });
    }
    await ask(caller, "createKey", { name: "k" }, { "idempotency-key": "x".repeat(255) });
    expect(await listed(caller)).toHaveLength(2);
  });
});

describe("a key's own description", () => {
  test("has its limits, its account's tier and rate, and what it may still spend", async () => {
    const caller = await newAdmin();
    const { key } = await caseKey(caller);
    const own = { ...caller, rights: "key" as const, keyId: key.id };
    expect(await ask(own, "describeKey")).toEqual({
      key: (await listed(caller)).find(({ id }) => id === key.id),
      ...{ tier: "Free", requests_per_minute: 60, requests_remaining: 59, credit_remaining: "0.00", unit: "JPY" },
    });
    await storage.accounts.update(caller.accountId, { postpaid: 1 });
    expect(await ask(own, "describeKey")).toMatchObject({ credit_remaining: "5.00" });
    await ask(caller, "updateKey", { id: key.id, credit_limit: null });
    expect(await ask(own, "describeKey")).not.toHaveProperty("credit_remaining");
  });
});

test("an administrator may delete the key that it calls by", async () => {
  const caller = await newAdmin();
  expect(await ask(caller, "deleteKey", { id: caller.keyId })).toEqual({ id: caller.keyId });
  expect((await storage.keys.findWithAccount(caller.keyId))?.revoked_at).toBe(time);
});
