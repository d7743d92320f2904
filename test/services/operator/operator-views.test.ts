/**
 * What the dashboard shows beyond keys and money: calls, running and over, models, upstreams, limits, users; and that a
 * session calls models by a key of its account.
 */
import type { JsonObject } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { UpstreamHealthSchema } from "../../../gen/modelgateway/v1/operator_pb.ts";
import type { Answer } from "../../../src/call/call.ts";
import { cancelled, upstreamFailed, upstreamRefused, upstreamTimeout } from "../../../src/call/refusals.ts";
import type { Attempt, Provider, UpstreamStats } from "../../../src/providers/contract.ts";
import { createHealth } from "../../../src/providers/upstream/health.ts";
import { newId } from "../../../src/runtime/ids.ts";
import { issueKey } from "../../../src/services/keys/issue-key.ts";
import { healthOf, upstreamMessage, upstreamStates } from "../../../src/services/operator/upstream-message.ts";
import { type AllFilter, pageQuery, spanOf } from "../../../src/storage/calls/requests-query.ts";
import { openDatabase } from "../../../src/storage/engines/sqlite/database.ts";
import { createCatalog } from "../../../src/targets/catalog.ts";
import { askRpc, bearer, signIn } from "../../support/dashboard/session.ts";
import { eventually } from "../../support/eventually.ts";
import { now, startTestGateway, type TestGateway } from "../../support/gateway.ts";
import { attemptFacts } from "../../support/meter.ts";
import { directMoney } from "../../support/money/direct.ts";
import { openAccount } from "../../support/payer.ts";
import { eventStream } from "../../support/scripted-upstream.ts";
import { onSqlite } from "../../support/storage/test-database.ts";
import { paidModels } from "../../support/upstreams/paid-models.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";

const operatorKey = "operator-key-of-the-test";
let time = now;

// The clock advances, so that no call exceeds its rate limit.
const clock = () => (time += 10);
const { upstream, gateway } = scriptedStage((baseUrl) => ({ ...paidModels(baseUrl), operatorKey }), {
  admin: true,
  clock,
});

type Headers = Readonly<Record<string, string>>;

async function ask(
  name: string,
  request: JsonObject = {},
  headers: Headers = bearer(operatorKey),
): Promise<JsonObject> {
  const { status, json } = await askRpc(gateway, name, request, headers);
  expect(status, JSON.stringify(json)).toBe(200);
  return json;
}

async function reasonOf(name: string, request: JsonObject, headers: Headers = bearer(operatorKey)) {
  return (await askRpc(gateway, name, request, headers)).reason;
}

function chat(headers: Headers, request: JsonObject = {}): Promise<Response> {
  return fetch(`${gateway.baseUrl}/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify({ model: "gpt", messages: [{ role: "user", content: "Hello" }], max_tokens: 4, ...request }),
  });
}

const answer = {
  ...{ id: "c", object: "chat.completion", created: 1, model: "v-gpt" },
  choices: [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
};

function answerAll(): void {
  upstream.script = (exchange) => exchange.json(200, answer);
}

describe("an account's models", () => {
  const listed = async (headers: Headers) =>
    (await ask("AccountService.ListCatalog", {}, headers)).models as JsonObject[];
  const find = (models: readonly JsonObject[], id: string) => models.find((model) => model.id === id);

  test("are told with their names and prices, and which of them it may call", async () => {
    const prepaid = await openAccount(gateway, { admin: true });
    const models = await listed(bearer(prepaid.apiKey));
    expect(models.map(({ id }) => id)).toEqual([
      ...["gpt", "claude", "davinci", "gpt-free", "gpt-unpriced", "embed", "voice"],
    ]);
    expect(find(models, "claude")).toEqual({
      ...{ id: "claude", aliases: ["claude-alias"], family: "anthropic", kind: "MODEL_KIND_CHAT", vendor: "anthropic" },
      ...{ maxOutputTokens: 4096, callable: true },
      price: {
        input: "3000000",
        cacheRead: "1000000",
        cacheWrite: "5000000",
        cacheWriteHour: "7000000",
        output: "11000000",
        characters: "13000000",
      },
    });
    expect(find(models, "voice")).toMatchObject({ kind: "MODEL_KIND_SPEECH" });
    expect(find(models, "gpt-free")).toMatchObject({ price: {}, callable: true });
    expect(find(models, "gpt-unpriced")).not.toHaveProperty("price");
    expect(find(models, "gpt-unpriced")).not.toHaveProperty("callable");
  });

  test("without a price are for who pays afterwards", async () => {
    expect(find(await listed(bearer(gateway.apiKey)), "gpt-unpriced")).toMatchObject({ callable: true });
  });
});

test("an account is told how many requests its rate leaves, whoever of it asks", async () => {
  const { apiKey, accountId } = await openAccount(gateway, { admin: true, recharge: 1_000_000 });
  const remaining = async (headers: Headers) => (await ask("AccountService.GetAccount", {}, headers)).requestsRemaining;
  expect(await remaining(bearer(apiKey))).toBe(59);
  // The dashboard's pages do not use up the rate limit of the account's programs.
  const person = await signIn(gateway, now, { accountId });
  await remaining(person.headers);
  expect(await remaining(person.headers)).toBe(59);
});

test("calls that are under way are listed to their account, newest first, until they end", async () => {
  const payer = await openAccount(gateway, { admin: true });
  const running = async (headers = bearer(payer.apiKey)) =>
    ((await ask("UsageService.ListRunning", {}, headers)).running ?? []) as JsonObject[];
  expect(await running()).toEqual([]);
  const calls = [chat(bearer(payer.apiKey)), chat(bearer(payer.apiKey), { model: "claude" })];
  const exchanges = [await upstream.next(), await upstream.next()];
  let listed: JsonObject[] = [];
  // Postgres has a hold some milliseconds after its call has begun.
  await eventually(async () => {
    listed = await running();
    expect(listed.map(({ model }) => model).sort()).toEqual(["claude", "gpt"]);
  });
  expect(listed.map(({ id }) => id)).toEqual([...listed.map(({ id }) => id as string)].sort().reverse());
  for (const call of listed) {
    expect(call).toMatchObject({ accountId: payer.accountId, keyId: payer.keyId, operation: "chat" });
    expect(Number(call.held)).toBeGreaterThan(0);
  }
  expect(await running(bearer(gateway.apiKey))).toEqual([]);
  for (const exchange of exchanges) exchange.json(500, {});
  await Promise.all(calls);
  await eventually(async () => expect(await running()).toEqual([]));
});

describe("calls of all accounts", () => {
  const ids = (json: JsonObject) => ((json.requests ?? []) as JsonObject[]).map(({ id }) => id);

  test("are listed newest first, page by page, of all accounts or of one", async () => {
    answerAll();
    const [a, b] = [await openAccount(gateway), await openAccount(gateway)];
    const made: string[] = [];
    for (const { apiKey } of [a, b, a]) {
      const response = await chat(bearer(apiKey));
      await response.arrayBuffer();
      made.unshift(response.headers.get("x-request-id") as string);
    }
    const all = await ask("OperatorService.ListAllRequests", { pageSize: 3 });
    expect(ids(all)).toEqual(made);
    expect((all.requests as JsonObject[]).map(({ accountId }) => accountId)).toEqual(
      [a, b, a].map((of) => of.accountId),
    );
    const first = await ask("OperatorService.ListAllRequests", { pageSize: 2 });
    const more = { pageSize: 1, pageToken: first.nextPageToken as string };
    expect(ids(await ask("OperatorService.ListAllRequests", more))).toEqual([made[2]]);
    const ofA = { account: a.accountId };
    expect(ids(await ask("OperatorService.ListAllRequests", ofA))).toEqual([made[0], made[2]]);
    const byKey = { ...ofA, filter: { keyId: a.keyId, model: "gpt" } };
    expect(ids(await ask("OperatorService.ListAllRequests", byKey))).toEqual([made[0], made[2]]);
    expect(ids(await ask("OperatorService.ListAllRequests", { filter: { outcomes: ["OUTCOME_LEFT"] } }))).toEqual([]);
    // Of all accounts, too: what no index leads to is searched for, page by page.
    const [{ upstream: name }] = all.requests as [JsonObject];
    for (const filter of [{ upstream: name as string }, { model: "gpt" }, { upstream: name as string, model: "gpt" }]) {
      const page = await ask("OperatorService.ListAllRequests", { filter, pageSize: 2 });
      expect(ids(page)).toEqual([made[0], made[1]]);
      const next = { filter, pageSize: 1, pageToken: page.nextPageToken as string };
      expect(ids(await ask("OperatorService.ListAllRequests", next))).toEqual([made[2]]);
    }
    expect(ids(await ask("OperatorService.ListAllRequests", { filter: { keyId: b.keyId } }))).toEqual([made[1]]);
    expect(await ask("OperatorService.ListAllRequests", { filter: { upstream: "nowhere" } })).toEqual({});
    const until = ((all.requests as JsonObject[])[1] as JsonObject).createdAt as string;
    expect(ids(await ask("OperatorService.ListAllRequests", { filter: { to: until }, pageSize: 1 }))).toEqual([
      made[2],
    ]);
  });

  test("are told one by one, whosever they are, with the attempts that failed", async () => {
    const id = "req_tried";
    const tried = JSON.stringify([{ upstream: "far", at: now, ms: 12, failure: "it answered with status 500" }]);
    const usage = { input: 1, cache_read: 0, cache_write: 0, output: 0, reasoning: 0, characters: 0 };
    const { accountId, keyId } = await openAccount(gateway);
    const names = { id, account_id: accountId, key_id: keyId, operation: "chat", model: "gpt", upstream: "near" };
    const times = { created_at: now, duration_ms: 30, first_byte_ms: 20, tried };
    await directMoney(gateway.storage).capture({ ...names, outcome: 1, ...usage, estimated: 0, cost: 0, ...times });
    const { request } = await ask("OperatorService.GetAnyRequest", { id });
    expect(request).toMatchObject({
      ...{ id, accountId, upstream: "near" },
      tried: [{ upstream: "far", durationMs: 12, failure: "it answered with status 500" }],
    });
    expect(await reasonOf("OperatorService.GetAnyRequest", { id: "req_none" })).toBe("RESOURCE_NOT_FOUND");
    expect(await reasonOf("OperatorService.GetAnyRequest", { id }, bearer(gateway.apiKey))).toBe("PERMISSION_DENIED");
  });

  test("are told with the models of their attempts, and what was lost by those that were overtaken", async () => {
    const id = "req_hedged";
    const tried = JSON.stringify([
      { upstream: "far", model: "gpt", at: now, ms: 12, failure: "it answered with status 500" },
      { upstream: "near", at: now, ms: 15, failure: "another attempt was quicker", lost: 7 },
    ]);
    const usage = { input: 1, cache_read: 0, cache_write: 0, output: 0, reasoning: 0, characters: 0 };
    const { accountId, keyId, apiKey } = await openAccount(gateway, { admin: true });
    const names = { id, account_id: accountId, key_id: keyId, operation: "chat", model: "claude", upstream: "near" };
    const times = { created_at: now, duration_ms: 30, first_byte_ms: 20, tried, cached: 1 };
    await directMoney(gateway.storage).capture({ ...names, outcome: 1, ...usage, estimated: 0, cost: 7, ...times });
    for (const [rpc, headers] of [
      ["OperatorService.GetAnyRequest", bearer(operatorKey)],
      ["UsageService.GetRequest", bearer(apiKey)],
    ] as const) {
      const { request } = await ask(rpc, { id }, headers);
      expect(request).toMatchObject({
        ...{ model: "claude", cost: "7", cached: true },
        tried: [
          { upstream: "far", model: "gpt" },
          { upstream: "near", lostCost: "7", overtaken: true },
        ],
      });
      expect(request).not.toHaveProperty("tried.0.overtaken");
    }
  });

  test("that were refused are looked for by key or model within an account only", async () => {
    const filtered = (filter: JsonObject) => reasonOf("OperatorService.ListAllRefused", { filter });
    expect(await filtered({ keyId: "key_1" })).toBe("INVALID_VALUE");
    expect(await filtered({ model: "gpt" })).toBe("INVALID_VALUE");
    expect(await filtered({ reasons: ["NO_SUCH_REASON"] })).toBe("INVALID_VALUE");
    expect(await reasonOf("OperatorService.ListAllRequests", { account: "nobody" })).toBe("RESOURCE_NOT_FOUND");
    const admin = bearer(gateway.apiKey);
    expect(await reasonOf("OperatorService.ListAllRequests", {}, admin)).toBe("PERMISSION_DENIED");
  });

  onSqlite(() =>
    test("are looked up along an index, and never sorted", async () => {
      const { db, engine } = await openDatabase(gateway.database.path);
      const at = Date.UTC(2026, 0, 2);
      const plans: [AllFilter, string][] = [
        [{}, "sqlite_autoindex_requests_1"],
        [{ from: at, to: at }, "sqlite_autoindex_requests_1"],
        [{ outcomes: [1, 2] }, "sqlite_autoindex_requests_1"],
        [{ outcomes: [2, 5] }, "requests_unanswered_of_all"],
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

test("an account's entries are listed to the operator, newest first, by kind", async () => {
  const { accountId } = await openAccount(gateway, { recharge: 7_000_000, grant: 2_000_000 });
  const listed = async (more: JsonObject) =>
    ((await ask("OperatorService.ListEntries", { account: accountId, ...more })).entries ?? []) as JsonObject[];
  expect((await listed({})).map(({ amount }) => amount)).toEqual(["2000000", "7000000"]);
  expect((await listed({ kinds: ["ENTRY_KIND_RECHARGE"] })).map(({ amount }) => amount)).toEqual(["7000000"]);
  expect(await reasonOf("OperatorService.ListEntries", { account: "nobody" })).toBe("RESOURCE_NOT_FOUND");
});

test("the limits in force are told as they are configured, and the operator key only as being there", async () => {
  const told = await ask("OperatorService.DescribeLimits");
  expect(told).toEqual({
    tiers: [
      expect.objectContaining({ name: "Free", requestsPerMinute: 60 }),
      expect.objectContaining({ name: "VIP", recharge: "20000000" }),
      expect.objectContaining({ name: "Premium" }),
    ],
    ...{ unit: "JPY", maxKeysPerAccount: 5000, maxBodyBytes: String(16 * 1024 * 1024), bodyTimeoutSeconds: 60 },
    ...{ responsesKeepHours: 24, responsesMaxPerAccount: 1000, registration: "invitation", durability: "process" },
    // Settings that are off are not reported.
    ...{ refusedKeepDays: 90, operatorKey: true, attempts: 1, breakerFailures: 2 ** 32 - 1, breakerOpenSeconds: 0.001 },
    rpcRates: [
      { rpc: "KeyService.ListKeys", perSecond: 1 },
      { rpc: "KeyService.CreateKey", perSecond: 10 },
      { rpc: "KeyService.RotateKey", perSecond: 10 },
      { rpc: "AccountService.RedeemCode", perSecond: 5 },
      { rpc: "UsageService.ExportRequests", perSecond: 1 },
    ],
  });
  expect(JSON.stringify(told)).not.toContain(operatorKey);
});

test("what bounds failing over, the cache and how long calls are kept is told, too", async () => {
  const other = await startTestGateway({
    operatorKey,
    retries: { attempts: 4, share: 0.2 },
    breaker: { failures: 6, openMs: 7500 },
    hedging: { afterMs: 2500, share: 0.05 },
    cache: { maxBytes: 2 ** 33, keepMs: 90_000, priceShare: 0.1 },
    retention: { requestsMs: 36 * 3_600_000, auditMs: 400 * 86_400_000, refusedMs: 30 * 86_400_000 },
  });
  const { json } = await askRpc(other, "OperatorService.DescribeLimits", {}, bearer(operatorKey));
  expect(json).toMatchObject({
    ...{ attempts: 4, retryShare: 0.2, breakerFailures: 6, breakerOpenSeconds: 7.5 },
    ...{ hedgeAfterSeconds: 2.5, hedgeShare: 0.05 },
    ...{ cacheMaxBytes: String(2 ** 33), cacheSeconds: 90, cachePriceShare: 0.1 },
    ...{ requestsKeepDays: 1.5, auditKeepDays: 400, refusedKeepDays: 30 },
  });
  await other.close();
});

describe("an upstream", () => {
  const listed = async (name: string) => {
    const { upstreams } = await ask("OperatorService.ListUpstreams");
    return (upstreams as JsonObject[]).find((one) => one.name === name) as JsonObject;
  };

  test("is told with its models, what runs there, and what failed, in the gateway's own words", async () => {
    time += 16 * 60_000;
    expect(((await ask("OperatorService.ListUpstreams")).upstreams as JsonObject[]).map(({ name }) => name)).toEqual([
      ...["openai", "anthropic"],
    ]);
    expect(await listed("anthropic")).toEqual({
      ...{ name: "anthropic", kind: "anthropic", baseUrl: upstream.baseUrl, models: ["claude"] },
      health: "UPSTREAM_HEALTH_UNKNOWN",
      ...{ lastFailure: expect.any(String), lastFailureAt: expect.any(String) },
    });
    answerAll();
    for (let i = 0; i < 3; i++) await (await chat(bearer(gateway.apiKey))).arrayBuffer();
    upstream.script = undefined;
    const late = chat(bearer(gateway.apiKey));
    const exchange = await upstream.next();
    expect(await listed("openai")).toMatchObject({ attempts: 3, running: 1, health: "UPSTREAM_HEALTH_GOOD" });
    exchange.json(500, { error: { message: "the upstream's own words", type: "server_error" } });
    expect((await late).status).toBe(502);
    const standing = await listed("openai");
    expect(standing).toMatchObject({ attempts: 4, failures: 1, health: "UPSTREAM_HEALTH_POOR" });
    expect(standing).toMatchObject({ lastFailure: "it answered with status 500", firstByteP50Ms: expect.any(Number) });
    expect(standing).not.toHaveProperty("running");
    expect(JSON.stringify(standing)).not.toContain("own words");
  });

  test("that breaks its stream off has failed, and a caller's own mistake is none of its", async () => {
    time += 16 * 60_000;
    const broken = chat(bearer(gateway.apiKey), { stream: true });
    const exchange = await upstream.next();
    exchange.head(200, eventStream);
    await exchange.write(`data: ${JSON.stringify({ ...answer, object: "chat.completion.chunk", choices: [] })}\n\n`);
    exchange.destroy();
    await (await broken).text();
    expect(await listed("openai")).toMatchObject({ attempts: 1, failures: 1, health: "UPSTREAM_HEALTH_FAILING" });
    upstream.script = (one) => one.json(400, { error: { message: "no", type: "invalid_request_error" } });
    await (await chat(bearer(gateway.apiKey))).arrayBuffer();
    expect(await listed("openai")).toMatchObject({ attempts: 2, failures: 1, health: "UPSTREAM_HEALTH_POOR" });
  });

  test("whose caller leaves is not running any more, and has not failed", async () => {
    time += 16 * 60_000;
    const leaving = new AbortController();
    const body = JSON.stringify({ model: "gpt", messages: [{ role: "user", content: "Hello" }], stream: true });
    const headers = { "content-type": "application/json", ...bearer(gateway.apiKey) };
    const { signal } = leaving;
    const call = fetch(`${gateway.baseUrl}/chat/completions`, { method: "POST", headers, body, signal });
    const exchange = await upstream.next();
    exchange.head(200, eventStream);
    await exchange.write(": nothing yet\n\n");
    expect(await listed("openai")).toMatchObject({ running: 1 });
    leaving.abort();
    await expect(call.then((response) => response.text())).rejects.toThrow();
    await exchange.left;
    const standing = await listed("openai");
    expect(standing).toMatchObject({ attempts: 1, health: "UPSTREAM_HEALTH_GOOD" });
    expect(standing).not.toHaveProperty("failures");
    expect(standing).not.toHaveProperty("running");
  });
});

describe("an upstream that is busy or failing", () => {
  let other: TestGateway;
  const listed = async (name: string) => {
    const { json } = await askRpc(other, "OperatorService.ListUpstreams", {}, bearer(operatorKey));
    return (json.upstreams as JsonObject[]).find((one) => one.name === name) as JsonObject;
  };
  const chatThere = (model: string) =>
    fetch(`${other.baseUrl}/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", ...bearer(other.apiKey) },
      body: JSON.stringify({ model, messages: [{ role: "user", content: "Hello" }] }),
    });

  beforeAll(async () => {
    const config = paidModels(upstream.baseUrl);
    const queue = { max_concurrent: 1, max_queued: 5, max_wait_seconds: 60 };
    const upstreams = config.upstreams.map((one) => (one.name === "openai" ? { ...one, queue } : one));
    const breaker = { failures: 1, openMs: 5000 };
    other = await startTestGateway({ ...config, upstreams, breaker, operatorKey });
  });
  afterAll(() => other.close());

  test("is told with the calls that wait for a place there", async () => {
    expect(await listed("openai")).toMatchObject({ maxConcurrent: 1 });
    expect(await listed("openai")).not.toHaveProperty("queued");
    expect(await listed("anthropic")).not.toHaveProperty("maxConcurrent");
    const calls = [chatThere("gpt"), chatThere("gpt-free"), chatThere("gpt")];
    const exchange = await upstream.next();
    await eventually(async () => expect(await listed("openai")).toMatchObject({ running: 1, queued: 2 }));
    answerAll();
    exchange.json(200, answer);
    expect((await Promise.all(calls)).map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(await listed("openai")).not.toHaveProperty("queued");
  });

  test("is told with those of its models that are left alone, by their names there", async () => {
    upstream.script = (exchange) => exchange.json(500, {});
    await (await chatThere("gpt")).arrayBuffer();
    answerAll();
    await (await chatThere("gpt-free")).arrayBuffer();
    expect(await listed("openai")).toMatchObject({ resting: ["v-gpt"] });
    expect(await listed("anthropic")).not.toHaveProperty("resting");
  });

  test("is told with whether its checks pass, where they are made", () => {
    const monitor = { stats: createHealth(() => now).of, queued: () => 0, maxConcurrent: () => undefined };
    const upstreams = ["up", "down", "unchecked"].map((name) => ({ name, kind: "openai", base_url: "" }));
    const checks: Readonly<Record<string, boolean>> = { up: true, down: false };
    const states = upstreamStates(upstreams, createCatalog([]), {
      ...monitor,
      restMs: () => 0,
      passesChecks: (name) => checks[name],
    });
    expect(states.map((one) => upstreamMessage(one).passesChecks)).toEqual([true, false, undefined]);
  });
});

test("the embedded models are an upstream without an address, where they are served", async () => {
  const embedded = await startTestGateway({ operatorKey });
  const { json } = await askRpc(embedded, "OperatorService.ListUpstreams", {}, bearer(operatorKey));
  expect(json.upstreams).toEqual([
    {
      ...{ name: "embedded", kind: "embedded", health: "UPSTREAM_HEALTH_UNKNOWN" },
      models: ["embedded-chat", "embedded-embedding", "tts-1", "tts-1-hd"],
    },
  ]);
  await embedded.close();
});

describe("the health of an upstream", () => {
  const signal = new AbortController().signal;
  const body = {} as Extract<Answer, { kind: "whole" }>["body"];

  /** watch makes attempts end with given outcomes, at times that the test decides. */
  function watch() {
    const clock = { at: now };
    const health = createHealth(() => clock.at);
    let outcome: () => Promise<Answer>;
    const provider = { speaks: { chat: () => outcome() }, close: async () => {} } as unknown as Provider;
    const { speaks } = health.watch("far", provider);
    const attempt = (how: () => Promise<Answer>, by: Partial<Attempt> = {}): Promise<Answer> => {
      outcome = how;
      return (speaks.chat as unknown as (attempt: unknown) => Promise<Answer>)({
        signal,
        record: attemptFacts(),
        ...by,
      });
    };
    const answers = async (ms = 0): Promise<Answer> => {
      clock.at += ms;
      return { kind: "whole", body };
    };
    return { clock, attempt, answers, fared: () => health.of("far"), health };
  }

  const fails = (error: unknown) => () => Promise.reject(error);

  test("is graded by the share of failures, and by the last attempt where most failed", () => {
    const grade = (attempts: number, failures: number, lastFailed: boolean) =>
      UpstreamHealthSchema.value[healthOf({ attempts, failures, lastFailed, passesChecks: undefined })]?.localName;
    expect(grade(0, 0, false)).toBe("UNKNOWN");
    expect(grade(100, 9, true)).toBe("GOOD");
    expect(grade(100, 10, false)).toBe("POOR");
    expect(grade(100, 50, true)).toBe("POOR");
    expect(grade(100, 51, false)).toBe("POOR");
    expect(grade(100, 51, true)).toBe("FAILING");
    expect(grade(1, 1, true)).toBe("FAILING");
  });

  test("counts what failed by its fault, and tells the last of it", async () => {
    const { attempt, answers, fared, clock } = watch();
    const words = { message: "the upstream's own words", param: undefined };
    const refusals: readonly [unknown, string | undefined][] = [
      [upstreamFailed("it broke off its answer"), "it broke off its answer"],
      [
        upstreamFailed("it cannot be reached", Object.assign(new Error("at 10.1.2.3"), { code: "ECONNREFUSED" })),
        "it cannot be reached (ECONNREFUSED)",
      ],
      [upstreamTimeout(), "did not answer in time"],
      [upstreamRefused(429, words, undefined, {}), "it answered with status 429"],
      [upstreamRefused(503, words, undefined, {}), "it answered with status 503"],
      [upstreamRefused(502, words, undefined, {}), "it answered with an error"],
      [upstreamRefused(502, { ...words, fault: "it answered with status 500" }, undefined, {}), "status 500"],
      [upstreamRefused(400, words, undefined, {}), undefined],
      [upstreamRefused(404, words, undefined, {}), undefined],
      [cancelled(), undefined],
      [new TypeError("ours"), undefined],
    ];
    for (const [error, told] of refusals) {
      const before = fared();
      clock.at += 1000;
      await expect(attempt(fails(error))).rejects.toBe(error);
      const { attempts, failures, lastFailure } = fared();
      expect([attempts, failures]).toEqual([before.attempts + 1, before.failures + (told === undefined ? 0 : 1)]);
      if (told !== undefined) expect(lastFailure).toEqual({ words: expect.stringContaining(told), at: clock.at });
      expect(lastFailure?.words).not.toMatch(/own words|10\.1\.2\.3|Try again/);
    }
    await attempt(() => answers());
    expect(fared()).toMatchObject({ lastFailed: false, running: 0 });
  });

  test("is of the last 15 minutes, and of the last 1,000 attempts at most", async () => {
    const { attempt, answers, fared, clock } = watch();
    const count = ({ attempts, failures }: UpstreamStats) => [attempts, failures];
    for (let i = 0; i < 5; i++) await expect(attempt(fails(upstreamTimeout()))).rejects.toThrow();
    clock.at += 15 * 60_000;
    await attempt(() => answers());
    expect(count(fared())).toEqual([6, 5]);
    clock.at += 1;
    expect(count(fared())).toEqual([1, 0]);
    expect(fared().lastFailure?.at).toBe(now);
    for (let i = 0; i < 10; i++) await expect(attempt(fails(upstreamTimeout()))).rejects.toThrow();
    for (let i = 0; i < 995; i++) await attempt(() => answers());
    expect(count(fared())).toEqual([1000, 5]);
  });

  test("tells how long first bytes took, of what was answered, the shortest first", async () => {
    const { attempt, answers, fared, clock } = watch();
    await attempt(() => answers(30));
    await attempt(() => answers(10));
    await expect(attempt(fails(upstreamTimeout()))).rejects.toThrow();
    const streamed = await attempt(async () => ({
      kind: "stream",
      frames: (async function* () {
        clock.at += 20;
        yield [];
        clock.at += 500;
        yield [];
      })(),
    }));
    expect(fared()).toMatchObject({ attempts: 3, running: 1 });
    if (streamed.kind === "stream") for await (const _ of streamed.frames);
    expect(fared()).toMatchObject({ attempts: 4, running: 0, firstBytes: [10, 20, 30] });
  });

  test("does not wait for a stream that nobody reads, once its caller has left", async () => {
    const { attempt, fared } = watch();
    const leaving = new AbortController();
    await attempt(async () => ({ kind: "stream", frames: (async function* () {})() }), { signal: leaving.signal });
    expect(fared().running).toBe(1);
    leaving.abort();
    expect(fared()).toMatchObject({ running: 0, attempts: 1, failures: 0 });
  });

  test("has nothing to do with what breaks once the caller has left", async () => {
    const { attempt, fared } = watch();
    const left = fails(upstreamFailed("the connection to it broke"));
    await expect(attempt(left, { signal: AbortSignal.abort() })).rejects.toThrow();
    expect(fared()).toMatchObject({ attempts: 1, failures: 0, lastFailure: undefined });
  });

  test("is unknown of one that was never asked", () => {
    expect(watch().health.of("another")).toMatchObject({ attempts: 0, running: 0, lastFailure: undefined });
  });
});

describe("who is signed in", () => {
  test("calls models by a key of the account, which is charged for it", async () => {
    answerAll();
    const payer = await openAccount(gateway);
    const { headers } = await signIn(gateway, now, { accountId: payer.accountId });
    const response = await chat({ ...headers, "x-gateway-key": payer.keyId });
    expect(response.status, await response.text()).toBe(200);
    const key = await gateway.storage.keys.findWithAccount(payer.keyId);
    // A token in and a token out.
    expect([key?.spent, key?.account_balance]).toEqual([14, payer.begunWith - 14]);
  });

  test("calls none without a key, by another account's, or by one that may not", async () => {
    answerAll();
    const payer = await openAccount(gateway, { models: ["embed"] });
    const { headers } = await signIn(gateway, now, { accountId: payer.accountId });
    const made = async (name: string) =>
      (await issueKey(gateway.storage.keys, { accountId: payer.accountId, name, admin: false, now })).key.id;
    const [disabled, revoked] = [await made("disabled"), await made("revoked")];
    await gateway.storage.keys.update(payer.accountId, disabled, { disabled: 1 });
    await gateway.storage.keys.revoke(revoked, now);
    const statusBy = async (key?: string) =>
      (await chat(key === undefined ? headers : { ...headers, "x-gateway-key": key })).status;
    expect(await statusBy()).toBe(403);
    expect(await statusBy(gateway.keyId)).toBe(404);
    expect(await statusBy(revoked)).toBe(404);
    expect(await statusBy("none")).toBe(404);
    expect(await statusBy(disabled)).toBe(401);
    expect(await statusBy(payer.keyId), "it is not permitted the model").toBe(403);
    expect(upstream.received.filter(({ headers }) => headers["x-gateway-key"] !== undefined)).toEqual([]);
  });
});

describe("suspending an account", () => {
  test("ends the sessions of all its users, also for when it is reinstated", async () => {
    const { accountId } = await openAccount(gateway);
    const people = [await signIn(gateway, now, { accountId }), await signIn(gateway, now, { accountId })];
    const bystander = await signIn(gateway, now);
    const seen = ({ headers }: { headers: Headers }) => reasonOf("AccountService.GetAccount", {}, headers);
    expect(await Promise.all([...people, bystander].map(seen))).toEqual([undefined, undefined, undefined]);
    await ask("OperatorService.UpdateAccount", { account: accountId, name: `${accountId} renamed` });
    expect(await Promise.all(people.map(seen)), "a new name ends no session").toEqual([undefined, undefined]);
    await ask("OperatorService.UpdateAccount", { account: accountId, suspended: true });
    await ask("OperatorService.UpdateAccount", { account: accountId, suspended: false });
    expect(await Promise.all([...people, bystander].map(seen))).toEqual(["SESSION_ENDED", "SESSION_ENDED", undefined]);
  });

  test("is refused to an operator whose own it is, by any name", async () => {
    const { accountId } = await openAccount(gateway);
    const boss = await signIn(gateway, now, { accountId, operator: true });
    const update = (account: string, more: JsonObject) =>
      reasonOf("OperatorService.UpdateAccount", { account, ...more }, boss.headers);
    expect(await update(accountId, { suspended: true, name: "mine" })).toBe("CONFLICT");
    expect(await gateway.storage.accounts.find("mine")).toBeUndefined();
    expect(await update(accountId, { suspended: false, name: "mine" })).toBeUndefined();
    expect(await update("mine", { suspended: true })).toBe("CONFLICT");
    expect(await update((await openAccount(gateway)).accountId, { suspended: true })).toBeUndefined();
  });
});

describe("the keys of an account", () => {
  test("are listed page by page, disabled and revoked from the next call on, and told in the audit log", async () => {
    const { accountId, keyId, apiKey } = await openAccount(gateway);
    const further = await issueKey(gateway.storage.keys, { accountId, name: "further", admin: false, now });
    const list = (more: JsonObject = {}) => ask("OperatorService.ListAccountKeys", { account: accountId, ...more });
    const { keys, nextPageToken } = await list({ pageSize: 1 });
    expect(keys).toEqual([expect.objectContaining({ id: keyId, secretMask: expect.stringMatching(/^sk-.*…/) })]);
    expect(await list({ pageToken: nextPageToken as string })).toEqual({
      keys: [expect.objectContaining({ id: further.key.id, name: "further" })],
    });
    expect((await list()).keys, "no secret is told").toEqual([
      expect.not.objectContaining({ secret: expect.anything() }),
      expect.not.objectContaining({ secret: expect.anything() }),
    ]);
    const called = async () => (await fetch(`${gateway.baseUrl}/models`, { headers: bearer(apiKey) })).status;
    const switched = (disabled: boolean) =>
      ask("OperatorService.SwitchAccountKey", { account: accountId, id: keyId, disabled });
    expect(await called()).toBe(200);
    expect((await switched(true)).key).toMatchObject({ id: keyId, disabled: true });
    expect(await called()).toBe(401);
    expect((await switched(false)).key).toMatchObject({ id: keyId });
    expect(await called()).toBe(200);
    expect(await ask("OperatorService.DeleteAccountKey", { account: accountId, id: keyId })).toEqual({ id: keyId });
    expect(await called()).toBe(401);
    expect((await list()).keys).toEqual([expect.objectContaining({ id: further.key.id })]);
    const { acts } = await ask("OperatorService.ListAudit", { pageSize: 3 });
    expect((acts as JsonObject[]).map(({ action, subject }) => [action, subject])).toEqual([
      ["OperatorService.DeleteAccountKey", keyId],
      ["OperatorService.SwitchAccountKey", keyId],
      ["OperatorService.SwitchAccountKey", keyId],
    ]);
  });

  test("are those of the account that is named alone, and nothing for who does not operate the gateway", async () => {
    const [one, other] = [await openAccount(gateway), await openAccount(gateway)];
    const user = await signIn(gateway, now, { accountId: one.accountId });
    for (const [name, more] of [
      ["ListAccountKeys", {}],
      ["SwitchAccountKey", { id: one.keyId, disabled: true }],
      ["DeleteAccountKey", { id: one.keyId }],
    ] as const) {
      const ofOwner = { account: one.accountId, ...more };
      expect(await reasonOf(`OperatorService.${name}`, ofOwner, user.headers)).toBe("PERMISSION_DENIED");
      expect(await reasonOf(`OperatorService.${name}`, { ...ofOwner, account: "nobody" })).toBe("RESOURCE_NOT_FOUND");
      if (name === "ListAccountKeys") continue;
      expect(await reasonOf(`OperatorService.${name}`, { ...ofOwner, account: other.accountId })).toBe(
        "RESOURCE_NOT_FOUND",
      );
    }
    expect((await fetch(`${gateway.baseUrl}/models`, { headers: bearer(one.apiKey) })).status).toBe(200);
  });
});

describe("users", () => {
  const listed = async (request: JsonObject) =>
    ((await ask("OperatorService.ListUsers", request)).users ?? []) as JsonObject[];

  test("are listed oldest first, page by page, by e-mail address, id or account", async () => {
    const { accountId } = await openAccount(gateway);
    const ann = await signIn(gateway, now + 1, { accountId, email: "Ann.Lee@example.com", operator: true });
    const bob = await signIn(gateway, now + 2, { accountId });
    expect((await listed({ search: accountId })).map(({ id }) => id)).toEqual([ann.userId, bob.userId]);
    expect(await listed({ search: "nn.lee" })).toEqual([
      {
        ...{ id: ann.userId, email: "ann.lee@example.com", accountId, accountName: accountId, operator: true },
        ...{ createdAt: expect.any(String), lastSeenAt: expect.any(String) },
      },
    ]);
    expect((await listed({ search: bob.userId })).map(({ id }) => id)).toEqual([bob.userId]);
    const first = await ask("OperatorService.ListUsers", { search: accountId, pageSize: 1 });
    const more = { search: accountId, pageToken: first.nextPageToken as string };
    expect((await listed(more)).map(({ id }) => id)).toEqual([bob.userId]);
  });

  test("are refused with what to do where the credential is not the operator's", async () => {
    const alone = await startTestGateway({ operatorKey: undefined });
    const wrong = bearer("x".repeat(40));
    const told = async (of: TestGateway) => (await askRpc(of, "OperatorService.ListUsers", {}, wrong)).json.message;
    expect(await told(alone)).toContain("set `operator_key` in gateway.yaml");
    expect(await told(gateway)).toContain("the credential is not it");
    await alone.close();
  });

  test("are let operate the gateway, and no longer, but for the last who does", async () => {
    const alone = await startTestGateway({ operatorKey });
    const [ann, bob] = [await signIn(alone, now, { operator: true }), await signIn(alone, now)];
    const told = (name: string, request: JsonObject, headers: Headers = bearer(operatorKey)) =>
      askRpc(alone, `OperatorService.${name}`, request, headers);
    const asBob = () => told("ListAccounts", {}, bob.headers);
    expect((await asBob()).reason).toBe("PERMISSION_DENIED");
    expect((await told("UpdateUser", { userId: ann.userId, operator: false })).reason).toBe("CONFLICT");
    expect((await told("RemoveUser", { userId: ann.userId })).reason).toBe("CONFLICT");
    const made = await told("UpdateUser", { userId: bob.userId, operator: true });
    expect(made.json.user).toMatchObject({ id: bob.userId, operator: true });
    expect((await asBob()).status).toBe(200);
    // The operator removes a lost second factor; only its user can set one up.
    const factor = { secret: "A".repeat(32), step: 1, recoveryHashes: [] };
    await alone.storage.users.setPendingFactor(bob.userId, factor.secret);
    await alone.storage.users.enableFactor(bob.userId, factor);
    expect((await told("UpdateUser", { userId: bob.userId, secondFactor: true })).reason).toBe("INVALID_VALUE");
    expect((await told("UpdateUser", { userId: bob.userId })).json.user).toMatchObject({ secondFactor: true });
    const without = await told("UpdateUser", { userId: bob.userId, secondFactor: false });
    expect(without.json.user).toMatchObject({ id: bob.userId, operator: true });
    expect((await alone.storage.users.find(bob.userId))?.totp_secret).toBeNull();
    expect((await told("RemoveUser", { userId: ann.userId })).json).toEqual({ userId: ann.userId });
    expect((await told("ListAccounts", {}, ann.headers)).reason).toBe("SESSION_ENDED");
    expect((await told("UpdateUser", { userId: ann.userId, operator: true })).reason).toBe("RESOURCE_NOT_FOUND");
    expect((await told("RemoveUser", { userId: ann.userId })).reason).toBe("RESOURCE_NOT_FOUND");
    await alone.close();
  });

  test("are invited, or let set a new password, by a link that is kept as a hash", async () => {
    const { accountId } = await openAccount(gateway);
    const { userId } = await signIn(gateway, now, { accountId });
    const link = (request: JsonObject) => ask("OperatorService.CreateLink", request);
    const invitation = await link({ account: accountId, email: "New@example.com", validSeconds: 60 });
    expect(invitation.linkId).toMatch(/^lnk_[0-9a-z]{25}$/);
    expect(invitation.url).toMatch(new RegExp(`^${gateway.rootUrl}/dashboard/register#[\\w-]{43}$`));
    expect(Date.parse(invitation.expiresAt as string) - time).toBeLessThanOrEqual(60_000);
    expect((await link({ userId })).url).toMatch(/\/dashboard\/reset-password#[\w-]{43}$/);
    expect(await reasonOf("OperatorService.CreateLink", { userId, account: accountId })).toBe("INVALID_VALUE");
    expect(await reasonOf("OperatorService.CreateLink", { userId: "usr_none" })).toBe("RESOURCE_NOT_FOUND");
    expect(await reasonOf("OperatorService.CreateLink", { account: "nobody" })).toBe("RESOURCE_NOT_FOUND");
    const secret = (invitation.url as string).split("#")[1] as string;
    const acts = await gateway.storage.auditEvents.page({ action: "OperatorService.CreateLink", limit: 100 });
    expect(acts).toHaveLength(5);
    expect(acts.at(-1)).toMatchObject({
      account_id: accountId,
      subject: invitation.linkId,
      actor_kind: "operator_key",
    });
    const holds = acts.map(({ details }) => (JSON.parse(details) as { expires_at?: string }).expires_at);
    expect(holds.filter(Boolean)).toHaveLength(2);
    expect(holds.at(-1)).toBe(invitation.expiresAt);
    expect(JSON.stringify(acts)).not.toContain(secret);
    expect(gateway.logged()).not.toContain(secret);
  });
});

test("what only the operator may see is for nobody else", async () => {
  const person = await signIn(gateway, now);
  const views = ["ListAllRequests", "ListUpstreams", "DescribeLimits", "ListAudit", "ListUsers", "ListEntries"];
  for (const view of views) {
    for (const headers of [person.headers, bearer(gateway.apiKey)]) {
      expect(await reasonOf(`OperatorService.${view}`, { account: newId("acc") }, headers), view).toBeDefined();
    }
  }
});
