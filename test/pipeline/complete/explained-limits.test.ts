/**
 * Every limit that counts for a call is told by `POST /v1/explain` and by the headers of answers: which is nearest, what is left of it, and the
 * refusal that follows from it. Each is the nearest once.
 */

import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { InferenceService } from "../../../gen/modelgateway/v1/inference_pb.ts";
import { storedBudgets } from "../../../src/storage/money/budgets.ts";
import { eventually } from "../../support/eventually.ts";
import { at, openStage, type Stage, served } from "../../support/upstreams/two-upstreams.ts";

type KeyChange = Parameters<Stage["gateway"]["storage"]["keys"]["update"]>[2];

const begin = Date.UTC(2026, 0, 2);
let stage: Stage;

const ample = { name: "All", recharge: 0, requestsPerMinute: 10_000, tokensPerMinute: 1_000_000 };
const open = async (tier: Partial<typeof ample> = {}) => {
  stage = await openStage([served([at("first")]), served([at("second")], { id: "n" })], {
    tiers: [{ ...ample, ...tier }],
  });
};
const change = (of: KeyChange) => stage.gateway.storage.keys.update(stage.gateway.accountId, stage.gateway.keyId, of);
const budget = (amount: number, period: "day" | "week" | "month", rolling = false) =>
  storedBudgets([{ id: "bud_1", amount, period, rolling }]);
const bound = (budgets: string | null) =>
  stage.gateway.storage.accounts.update(stage.gateway.accountId, { budgets }, begin);
afterEach(() => stage.close());

interface Limit {
  readonly name: string;
  readonly model?: string;
  readonly limit?: number;
  readonly remaining?: number;
  readonly amount?: string;
  readonly amount_remaining?: string;
  readonly resets_at?: string;
  readonly nearest: boolean;
}

interface Explained {
  readonly limits: readonly Limit[];
  readonly address: string;
  readonly allowed_ips: readonly string[];
  readonly refusal?: { readonly status: number; readonly reason: string; readonly message: string };
}

const messages = [{ role: "user", content: "Hi" }];
const small = { max_tokens: 3 };

async function explain(more: object = {}, path = "/v1/chat/completions"): Promise<Explained> {
  const response = await fetch(`${stage.gateway.baseUrl}/explain`, {
    method: "POST",
    headers: { authorization: `Bearer ${stage.gateway.apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({ path, request: { model: "m", messages, ...small, ...more } }),
  });
  expect(response.status).toBe(200);
  return (await response.json()) as Explained;
}

const nearest = ({ limits }: Explained) => {
  const all = limits.filter((limit) => limit.nearest);
  expect(all).toHaveLength(1);
  return all[0] as Limit;
};

const some = { requests_per_minute: 10_000 };
const rates = (of: object) => ({ model_rates: JSON.stringify([{ model: "m", ...of }]) });

const ofRates: readonly [name: string, tier: Partial<typeof ample>, key: KeyChange][] = [
  ["account-requests", { requestsPerMinute: 60 }, some],
  ["account-tokens", { tokensPerMinute: 20 }, some],
  ["key-requests", {}, { requests_per_minute: 60 }],
  ["key-tokens", {}, { tokens_per_minute: 20 }],
  ["model-requests", {}, rates({ requests: 5 })],
  ["model-tokens", {}, rates({ tokens: 20 })],
];

describe("the nearest of all rates", () => {
  test.each(ofRates)("is %s where least is left of that", async (name, tier, key) => {
    await open(tier);
    await change(key);
    await (await stage.ask(small)).text();
    // Tokens are drawn a moment after the answer.
    await eventually(async () => expect(nearest(await explain()).name).toBe(name));
    const { model, remaining = 0, limit = 0, resets_at } = nearest(await explain());
    expect(model).toBe(name.startsWith("model-") ? "m" : undefined);
    expect(remaining).toBeGreaterThan(0);
    expect(remaining).toBeLessThan(limit);
    expect(Date.parse(resets_at ?? "")).toBeGreaterThan(begin);
    const answer = await stage.ask(small);
    expect(answer.status).toBe(200);
    expect(answer.headers.get("x-gateway-limit")).toMatch(
      new RegExp(`^${name};limit=${limit};remaining=\\d+;reset=\\d+`),
    );
  });

  test("is the key's where equally much is left of the account's", async () => {
    await open({ requestsPerMinute: 60 });
    await change({ requests_per_minute: 60 });
    expect((await stage.ask(small)).headers.get("x-gateway-limit")).toMatch(/^key-requests;limit=60;remaining=59;/);
    expect(nearest(await explain())).toMatchObject({ name: "key-requests", limit: 60, remaining: 58 });
  });

  test("is told without a header where the key has no limits of its own", async () => {
    await open({ requestsPerMinute: 60 });
    expect((await stage.ask(small)).headers.get("x-gateway-limit")).toBeNull();
    expect((await explain()).limits.map(({ name }) => name)).toEqual(["account-tokens", "account-requests"]);
  });
});

const windows: readonly [name: string, of: "key" | "account", budgets: string | null, ends: string | undefined][] = [
  ["key-day", "key", budget(300, "day"), "2026-01-03T00:00:00.000Z"],
  ["key-week", "key", budget(300, "week"), "2026-01-05T00:00:00.000Z"],
  ["key-month", "key", budget(300, "month"), "2026-02-01T00:00:00.000Z"],
  ["key-rolling-day", "key", budget(300, "day", true), "2026-01-03T00:15:00.000Z"],
  ["account-month", "account", budget(300, "month"), "2026-02-01T00:00:00.000Z"],
  ["account-rolling-week", "account", budget(300, "week", true), "2026-01-09T00:15:00.000Z"],
];

describe("the nearest of budgets", () => {
  test.each(windows)("is %s, with what is left and when its window ends", async (name, of, budgets, ends) => {
    await open();
    await (of === "key" ? change({ budgets }) : bound(budgets));
    const answer = await stage.ask(small);
    expect(answer.headers.get("x-gateway-budget")).toMatch(
      new RegExp(`^${name};limit="0\\.0003";remaining="0\\.000285"`),
    );
    expect(nearest(await explain())).toMatchObject({
      ...{ name, amount: "0.0003", amount_remaining: "0.000285", resets_at: ends },
    });
  });

  test("stands beside all others, and a rolling one of which nothing is spent has no end", async () => {
    await open();
    await change({ ...some, budgets: budget(1_000_000, "month", true) });
    await bound(budget(2_000_000, "day"));
    const { limits } = await explain();
    expect(limits.map(({ name }) => name)).toEqual([
      ...["account-tokens", "key-requests", "account-requests", "key-rolling-month", "account-day"],
    ]);
    expect(limits.find(({ name }) => name === "key-rolling-month")).not.toHaveProperty("resets_at");
  });
});

describe("calls that run", () => {
  beforeEach(() => open());

  test("are counted, and one more is refused as it is told", async () => {
    await change({ max_concurrent: 2 });
    expect(nearest(await explain()).name).not.toBe("key-concurrency");
    const { script } = stage.first;
    stage.first.script = undefined;
    const asked = [stage.ask(small), stage.ask(small)];
    const first = await stage.first.next();
    const second = await stage.first.next();
    script?.(first);
    await Promise.race(asked);
    await eventually(async () =>
      expect(nearest(await explain())).toEqual({ name: "key-concurrency", limit: 2, remaining: 1, nearest: true }),
    );
    const third = stage.ask(small);
    const exchange = await stage.first.next();
    const told = await explain();
    expect(nearest(told)).toMatchObject({ name: "key-concurrency", remaining: 0 });
    expect(told.refusal).toMatchObject({ status: 429, reason: "RATE_LIMITED" });
    const refused = await stage.ask(small);
    expect(refused.headers.get("x-gateway-limit")).toBe("key-concurrency;limit=2;remaining=0");
    expect(((await refused.json()) as { error: { message: string } }).error.message).toBe(told.refusal?.message);
    for (const one of [second, exchange]) script?.(one);
    for (const one of [...asked, third]) await (await one).text();
    stage.first.script = script;
  });
});

describe("the refusal by a rate is told as it would be given", () => {
  const callsRefusal = async () => {
    const response = await stage.ask(small);
    const { error } = (await response.json()) as { error: { message: string } };
    return { status: response.status, message: error.message };
  };

  test.each([
    ["the account's requests", { requestsPerMinute: 2 }, some],
    ["the key's requests", {}, { requests_per_minute: 2 }],
    ["the key's requests of a model", {}, rates({ requests: 1 })],
  ] as const)("by %s", async (_, tier, key) => {
    await open(tier);
    await change(key);
    expect((await stage.ask(small)).status).toBe(200);
    const { refusal, limits } = await explain();
    expect(refusal).toMatchObject({ status: 429, reason: "RATE_LIMITED" });
    expect(await callsRefusal()).toEqual({ status: 429, message: refusal?.message });
    expect(limits.find((limit) => limit.nearest)?.remaining).toBe(0);
  });

  test("by the tokens of a model in debt, and not of one that is not asked for", async () => {
    await open();
    await change(rates({ tokens: 5 }));
    await (await stage.ask(small)).text();
    await eventually(async () => expect((await explain()).refusal?.reason).toBe("RATE_LIMITED"));
    const { refusal } = await explain();
    expect(await callsRefusal()).toEqual({ status: 429, message: refusal?.message });
    expect(await explain({ model: "n" })).not.toHaveProperty("refusal");
    // One that counts tokens takes none of a model.
    expect(await explain({ max_tokens: undefined }, "/v1/messages/count_tokens")).not.toHaveProperty("refusal");
  });

  test("comes before what is wrong with the request, as it would", async () => {
    await open({ requestsPerMinute: 2 });
    expect((await stage.ask(small)).status).toBe(200);
    expect((await explain({ temperature: "hot" })).refusal).toMatchObject({ status: 429 });
    expect((await stage.ask({ temperature: "hot" })).status).toBe(429);
  });
});

describe("the addresses", () => {
  beforeEach(() => open());

  test("of a key are told, with the one that the gateway sees, over HTTP and RPC", async () => {
    expect(await explain()).toMatchObject({ address: "127.0.0.1", allowed_ips: [] });
    const allowed = ["127.0.0.0/8", "2001:db8::/32"];
    await change({ allowed_ips: JSON.stringify(allowed) });
    expect(await explain()).toMatchObject({ address: "127.0.0.1", allowed_ips: allowed });
    const client = createClient(InferenceService, createGrpcTransport({ baseUrl: stage.gateway.rootUrl }));
    const headers = { authorization: `Bearer ${stage.gateway.apiKey}` };
    const told = await client.explainCall({ request: { model: "m", messages } }, { headers });
    expect([told.address, told.allowedIps]).toEqual(["127.0.0.1", allowed]);
    expect(told.limits.find((limit) => limit.nearest)?.name).toBe("account-requests");
  });
});
