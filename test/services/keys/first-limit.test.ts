/**
 * A key's first limit is set in two steps, for other gateways have to know first that it has one. Whatever becomes of the second, and
 * whoever else changes the limit between them, the key has the limit that somebody was told of, or none.
 */
import { afterEach, beforeEach, expect, test } from "vitest";
import { KeyService } from "../../../gen/modelgateway/v1/keys_pb.ts";
import { type Answer, anyRoom, type Call, type Caller, here, nobody } from "../../../src/call/call.ts";
import { newCallRecord } from "../../../src/call/call-record.ts";
import { asRefusal } from "../../../src/call/refusals.ts";
import { defaultTiers } from "../../../src/call/tiers.ts";
import { createCredit } from "../../../src/ledger/credit.ts";
import { createKnownKeys, type KnownKeys } from "../../../src/pipeline/admit/known-keys.ts";
import { issueKey } from "../../../src/services/keys/issue-key.ts";
import { keyService } from "../../../src/services/keys/keys.ts";
import type { ApiKey } from "../../../src/storage/keys.ts";
import type { Changes } from "../../../src/storage/money/books.ts";
import { unreachedLimit } from "../../../src/storage/money/bounds.ts";
import type { Storage } from "../../../src/storage/storage.ts";
import { createCatalog } from "../../../src/targets/catalog.ts";
import type { JsonObject } from "../../../src/wire/json.ts";
import { Wire } from "../../../src/wire/wire.ts";
import { directMoney } from "../../support/money/direct.ts";
import { newTestDatabase, type TestDatabase } from "../../support/storage/test-database.ts";

const now = Date.UTC(2026, 0, 2);
const tier = defaultTiers[0] as (typeof defaultTiers)[0];

let database: TestDatabase;
let storage: Storage;
let key: ApiKey;
let caller: Caller;
let callsBy: KnownKeys;

beforeEach(async () => {
  database = await newTestDatabase();
  storage = await database.open();
  await storage.accounts.insert({ id: "acc_1", name: "one", created_at: now, postpaid: 1 });
  ({ key } = await issueKey(storage.keys, { accountId: "acc_1", name: "k", admin: true, now }));
  caller = { ...nobody, rights: "admin", accountId: "acc_1", keyId: key.id, tier };
  const ledger = { credit: createCredit(), flushCallsOf: () => false };
  const changes = { version: () => 0, changedSince: () => false } as unknown as Changes;
  callsBy = createKnownKeys({ keys: storage.keys, settings: () => ({ tiers: defaultTiers }), ledger, changes });
});

afterEach(async () => {
  await storage.close();
  await database.remove();
});

/** What a gateway asks others while it sets a limit. */
type Others = Partial<Pick<Storage, "recall" | "allKnow">>;

/** Updates the key as one gateway does. Returns the key of its answer, or the status of a refusal. */
async function update(change: JsonObject, others: Others = {}): Promise<JsonObject | number> {
  const { budgets, keys, transact, recall, allKnow } = storage;
  const service = keyService({
    ...{ budgets, keys, transact, recall, allKnow, ...others },
    ...{ catalog: createCatalog([]), unit: "JPY", clock: () => now },
    settings: () => ({ maxKeysPerAccount: 10 }),
    countCreation: () => () => {},
    accountRate: () => ({ tier, requestsRemaining: 1 }),
  });
  const method = KeyService.method.updateKey;
  const request = Wire.ofJson(method.input, { id: key.id, ...change });
  const signal = new AbortController().signal;
  const asked = { id: "req_0", method, header: () => undefined, peer: here, caller, request, body: anyRoom, signal };
  const call = { ...asked, record: newCallRecord() } as unknown as Call;
  try {
    const answer = (await (service.updateKey as (call: Call) => Promise<Answer>)(call)) as Answer & { kind: "whole" };
    return answer.body.json().key as JsonObject;
  } catch (error) {
    return asRefusal(error).status;
  }
}

/** Returns the limit that was told, or the status of a refusal. */
async function set(credit_limit: string | null, others?: Others) {
  const key = await update({ credit_limit }, others);
  return typeof key === "number" ? key : key.credit_limit;
}

const rename = () => update({ name: "other" });

function spend(cost: number, id = `req_${cost}`) {
  const usage = { input: 1, cache_read: 0, cache_write: 0, output: 1, reasoning: 0, characters: 0, estimated: 0 };
  const names = { account_id: "acc_1", key_id: key.id, operation: "chat", model: "m", upstream: "u", outcome: 1 };
  const times = { created_at: now, duration_ms: 1, first_byte_ms: 1 };
  return directMoney(storage).captureAll([{ id, ...names, ...usage, ...times, cost }]);
}

const limit = async () => (await storage.keys.find("acc_1", key.id))?.credit_limit;

test("holds until another takes its place, of a request that found none", async () => {
  // While the second asks others for what they hold, the first sets its limit, and is told so. Then others fall silent.
  let recalls = 0;
  const second = await set("3", {
    recall: async () => {
      if (recalls++ === 0) expect(await set("5")).toBe("5.00");
      return recalls < 2;
    },
  });
  expect([second, await limit()]).toEqual(["3.00", 3_000_000]);
});

test("stays where another request waits for others meanwhile, and is refused for what was spent by then", async () => {
  const second = await set("3", {
    async allKnow() {
      expect(await set("5")).toBe("5.00");
      await spend(4_000_000);
    },
  });
  expect([second, await limit()]).toEqual([400, 5_000_000]);
});

test("is not taken from a key between both steps by another request that is refused", async () => {
  const first = await set("5", {
    // Others know from here on that the key has a limit, and may not come to know that it has none.
    async allKnow() {
      expect(await set("3", { recall: async () => false })).toBe(503);
      expect(await set("3", { allKnow: () => Promise.reject(new Error("killed")) })).toBe(500);
      expect(await limit()).not.toBeNull();
    },
  });
  expect([first, await limit()]).toEqual(["5.00", 5_000_000]);
});

test("waits for others again where all limits were taken from the key meanwhile", async () => {
  let waits = 0;
  const first = await set("5", {
    async allKnow() {
      if (waits++ === 0) expect(await set(null)).toBeUndefined();
    },
  });
  expect([first, waits, await limit()]).toEqual(["5.00", 2, 5_000_000]);
});

test("that was not set, as by a process that was killed, is none to people and to calls", async () => {
  expect(await set("5", { allKnow: () => Promise.reject(new Error("killed")) })).toBe(500);
  expect(await limit()).toBe(unreachedLimit);
  const known = await callsBy.find(key.secret_hash, now);
  // It pays in advance no more than before, and may call models without a price.
  expect(known?.caller).toMatchObject({ mustPay: false });
  expect(known && callsBy.creditRemaining(known)).toBeUndefined();
  expect((await storage.available(key.id)).available).toBe(Number.POSITIVE_INFINITY);
  expect(await rename()).not.toHaveProperty("credit_limit");
  expect(await set("5")).toBe("5.00");
});
