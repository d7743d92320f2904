/**
 * What `POST /v1/explain` says is what the call then gets: the same order of targets, the same dropped fields, the same hold, the
 * same refusal. Explaining sends, holds and records nothing.
 */

import { createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport } from "@connectrpc/connect-node";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { InferenceService } from "../../../gen/modelgateway/v1/inference_pb.ts";
import { defaultTiers } from "../../../src/call/tiers.ts";
import type { Config, ModelConfig } from "../../../src/config/config.ts";
import { eventually } from "../../support/eventually.ts";
import { type AccountInit, startTestGateway, type TestGateway } from "../../support/gateway.ts";
import { amountsHeld } from "../../support/payer.ts";
import { type ScriptedUpstream, startScriptedUpstream } from "../../support/scripted-upstream.ts";
import { cost, paidModel } from "../../support/upstreams/paid-models.ts";
import { answerAsAnthropic, answerAsOpenAi } from "../../support/vendors.ts";

let first: ScriptedUpstream;
let second: ScriptedUpstream;
let gateway: TestGateway;
let now = 0;

const at = (upstream: string, priority = 0, weight = 1) => ({ upstream, model: "far", priority, weight });

const models: readonly ModelConfig[] = [
  paidModel("gpt", "first", { aliases: ["gpt-latest"], sticky: false, targets: [at("first"), at("second", 1, 3)] }),
  paidModel("claude", "claude", { max_output_tokens: 4096 }),
  paidModel("mixed", "first", { sticky: false, targets: [at("first"), at("claude", 1)] }),
  paidModel("equals", "first", { sticky: true, targets: [at("first"), at("second")] }),
  paidModel("other", "second", { price: { input: 90_000_000, output: 110_000_000 } }),
  paidModel("davinci", "first", { completions: "native" }),
  paidModel("free", "first", { price: { input: 0, output: 0 } }),
  paidModel("unpriced", "first", { price: undefined }),
  paidModel("embed", "first", { kind: "embedding" }),
  paidModel("voice", "first", { kind: "speech" }),
];

const alone = paidModel("gpt", "first");

async function start(account: AccountInit = {}, overrides: Partial<Config> = {}): Promise<void> {
  const upstreams: Config["upstreams"] = [
    { name: "first", kind: "openai", base_url: first.baseUrl, api_key: "k" },
    { name: "second", kind: "openai", base_url: second.baseUrl, api_key: "k" },
    { name: "claude", kind: "anthropic", base_url: second.baseUrl, api_key: "k" },
  ];
  const breaker = { failures: 2, openMs: 5000 };
  const config = { upstreams, models, embeddedModels: false, tiers: defaultTiers, breaker, ...overrides };
  gateway = await startTestGateway(config, { clock: () => now, postpaid: false, ...account });
}

beforeEach(async () => {
  now = Date.UTC(2026, 0, 2);
  const answer = (exchange: Parameters<typeof answerAsOpenAi>[0]) =>
    (exchange.path === "/v1/messages" ? answerAsAnthropic : answerAsOpenAi)(exchange);
  [first, second] = [await startScriptedUpstream(answer), await startScriptedUpstream(answer)];
});

afterEach(async () => {
  expect(await holds()).toEqual([]);
  expect((await gateway.storage.reconcile()).findings).toEqual([]);
  await gateway.close();
  await Promise.all([first.close(), second.close()]);
});

interface Target {
  readonly upstream: string;
  readonly model: string;
  readonly operation: string;
  readonly dropped?: readonly string[];
  readonly resting_seconds?: number;
  readonly queued: number;
  readonly priority: number;
  readonly weight: number;
  readonly refusal?: Refusal;
}

interface Refusal {
  readonly status: number;
  readonly reason: string;
  readonly message: string;
  readonly param: string;
}

interface Explained {
  readonly operation: string;
  readonly models?: readonly {
    readonly model: string;
    readonly targets: readonly Target[];
    readonly hold?: { readonly wanted: string; readonly least: string; readonly available?: string };
  }[];
  readonly rate: object;
  readonly cache: string;
  readonly refusal?: Refusal;
}

function post(path: string, body: object, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
  return fetch(`${gateway.rootUrl}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${gateway.apiKey}`, "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
}

async function explain(path: string | undefined, request: object, more: object = {}, headers = {}): Promise<Explained> {
  const response = await post("/v1/explain", { ...(path === undefined ? {} : { path }), request, ...more }, headers);
  expect(response.status).toBe(200);
  return (await response.json()) as Explained;
}

const messages = [{ role: "user", content: "Hello" }];
const chat = (more: object = {}) => ({ model: "gpt", messages, ...more });

const holds = () => gateway.storage.holds.list(gateway.accountId, now, 10);
const rows = () => gateway.storage.requests.page({ accountId: gateway.accountId }, undefined, 10);
const received = () => first.received.length + second.received.length;

const units = (millionths: number) => String(millionths / 1_000_000);

/** The most that this request's input may cost. */
const inputOf = (body: object) => (JSON.stringify(body).length + 64) * cost.cacheWriteHour;

describe("what would become of a call", () => {
  beforeEach(() => start());

  test("is told with its targets in their order, its hold and the account's rate, and nothing is sent for it", async () => {
    const request = chat({ max_tokens: 100 });
    const wanted = units(inputOf(request) + 100 * cost.output);
    expect(await explain(undefined, request)).toEqual({
      operation: "chat",
      models: [
        {
          model: "gpt",
          targets: [
            { ...{ upstream: "first", model: "far", operation: "chat" }, queued: 0, priority: 0, weight: 1 },
            { ...{ upstream: "second", model: "far", operation: "chat" }, queued: 0, priority: 1, weight: 3 },
          ],
          hold: {
            ...{ wanted, least: wanted, available: "300.00" },
            rates: {
              input: "3.00",
              cache_read: "1.00",
              cache_write: "5.00",
              cache_write_hour: "7.00",
              output: "11.00",
            },
          },
        },
      ],
      rate: { tier: "Premium", requests_per_minute: 10_000, requests_remaining: 9_999 },
      cache: "",
      limits: [
        {
          ...{ name: "account-requests", limit: 10_000, remaining: 9_999, nearest: true },
          resets_at: "2026-01-02T00:00:00.006Z",
        },
      ],
      ...{ address: "127.0.0.1", allowed_ips: [] },
    });
    expect([received(), (await rows()).length, (await holds()).length]).toEqual([0, 0, 0]);
    expect(await gateway.storage.accounts.find(gateway.accountId)).toMatchObject({ balance: 300_000_000, held: 0 });
  });

  const paths: readonly [path: string, request: object, operation: string, spoken: string][] = [
    ["/v1/chat/completions", { model: "gpt", messages }, "chat", "chat"],
    ["/chat/completions", { model: "claude", messages }, "chat", "messages"],
    ["/v1/messages", { model: "claude", messages, max_tokens: 9 }, "messages", "messages"],
    ["/messages", { model: "gpt", messages, max_tokens: 9 }, "messages", "chat"],
    ["/v1/messages/count_tokens", { model: "claude", messages }, "count_tokens", "count_tokens"],
    ["/v1/responses", { model: "gpt", input: "Hello" }, "responses", "chat"],
    ["/responses", { model: "claude", input: "Hello" }, "responses", "messages"],
    ["/v1/completions", { model: "davinci", prompt: "Hello" }, "completions", "completions"],
    ["/v1/completions", { model: "claude", prompt: ["Hello", "you"] }, "completions", "messages"],
    ["/v1/embeddings", { model: "embed", input: "Hello" }, "embeddings", "embeddings"],
    ["/audio/speech", { model: "voice", input: "Hello", voice: "alloy" }, "speech", "speech"],
  ];
  test.each(paths)("is told of %s with %j", async (path, request, operation, spoken) => {
    const told = await explain(path, request);
    expect(told).not.toHaveProperty("refusal");
    expect(told.operation).toBe(operation);
    expect(told.models?.map(({ model }) => model)).toEqual([(request as { model: string }).model]);
    expect(told.models?.[0]?.targets[0]?.operation).toBe(spoken);
    expect(told.models?.[0]?.hold === undefined).toBe(operation === "count_tokens");
    expect([received(), (await rows()).length]).toEqual([0, 0]);
  });

  test("is told of requests that leave out what they may", async () => {
    expect((await explain("/v1/completions", {})).models?.[0]?.model).toBe("gpt");
    expect((await explain("/v1/embeddings", {})).models?.[0]?.model).toBe("embed");
  });

  test("is told over RPC alike, with money in millionths", async () => {
    const request = { model: "claude", messages, max_tokens: 100, seed: 3 };
    const headers = { authorization: `Bearer ${gateway.apiKey}` };
    for (const transport of [
      createConnectTransport({ baseUrl: gateway.rootUrl, httpVersion: "1.1" }),
      createGrpcTransport({ baseUrl: gateway.rootUrl }),
    ]) {
      const told = await createClient(InferenceService, transport).explainCall({ request }, { headers });
      expect(told.operation).toBe("chat");
      expect(told.models[0]?.targets).toMatchObject([{ upstream: "claude", operation: "messages", dropped: ["seed"] }]);
      expect(told.models[0]?.hold?.wanted).toBe(BigInt(inputOf(request) + 100 * cost.output));
      expect(told.refusal).toBeUndefined();
    }
    expect(received()).toBe(0);
  });

  test("names what each target could not be told, and with `strict` is refused where the first cannot", async () => {
    const request = chat({ model: "mixed", seed: 3, models: ["claude"] });
    const told = await explain(undefined, request);
    const dropped = ({ models = [] }: Explained) =>
      models.map(({ model, targets }) => [model, ...targets.map(({ dropped = [] }) => dropped)]);
    expect(dropped(told)).toEqual([
      ["mixed", [], ["seed"]],
      ["claude", ["seed"]],
    ]);
    const refused = { status: 400, reason: "WOULD_BE_DROPPED", param: "seed" };
    const strict = await explain(undefined, request, { strict: true });
    expect(strict).not.toHaveProperty("refusal");
    expect(strict.models?.[0]?.targets[1]?.refusal).toMatchObject(refused);
    const alone = chat({ model: "claude", seed: 3 });
    expect((await explain(undefined, alone, { strict: true })).refusal).toMatchObject(refused);
    expect((await explain(undefined, alone, {}, { "x-gateway-strict": "true" })).refusal).toMatchObject(refused);
    expect(await explain(undefined, alone, { strict: false }, { "x-gateway-strict": "true" })).not.toHaveProperty(
      "refusal",
    );
  });

  test("tells of every model that the request falls back to, by its id and at its own price", async () => {
    const told = await explain(undefined, chat({ models: ["other", "gpt-latest", "claude"], max_tokens: 10 }));
    expect(told.models?.map(({ model }) => model)).toEqual(["gpt", "other", "claude"]);
    const [gpt = 0, other = 0] = told.models?.map(({ hold }) => Number(hold?.wanted)) ?? [];
    expect(other).toBeGreaterThan(10 * gpt);
  });

  test("says that nothing is held for what costs nothing", async () => {
    expect((await explain(undefined, chat({ model: "free" }))).models?.[0]).not.toHaveProperty("hold");
  });

  test("counts for the account's rate as the call itself would", async () => {
    const remaining = async () => (await explain(undefined, chat())).rate as { readonly requests_remaining: number };
    const before = (await remaining()).requests_remaining;
    expect((await remaining()).requests_remaining).toBe(before - 1);
  });

  test("is asked of model endpoints, and of nothing else", async () => {
    for (const path of ["/v1/models", "/v1/nowhere", "/v1/explain", "chat/completions", ""]) {
      const response = await post("/v1/explain", { path, request: chat() });
      const { error } = (await response.json()) as { error: { param: string } };
      expect([path, response.status, error.param]).toEqual([path, 404, "path"]);
    }
    expect((await post("/explain", {})).status).toBe(400);
    expect((await fetch(`${gateway.rootUrl}/v1/explain`, { method: "POST", body: "{}" })).status).toBe(401);
  });
});

describe("the refusal that a call would meet is told as it would be given", () => {
  /** The refusal of the call itself, in the form of an explanation. */
  async function refused(path: string, request: object, headers = {}) {
    const response = await post(path, request, headers);
    const { error } = (await response.json()) as { error: { message: string; param: string | null } };
    return { status: response.status, message: error.message, param: error.param ?? "" };
  }

  async function expectAlike(path: string, request: object, expected: Partial<Refusal>): Promise<Explained> {
    const told = await explain(path, request);
    expect(told.refusal).toMatchObject(expected);
    expect(received()).toBe(0);
    expect(told.refusal).toMatchObject(await refused(path, request));
    expect(received()).toBe(0);
    return told;
  }

  test("for a request that does not keep to its contract", async () => {
    await start();
    const fault = { status: 400, reason: "INVALID_TYPE", param: "messages[0].content" };
    await expectAlike("/v1/chat/completions", { model: "gpt", messages: [{ role: "user", content: 7 }] }, fault);
    await expectAlike("/v1/chat/completions", { model: "gpt" }, { reason: "MISSING_FIELD", param: "messages" });
    await expectAlike("/v1/chat/completions", chat({ temperature: 9 }), { reason: "INVALID_VALUE" });
    const several = { model: "gpt", prompt: ["a", "b"], models: ["claude"] };
    await expectAlike("/v1/completions", several, { reason: "INVALID_VALUE", param: "models" });
    const tokens = { model: "gpt", prompt: [1, 2] };
    await expectAlike("/v1/completions", tokens, { reason: "INVALID_VALUE", param: "prompt" });
  });

  test("for a header of the call that is none", async () => {
    await start();
    for (const name of ["x-gateway-timeout", "x-gateway-strict"]) {
      const headers = { [name]: "soon" };
      const { refusal } = await explain(undefined, chat(), {}, headers);
      expect(refusal).toMatchObject({ status: 400, param: name });
      expect(refusal).toMatchObject(await refused("/v1/chat/completions", chat(), headers));
    }
    expect(await explain(undefined, chat(), { strict: false }, { "x-gateway-strict": "soon" })).not.toHaveProperty(
      "refusal",
    );
  });

  test("for responses that refer to what is not kept, and not for what is", async () => {
    await start();
    const missing = { model: "gpt", input: "Hello", previous_response_id: "resp_gone" };
    await expectAlike("/v1/responses", missing, { status: 400, reason: "PREVIOUS_RESPONSE_NOT_FOUND" });
    const conversation = { model: "gpt", input: "Hello", conversation: "conv_1" };
    await expectAlike("/v1/responses", conversation, { reason: "INVALID_VALUE", param: "conversation" });
    const response = await post("/v1/responses", { model: "gpt", input: "Hello" });
    const { id } = (await response.json()) as { id: string };
    const told = await explain("/v1/responses", { ...missing, previous_response_id: id });
    expect(told).not.toHaveProperty("refusal");
    // The conversation that it goes on from is input, too.
    const alone = await explain("/v1/responses", { model: "gpt", input: "Hello" });
    expect(Number(told.models?.[0]?.hold?.wanted)).toBeGreaterThan(Number(alone.models?.[0]?.hold?.wanted));
    expect(await rows()).toHaveLength(1);
  });

  test("for a model that is unknown, of another kind, or not permitted", async () => {
    await start({ models: ["gpt", "embed"] });
    const path = "/v1/chat/completions";
    const unknown = { status: 404, reason: "MODEL_NOT_FOUND", param: "model" };
    const told = await expectAlike(path, chat({ model: "nowhere" }), unknown);
    expect(told).not.toHaveProperty("models");
    await expectAlike(path, chat({ model: "embed" }), unknown);
    const forbidden = { status: 403, reason: "MODEL_NOT_PERMITTED" };
    await expectAlike(path, chat({ model: "claude" }), { ...forbidden, param: "model" });
    await expectAlike(path, chat({ models: ["gpt", "claude"] }), { ...forbidden, param: "models[1]" });
  });

  test("for a model without a price, where it must be paid beforehand", async () => {
    await start();
    const refusal = { status: 403, reason: "MODEL_UNPRICED", param: "model" };
    await expectAlike("/v1/chat/completions", chat({ model: "unpriced" }), refusal);
    // Further ones are only asked where they can be paid.
    const told = await explain(undefined, chat({ models: ["unpriced"] }));
    expect(told).not.toHaveProperty("refusal");
    expect(told.models?.[1]?.targets[0]?.refusal).toMatchObject(refusal);
    await gateway.close();
    await start({ postpaid: true });
    expect(await explain(undefined, chat({ model: "unpriced" }))).not.toHaveProperty("refusal");
  });

  test("for credit that does not reach, and the bound is told where it reaches for some", async () => {
    await start({ creditLimit: inputOf(chat()) + 7 * cost.output });
    const told = await explain(undefined, chat());
    expect(told).not.toHaveProperty("refusal");
    expect(told.models?.[0]?.hold).toMatchObject({
      least: units(inputOf(chat()) + cost.output),
      available: units(inputOf(chat()) + 7 * cost.output),
      output_bound: 7,
    });
    const more = chat({ max_tokens: 100 });
    const short = await expectAlike("/v1/chat/completions", more, { status: 402, reason: "INSUFFICIENT_CREDIT" });
    expect(short.models?.[0]?.hold).not.toHaveProperty("output_bound");
    expect(short.models?.[0]?.targets.map(({ refusal }) => refusal?.status)).toEqual([402, 402]);
    await post("/v1/chat/completions", chat());
    expect(JSON.parse(first.received[0]?.body.toString() ?? "")).toMatchObject({ max_tokens: 7 });
  });

  test("for targets that all rest", async () => {
    await start();
    for (const upstream of [first, second]) upstream.script = (exchange) => exchange.json(500, { error: {} });
    for (let i = 0; i < 4; i++) await post("/v1/chat/completions", chat());
    const before = received();
    now += 1000;
    const told = await explain(undefined, chat());
    expect(told.refusal).toMatchObject(await refused("/v1/chat/completions", chat()));
    expect(told.refusal).toMatchObject({ status: 503, reason: "UPSTREAM_FAILED" });
    expect(told.models?.[0]?.targets.map(({ resting_seconds }) => resting_seconds)).toEqual([4, 4]);
    expect(received()).toBe(before);
    now += 4000;
    expect(await explain(undefined, chat())).not.toHaveProperty("refusal");
  });
});

describe("the cache", () => {
  const cache = { maxBytes: 1024 ** 2, keepMs: 60_000, priceShare: 0 };
  const path = "/v1/chat/completions";

  test("is asked whether it has the answer, as the call itself would ask it", async () => {
    await start({}, { cache });
    const state = async (request: object, more: object = {}, headers = {}) =>
      (await explain(path, request, more, headers)).cache;
    expect(await state(chat())).toBe("miss");
    await (await post(path, chat())).text();
    expect(await state(chat())).toBe("hit");
    expect(await state(chat({ seed: 3 }))).toBe("miss");
    expect(await state(chat({ stream: true }))).toBe("miss");
    expect(await state(chat(), { strict: true })).toBe("miss");
    expect(await state(chat(), {}, { "cache-control": "no-cache" })).toBe("miss");
    expect(await state(chat(), {}, { "cache-control": "no-store" })).toBe("");
    expect((await explain("/v1/responses", { model: "gpt", input: "Hello" })).cache).toBe("");
    expect((await post(path, chat())).headers.get("x-gateway-cache")).toBe("hit");
    expect(first.received).toHaveLength(1);
  });

  test("answers while all targets rest, and refuses what it has not to who wants nothing else", async () => {
    await start({}, { cache });
    await (await post(path, chat())).text();
    for (const upstream of [first, second]) upstream.script = (exchange) => exchange.json(500, { error: {} });
    for (let i = 0; i < 4; i++) await post(path, chat({ seed: i }));
    expect(await explain(path, chat())).not.toHaveProperty("refusal");
    expect((await explain(path, chat({ seed: 9 }))).refusal).toMatchObject({ status: 503 });
    const headers = { "cache-control": "only-if-cached" };
    const refusal = { status: 504, reason: "NOT_CACHED" };
    expect((await explain(path, chat({ seed: 9 }), {}, headers)).refusal).toMatchObject(refusal);
    expect((await post(path, chat({ seed: 9 }), headers)).status).toBe(504);
  });
});

test("calls that wait for a place at a target's upstream are counted", async () => {
  const queue = { max_concurrent: 1, max_queued: 9, max_wait_seconds: 60 };
  await start({}, { upstreams: [{ name: "first", kind: "openai", base_url: first.baseUrl, queue }], models: [alone] });
  const { script } = first;
  first.script = undefined;
  const calls = [chat(), chat()].map((request) => post("/v1/chat/completions", request));
  const exchange = await first.next();
  await eventually(async () => expect((await explain(undefined, chat())).models?.[0]?.targets[0]?.queued).toBe(1));
  first.script = script;
  script?.(exchange);
  expect((await Promise.all(calls)).map(({ status }) => status)).toEqual([200, 200]);
});

test("white space in a request counts for its hold, as it would in the call", async () => {
  await start();
  const request = '{ "model": "gpt",\n  "max_tokens": 5, "messages": [ {"role": "user", "content": "Hello"} ] }';
  const headers = { authorization: `Bearer ${gateway.apiKey}`, "content-type": "application/json" };
  const body = `{"request": ${request}, "path": "/v1/chat/completions"}`;
  const response = await fetch(`${gateway.rootUrl}/v1/explain`, { method: "POST", headers, body });
  const told = (await response.json()) as Explained;
  const wanted = (request.length + 64) * cost.cacheWriteHour + 5 * cost.output;
  expect(told.models?.[0]?.hold?.wanted).toBe(units(wanted));
});

describe("what is explained is what then happens", () => {
  test("a target that rests is told of last, and not asked", async () => {
    await start();
    first.script = (exchange) => exchange.json(500, { error: {} });
    for (let i = 0; i < 2; i++) await post("/v1/chat/completions", chat());
    const told = await explain(undefined, chat({ models: ["claude"] }));
    const order = told.models?.flatMap(({ model, targets }) =>
      targets.map(({ upstream, resting_seconds = 0 }) => [model, upstream, resting_seconds]),
    );
    expect(order).toEqual([
      ["gpt", "second", 0],
      ["gpt", "first", 5],
      ["claude", "claude", 0],
    ]);
    const asked = first.received.length;
    const response = await post("/v1/chat/completions", chat());
    expect([response.status, response.headers.get("x-gateway-upstream")]).toEqual([200, "second"]);
    expect(first.received).toHaveLength(asked);
  });

  test("models of other families are asked where the first fails, with what could not be told them left out", async () => {
    await start();
    const request = chat({ seed: 3, models: ["claude"] });
    const told = await explain(undefined, request);
    expect(told.models?.map(({ targets }) => targets.map(({ operation }) => operation))).toEqual([
      ["chat", "chat"],
      ["messages"],
    ]);
    const fail: ScriptedUpstream["script"] = (exchange) => exchange.json(500, { error: {} });
    first.script = fail;
    second.script = (exchange) => (exchange.path === "/v1/messages" ? answerAsAnthropic : fail)(exchange);
    const response = await post("/v1/chat/completions", request);
    const { headers } = response;
    expect([response.status, headers.get("x-gateway-model"), headers.get("x-gateway-dropped")]).toEqual([
      200,
      "claude",
      "seed",
    ]);
  });

  test("a conversation that stays with its target is told which it is", async () => {
    await start();
    const upstreams = new Set<string | undefined>();
    for (let i = 0; i < 12; i++) {
      const request = { model: "equals", messages: [{ role: "user", content: `Hello ${i}` }] };
      const told = await explain(undefined, request);
      const response = await post("/v1/chat/completions", request);
      const upstream = told.models?.[0]?.targets[0]?.upstream;
      expect(response.headers.get("x-gateway-upstream")).toBe(upstream);
      upstreams.add(upstream);
    }
    expect([...upstreams].sort()).toEqual(["first", "second"]);
  });

  const calls: readonly [path: string, request: object][] = [
    ["/v1/chat/completions", { model: "gpt", messages }],
    ["/v1/chat/completions", { model: "claude", messages, seed: 3, n: 1, logit_bias: { 5: 1 }, max_tokens: 9000 }],
    ["/v1/chat/completions", { model: "gpt", messages, stream: true, n: 3, models: ["claude"] }],
    ["/v1/messages", { model: "gpt", messages, max_tokens: 9, top_k: 4, stream: true }],
    [
      "/v1/messages",
      { model: "claude", messages, max_tokens: 2000, thinking: { type: "enabled", budget_tokens: 1500 } },
    ],
    ["/v1/responses", { model: "claude", input: "Hello", truncation: "auto", store: false }],
    ["/v1/completions", { model: "davinci", prompt: "Hello", best_of: 2 }],
    ["/v1/completions", { model: "claude", prompt: ["Hello", "you"], max_tokens: 5 }],
    ["/v1/embeddings", { model: "embed", input: ["Hello", "you"] }],
    ["/v1/audio/speech", { model: "voice", input: "Hello ✓", voice: "alloy" }],
  ];
  test.each(calls)("at %s with %j: the first target, what is dropped, and what is held", async (path, request) => {
    await start();
    const told = await explain(path, request);
    const [target] = told.models?.[0]?.targets ?? [];
    const held: number[] = [];
    for (const upstream of [first, second]) {
      const { script } = upstream;
      upstream.script = async (exchange) => {
        held.push(...(await amountsHeld(gateway, now)));
        if (path === "/v1/audio/speech") exchange.end("audio");
        else script?.(exchange);
      };
    }
    const response = await post(path, request);
    await response.text();
    expect(response.status).toBe(200);
    expect(response.headers.get("x-gateway-upstream")).toBe(target?.upstream);
    expect(response.headers.get("x-gateway-dropped")).toBe(target?.dropped?.join(", ") ?? null);
    expect(units(held[0] ?? 0)).toBe(told.models?.[0]?.hold?.wanted);
  });
});
