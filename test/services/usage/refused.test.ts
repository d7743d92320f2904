/** Calls that are refused before a model is asked are counted and listed by reason, for their account and for the operator. */
import type { JsonObject } from "@bufbuild/protobuf";
import { afterAll, beforeAll, expect, test } from "vitest";
import { issueKey } from "../../../src/services/keys/issue-key.ts";
import { askRpc, bearer } from "../../support/dashboard/session.ts";
import { eventually } from "../../support/eventually.ts";
import { now, startTestGateway, type TestGateway } from "../../support/gateway.ts";
import { paidModel } from "../../support/upstreams/paid-models.ts";

const operatorKey = "operator-key-of-the-refused";
let gateway: TestGateway;
const embedded = { upstream: "embedded", priority: 0, weight: 1 };
/** The keys of calls, and what each is for. */
const keys = new Map<string, { readonly id: string; readonly secret: string }>();

beforeAll(async () => {
  const tier = { name: "one", recharge: 0, requestsPerMinute: 3, tokensPerMinute: undefined };
  const fast = { name: "fast", recharge: 200_000_000, requestsPerMinute: 1_000_000, tokensPerMinute: undefined };
  const models = [paidModel("dear", "embedded", { targets: [{ ...embedded, model: "embedded-chat" }] })];
  gateway = await startTestGateway({ operatorKey, tiers: [tier, fast], models }, { admin: true, clock: () => now });
  await gateway.storage.accounts.insert({ id: "acc_slow", name: "slow", created_at: now, postpaid: 1 });
  const made = async (name: string, more: Partial<Parameters<typeof issueKey>[1]> = {}) => {
    const named = { accountId: gateway.accountId, name, admin: false, now };
    const { key, secret } = await issueKey(gateway.storage.keys, { ...named, ...more });
    keys.set(name, { id: key.id, secret });
  };
  await made("poor", { creditLimit: 1 });
  await made("narrow", { models: JSON.stringify(["embedded-embed"]) });
  await made("off", { expiresAt: now - 1 });
  await made("slow", { accountId: "acc_slow" });
});

afterAll(() => gateway.close());

const hello = { messages: [{ role: "user", content: "hello" }] };

async function call(key: string, body: JsonObject = {}, path = "/chat/completions") {
  const secret = keys.get(key)?.secret ?? key;
  const response = await fetch(`${gateway.baseUrl}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "embedded-chat", ...hello, ...body }),
  });
  await response.text();
  return { status: response.status, id: response.headers.get("x-request-id") ?? "" };
}

const list = async (request: JsonObject = {}) =>
  ((await askRpc(gateway, "UsageService.ListRefused", request, bearer(gateway.apiKey))).json.refused ??
    []) as JsonObject[];
const sums = async (request: JsonObject = {}) =>
  (await askRpc(gateway, "UsageService.SummarizeRefused", request, bearer(gateway.apiKey))).json;

test("each refusal of a known key is listed with its reason, model, key and id, and what is answered is not", async () => {
  const answered = await call(gateway.apiKey);
  expect(answered.status).toBe(200);
  const made = {
    INSUFFICIENT_CREDIT: await call("poor", { model: "dear" }),
    MODEL_NOT_PERMITTED: await call("narrow"),
    MODEL_NOT_FOUND: await call(gateway.apiKey, { model: "acme/no-such-model" }),
    INVALID_VALUE: await call(gateway.apiKey, { temperature: 9 }),
  };
  // Nobody's.
  expect((await call("sk-nobody")).status).toBe(401);
  await eventually(async () => expect(await list()).toHaveLength(4));
  const listed = await list();
  expect(listed.map(({ id, reason, status, model, keyId }) => ({ id, reason, status, model, keyId }))).toEqual(
    Object.entries(made)
      .map(([reason, { id, status }]) => ({
        id,
        reason,
        status,
        model: { MODEL_NOT_FOUND: "acme/no-such-model", INSUFFICIENT_CREDIT: "dear" }[reason] ?? "embedded-chat",
        keyId:
          { INSUFFICIENT_CREDIT: keys.get("poor")?.id, MODEL_NOT_PERMITTED: keys.get("narrow")?.id }[reason] ??
          gateway.keyId,
      }))
      .reverse(),
  );
  expect(listed[0]).toMatchObject({ operation: "chat", detail: "temperature", accountId: gateway.accountId });
  expect(listed[3]?.detail).toMatch(/is left of the API key's credit limit/);
  expect(await list({ id: made.INVALID_VALUE.id })).toHaveLength(1);
  expect(await list({ id: answered.id })).toEqual([]);
  expect(await list({ filter: { reasons: ["MODEL_NOT_FOUND"] } })).toHaveLength(1);
  expect(await list({ filter: { keyId: keys.get("poor")?.id ?? "" } })).toHaveLength(1);
});

test("a key that has expired, and an account beyond its rate, are known: what they are refused is theirs", async () => {
  expect((await call("off")).status).toBe(401);
  const statuses = await Promise.all(Array.from({ length: 8 }, async () => (await call("slow")).status));
  expect(statuses.filter((status) => status === 429)).toHaveLength(5);
  const operator = bearer(operatorKey);
  const all = async (request: JsonObject) =>
    (await askRpc(gateway, "OperatorService.ListAllRefused", request, operator)).json;
  await eventually(async () =>
    expect(await all({ filter: { reasons: ["RATE_LIMITED"] } })).toMatchObject({
      refused: Array.from({ length: 5 }, () => ({ accountId: "acc_slow", keyId: keys.get("slow")?.id })),
    }),
  );
  const [limited] = ((await all({ account: "acc_slow", pageSize: 2 })).refused ?? []) as JsonObject[];
  expect(limited).toMatchObject({ status: 429, detail: expect.stringContaining("3 requests a minute") as string });
  const [expired] = await list();
  expect(expired).toMatchObject({ keyId: keys.get("off")?.id, reason: "INVALID_API_KEY", status: 401 });
  // The other account's are not this one's.
  expect((await list()).every(({ accountId }) => accountId === gateway.accountId)).toBe(true);
});

test("counts are exact, by reason, key, model and account, in minutes, hours and days", async () => {
  const groups = async (groupBy: string, request: JsonObject = {}) => {
    const { groups = [], total } = await sums({ groupBy: `REFUSED_GROUP_${groupBy}`, ...request });
    const named = (groups as JsonObject[]).map(({ group = "", requests }) => [group, Number(requests)]);
    return { total: Number(total ?? 0), ...Object.fromEntries(named) };
  };
  expect(await groups("REASON")).toEqual({
    ...{ total: 5, INSUFFICIENT_CREDIT: 1, INVALID_API_KEY: 1, INVALID_VALUE: 1 },
    ...{ MODEL_NOT_FOUND: 1, MODEL_NOT_PERMITTED: 1 },
  });
  // The name of a model that there is not is no model's.
  expect(await groups("MODEL")).toEqual({ total: 5, "embedded-chat": 2, dear: 1, "": 2 });
  expect(await groups("KEY", { filter: { reasons: ["MODEL_NOT_FOUND"] } })).toEqual({
    ...{ total: 1, [gateway.keyId]: 1 },
  });
  for (const [bucket, ms] of Object.entries({ MINUTE: 60_000, HOUR: 3_600_000, DAY: 86_400_000 })) {
    const { sums: counted } = await sums({ bucket: `BUCKET_${bucket}` });
    const beginsAt = new Date(now - (now % ms)).toISOString().replace(".000Z", "Z");
    expect(counted).toEqual([{ beginsAt, requests: "5" }]);
  }
  // A day has those since `from` alone.
  const hour = 3_600_000;
  const since = (ms: number) =>
    sums({ filter: { from: new Date(ms).toISOString(), to: new Date(now + hour).toISOString() } });
  expect((await since(now)).total).toBe("5");
  expect((await since(now - (now % hour) + hour - 1)).total).toBe("5");
  expect((await since(now - (now % hour) + hour)).total).toBeUndefined();
  const asked = { summary: { groupBy: "REFUSED_GROUP_ACCOUNT" } };
  const { json } = await askRpc(gateway, "OperatorService.SummarizeAllRefused", asked, bearer(operatorKey));
  const { total, groups: accounts } = json.summary as { total: string; groups: JsonObject[] };
  expect([total, accounts.map(({ group, requests }) => [group, requests])]).toEqual([
    "10",
    ["acc_slow", gateway.accountId].sort().map((account) => [account, "5"]),
  ]);
  expect(
    (await askRpc(gateway, "UsageService.ListUsage", { bucket: "BUCKET_MINUTE" }, bearer(gateway.apiKey))).status,
  ).toBe(400);
});

test("neither what was asked, nor a credential in a model's place, is kept", async () => {
  const before = (await list()).length;
  await call(gateway.apiKey, { model: "sk-a-secret-in-the-place-of-a-model" });
  await call(gateway.apiKey, { model: "a name with spaces, as of a prompt" });
  await call(gateway.apiKey, { messages: [{ role: "user", content: 5 }] });
  await eventually(async () => expect(await list()).toHaveLength(before + 3));
  const text = JSON.stringify(await list());
  expect(text).not.toMatch(/a-secret|a name with|of a prompt/);
  expect((await list()).slice(0, 3).map(({ model = "" }) => model)).toEqual(["embedded-chat", "", ""]);
});
