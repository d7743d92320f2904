/** What accounts are told of how models do: sums over all accounts, from which nothing of anybody's use can be told. */
import type { JsonObject } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { newId } from "../../../src/runtime/ids.ts";
import { createMeasureModels } from "../../../src/services/accounts/model-measures.ts";
import { issueKey } from "../../../src/services/keys/issue-key.ts";
import { createCatalog } from "../../../src/targets/catalog.ts";
import { askRpc, bearer } from "../../support/dashboard/session.ts";
import { now, startTestGateway, type TestGateway } from "../../support/gateway.ts";
import { directMoney } from "../../support/money/direct.ts";

const hourMs = 3_600_000;
const thisHour = now - (now % hourMs);
const [busy, quiet, spare] = ["busy", "quiet", "vendor/spare"].map((id) => ({
  ...{ id, family: "gpt", kind: "chat" as const, aliases: id === "busy" ? ["b"] : [] },
  targets: [{ upstream: "near", model: id, priority: 0, weight: 1 }],
}));
let gateway: TestGateway;
let admin: Readonly<Record<string, string>>;

beforeAll(async () => {
  const upstreams = [{ name: "near", kind: "openai" as const, base_url: "http://127.0.0.1:9/v1" }];
  const models = [busy, quiet, spare].filter((model) => model !== undefined);
  gateway = await startTestGateway({ upstreams, models }, { clock: () => now });
  const { storage, accountId } = gateway;
  const key = await issueKey(storage.keys, { accountId, name: "admin", admin: true, now });
  admin = bearer(key.secret);
  await writeCalls();
});
afterAll(() => gateway.close());

/** Writes calls of another account, as the gateway does. */
async function write(hour: number, count: number, more: object = {}): Promise<void> {
  for (let i = 0; i < count; i++) {
    const at = thisHour - hour * hourMs - (hour === 0 ? 0 : 60_000 - i);
    const call = {
      ...{ id: newId("req", at), account_id: gateway.accountId, key_id: gateway.keyId, operation: "chat" },
      ...{ model: "busy", upstream: "near", outcome: 1, input: 9, cache_read: 0, cache_write: 0, output: 100 },
      ...{ reasoning: 0, characters: 0, estimated: 0, cost: 0, created_at: at, duration_ms: 1000, first_byte_ms: 200 },
      tried: null,
    };
    await directMoney(gateway.storage).capture({ ...call, ...more });
  }
}

const failedAt = (more: object = {}) => ({ upstream: "near", at: now, ms: 5, failure: "no answer", ...more });

async function writeCalls(): Promise<void> {
  await write(3, 18);
  // A failed attempt that its caller did not notice; its times are what the caller waited.
  await write(3, 2, { tried: JSON.stringify([failedAt()]), first_byte_ms: 900, duration_ms: 3000 });
  await write(3, 1, { outcome: 2, first_byte_ms: null, output: 0 });
  // Of this hour there is too little to tell.
  await write(1, 19);
  await write(1, 1, { cached: 1, upstream: "" });
  // Another model answered in its place: that is a failure of the one that was asked first.
  await write(5, 20, { model: "vendor/spare", tried: JSON.stringify([failedAt({ model: "busy" })]) });
  await write(5, 19, { model: "quiet" });
}

async function measure(request: JsonObject = {}, headers = admin) {
  const { status, json, reason } = await askRpc(gateway, "AccountService.MeasureModels", request, headers);
  const { models = [], sums = [] } = json as { models?: JsonObject[]; sums?: JsonObject[] };
  return { status, reason, models, sums };
}

describe("the measures of models", () => {
  test("are of calls as their callers saw them: answered by another target is answered, by another model is not", async () => {
    const { models, sums } = await measure({ model: "busy" });
    // 19 of this hour's, 21 and 20 of the others', 21 of which failed: rounded down to hundredths.
    expect(models).toMatchObject([{ model: "busy", answered: 0.65 }]);
    const [, third] = sums;
    expect(third).toMatchObject({ model: "busy", answered: 0.95 });
    expect(third?.firstByteP95Ms).toBeGreaterThan(800);
    expect(third?.durationP50Ms).toBeGreaterThan(960);
    expect(third?.durationP50Ms).toBeLessThan(1040);
    expect(third?.tokensPerSecondP50).toBeGreaterThan(96);
  });

  test("leave out hours and models with fewer than twenty calls, and never count", async () => {
    const { models } = await measure();
    expect(models.map(({ model }) => model)).toEqual(["busy", "vendor/spare"]);
    const { sums } = await measure({ model: "busy" });
    expect(sums).toHaveLength(2);
    expect((await measure({ model: "quiet" })).models).toEqual([]);
    for (const told of [...models, ...sums]) {
      expect(Object.keys(told).filter((name) => /attempts|requests|failures|count/i.test(name))).toEqual([]);
    }
  });

  test("are found by an alias, and by an id with a slash", async () => {
    expect((await measure({ model: "b" })).models).toMatchObject([{ model: "busy" }]);
    const { models, sums } = await measure({ model: "vendor/spare", days: 7 });
    expect(models).toMatchObject([{ model: "vendor/spare", answered: 1 }]);
    expect(sums).toHaveLength(1);
  });

  test("are refused for a model that is not served, a time that is not offered, and a key that is no administrator", async () => {
    expect(await measure({ model: "gpt-4.1" })).toMatchObject({ status: 404, reason: "MODEL_NOT_FOUND" });
    expect((await measure({ days: 2 })).reason).toBe("INVALID_VALUE");
    expect((await measure({}, bearer(gateway.apiKey))).status).toBe(403);
  });
});

test("calls are read once for all who ask within a minute, and again where that failed", async () => {
  let [time, reads] = [now, 0];
  const none = { group: "", attempts: 0, failures: 0, ...{ firstByteMs: undefined, durationMs: undefined } };
  const found = { total: { ...none, tokensPerSecond: undefined }, groups: [], sums: [], completeFrom: undefined };
  const failing = { isOn: true };
  const measureModels = createMeasureModels({
    clock: () => time,
    catalog: createCatalog([]),
    requests: {
      measureAttempts: () => {
        reads++;
        return failing.isOn ? Promise.reject(new Error("no database")) : Promise.resolve(found);
      },
    },
  });
  const ask = () => measureModels({ request: { message: () => ({}) } } as never);
  await expect(ask()).rejects.toThrow("no database");
  failing.isOn = false;
  await Promise.all([ask(), ask(), ask()]);
  expect(reads).toBe(2);
  time += 59_000;
  await ask();
  expect(reads).toBe(2);
  time += 2_000;
  await ask();
  expect(reads).toBe(3);
});
