/**
 * What a request asks for beyond the ordinary is held and charged at its own price, by what the upstream tells; and refused where
 * it has none.
 */
import { describe, expect, test } from "vitest";
import type { PriceConfig, UpstreamConfig } from "../../src/config/config.ts";
import { type HeardAnswer, hear } from "../support/clients/hear.ts";
import { openAccount, openBooks } from "../support/payer.ts";
import { paidModel, paidModels } from "../support/upstreams/paid-models.ts";
import { scriptedStage } from "../support/upstreams/scripted-stage.ts";

type Json = Readonly<Record<string, unknown>>;

const million = 1_000_000;
const rates = (input: number, output: number) => ({ input: input * million, output: output * million });

/** A token of each costs whole millionths. */
const price: PriceConfig = {
  ...rates(1, 10),
  cache_read: 0,
  long: [{ above: 1000, ...rates(2, 15) }],
  priority: rates(3, 30),
  flex: rates(1, 5),
  fast: rates(6, 60),
  regional: 1_100_000,
  web_search: 1000,
  request: 7,
};

const { upstream, gateway } = scriptedStage((baseUrl) => {
  const config = paidModels(baseUrl);
  const [openai, anthropic] = config.upstreams as [UpstreamConfig, UpstreamConfig];
  const profile: UpstreamConfig["profile"] = { output_bound: "max_tokens", refuses: ["service_tier"] };
  const strict = { ...openai, name: "strict", profile };
  const regional = { ...openai, name: "regional", regional: true };
  return {
    ...config,
    upstreams: [openai, anthropic, strict, regional],
    models: [
      paidModel("gpt", "openai", { price, context_window: 100_000 }),
      paidModel("claude", "anthropic", { price, context_window: 100_000, max_output_tokens: 4096 }),
      paidModel("bare", "openai", { price: rates(1, 10) }),
      paidModel("bare-claude", "anthropic", { price: rates(1, 10), max_output_tokens: 4096 }),
      paidModel("unknowing", "strict", { price: rates(1, 10) }),
      paidModel("in-region", "regional", { price }),
      ...["sonar", "gpt-search", "online", "compound"].map((id) => {
        const names = {
          sonar: "perplexity/sonar-pro",
          "gpt-search": "gpt-4o-search-preview",
          compound: "groq/compound",
        };
        const model = names[id as keyof typeof names] ?? "some/model:online";
        const targets = [{ upstream: "openai", model, priority: 0, weight: 1 }];
        return paidModel(id, "openai", { price, context_window: 100_000, targets });
      }),
      paidModel("free", "openai", { price: { input: 0, output: 0 } }),
    ],
  };
});

const messages = [{ role: "user", content: "Hello" }];
const chat = { max_tokens: 50, messages };

/** Has the upstream answer a chat, whole or streamed, with this usage and more beside it. */
function answerChat(usage: Json, more: Json = {}): void {
  upstream.script = (exchange) => {
    const { stream } = exchange.asked;
    const head = { id: "c", created: 1, model: "m", ...more };
    const said = { role: "assistant", content: "Hi." };
    if (!stream) {
      const choices = [{ index: 0, message: said, finish_reason: "stop" }];
      exchange.json(200, { ...head, object: "chat.completion", choices, usage });
      return;
    }
    const chunk = { ...head, object: "chat.completion.chunk" };
    exchange.stream(
      { ...chunk, choices: [{ index: 0, delta: said, finish_reason: null }] },
      { ...chunk, choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
      { ...chunk, choices: [], usage },
    );
  };
}

function answerMessage(usage: Json): void {
  upstream.script = (exchange) => {
    const content = [{ type: "text", text: "Hi." }];
    const head = { id: "msg_1", type: "message", role: "assistant", model: "m", content };
    exchange.json(200, { ...head, stop_reason: "end_turn", stop_sequence: null, usage });
  };
}

interface Paid {
  readonly status: number;
  /** In millionths of the unit; undefined where nothing was charged. */
  readonly cost: number | undefined;
  readonly usage: string | undefined;
  readonly error: { readonly message: string; readonly param?: string | null } | undefined;
}

function paid({ status, headers, trailers, text }: HeardAnswer): Paid {
  const told = { ...headers, ...trailers } as Record<string, string | undefined>;
  const cost = told["x-gateway-cost"];
  const { error } = (text.startsWith("{") ? JSON.parse(text) : {}) as Pick<Paid, "error">;
  return {
    status,
    cost: cost === undefined ? undefined : Math.round(Number(cost) * million),
    usage: told["x-gateway-usage"],
    error,
  };
}

async function say(path: string, body: Json, apiKey = gateway.apiKey, headers = {}): Promise<Paid> {
  return paid(await hear(gateway, { path, apiKey, body, headers }).answer);
}
const sayChat = (body: Json) => say("/v1/chat/completions", { model: "gpt", ...chat, ...body });
const sayMessage = (body: Json) => say("/v1/messages", { model: "claude", ...chat, ...body });

const usage = { prompt_tokens: 20, completion_tokens: 3, total_tokens: 23 };
const spent = (input: number, output: number) => 20 * input + 3 * output + 7;

describe.each([false, true])("a chat, streamed: %s", (stream) => {
  test.each<[string, Json, Json, number]>([
    ["the ordinary way", {}, { service_tier: "default" }, spent(1, 10)],
    ["a tier that the upstream tells", { service_tier: "priority" }, { service_tier: "priority" }, spent(3, 30)],
    ["a tier that the upstream did not give", { service_tier: "priority" }, { service_tier: "default" }, spent(1, 10)],
    ["a tier of which it tells nothing", { service_tier: "priority" }, {}, spent(3, 30)],
    ["a cheaper tier that it tells", { service_tier: "flex" }, { service_tier: "flex" }, spent(1, 5)],
    ["a cheaper tier of which it tells nothing", { service_tier: "flex" }, {}, spent(1, 10)],
    ["any tier, which became a dear one", { service_tier: "auto" }, { service_tier: "priority" }, spent(3, 30)],
    ["a search", { web_search_options: {} }, {}, spent(1, 10) + 1000],
  ])("is charged for %s", async (_, asked, told, cost) => {
    answerChat(usage, told);
    expect(await sayChat({ ...asked, stream })).toMatchObject({ status: 200, cost });
  });

  test("is charged by the bound that its prompt is above", async () => {
    const prompt = (prompt_tokens: number) => answerChat({ prompt_tokens, completion_tokens: 3 });
    const long = [{ role: "user", content: "word ".repeat(1000) }];
    prompt(1000);
    expect((await sayChat({ messages: long, stream })).cost).toBe(1000 + 30 + 7);
    prompt(1001);
    expect((await sayChat({ messages: long, stream })).cost).toBe(2002 + 45 + 7);
  });
});

describe("messages", () => {
  const counts = { input_tokens: 20, output_tokens: 3 };

  test.each<[string, Json, Json, number]>([
    ["fast", { speed: "fast" }, { speed: "fast" }, spent(6, 60)],
    ["fast, but not served so", { speed: "fast" }, { speed: "standard" }, spent(1, 10)],
    ["fast, without a word of it", { speed: "fast" }, {}, spent(6, 60)],
    ["in a region", { inference_geo: "us" }, { inference_geo: "us" }, Math.ceil(spent(1, 10) * 1.1)],
    ["in a region unasked, by the workspace's default", {}, { inference_geo: "us" }, Math.ceil(spent(1, 10) * 1.1)],
    ["anywhere", { inference_geo: "global" }, { inference_geo: "global" }, spent(1, 10)],
    [
      "with a search that was not made",
      { tools: [{ type: "web_search_20250305", name: "web_search" }] },
      { server_tool_use: null },
      spent(1, 10),
    ],
    [
      "with searches",
      { tools: [{ type: "web_search_20250305", name: "web_search", max_uses: 5 }] },
      { server_tool_use: { web_search_requests: 3 } },
      spent(1, 10) + 3000,
    ],
  ])("are charged when served %s", async (_, asked, told, cost) => {
    answerMessage({ ...counts, ...told });
    expect(await sayMessage(asked)).toMatchObject({ status: 200, cost });
  });

  test("tell how many searches they were charged for", async () => {
    answerMessage({ ...counts, server_tool_use: { web_search_requests: 2 } });
    const tools = [{ type: "web_search_20250305", name: "web_search" }];
    expect((await sayMessage({ tools })).usage).toBe("input=20, output=3, searches=2");
  });
});

describe("an upstream in a region", () => {
  test("has its price multiplied, whatever is asked", async () => {
    answerChat(usage);
    expect((await sayChat({ model: "in-region" })).cost).toBe(Math.ceil(spent(1, 10) * 1.1));
  });
});

describe("what has no price", () => {
  test.each<[string, string, Json, string]>([
    ["a tier", "/v1/chat/completions", { model: "bare", service_tier: "priority" }, "service_tier"],
    ["a tier that nobody knows", "/v1/chat/completions", { model: "gpt", service_tier: "scale" }, "service_tier"],
    ["a search", "/v1/chat/completions", { model: "bare", web_search_options: {} }, "tools"],
    ["a speed", "/v1/messages", { model: "bare-claude", speed: "fast" }, "speed"],
    ["a region", "/v1/messages", { model: "bare-claude", inference_geo: "us" }, "inference_geo"],
    [
      "a tool that searches",
      "/v1/messages",
      { model: "bare-claude", tools: [{ type: "web_search_20250305", name: "web_search" }] },
      "tools",
    ],
  ])("%s is refused before anything is sent, also to who pays afterwards", async (_, path, body, param) => {
    const before = upstream.received.length;
    const refused = await say(path, { ...chat, ...body });
    expect(refused).toMatchObject({ status: 403, error: { message: expect.stringMatching(/has no price for/) } });
    if (path === "/v1/chat/completions") expect(refused.error?.param).toBe(param);
    expect(upstream.received.length).toBe(before);
  });

  test("is nothing that the upstream never gets, and nothing at a model that is free", async () => {
    answerChat(usage);
    expect(await sayChat({ model: "unknowing", service_tier: "priority" })).toMatchObject({ status: 200, cost: 50 });
    expect(await sayChat({ model: "free", service_tier: "priority" })).toMatchObject({ status: 200, cost: 0 });
  });

  test("that the upstream tells unasked is charged at the dearest tier known, and never beyond the hold", async () => {
    const { apiKey } = await openAccount(gateway);
    answerChat({ prompt_tokens: 20, completion_tokens: 50 }, { service_tier: "scale" });
    const told = await say("/v1/chat/completions", { model: "gpt", ...chat }, apiKey);
    const body = JSON.stringify({ model: "gpt", ...chat });
    const held = body.length + 64 + 50 * 10 + 7;
    expect(told).toMatchObject({ status: 200, cost: Math.min(held, 20 * 3 + 50 * 30 + 7) });
    expect(held).toBeLessThan(20 * 3 + 50 * 30 + 7);
    expect(gateway.logged()).toContain("more than was held");
  });
});

describe("the hold", () => {
  const explain = async (path: string, request: Json) => {
    const answer = await hear(gateway, { path: "/v1/explain", apiKey: gateway.apiKey, body: { path, request } }).answer;
    const { models } = JSON.parse(answer.text) as {
      models: [{ hold: { wanted: string; rates: Record<string, string> } }];
    };
    const { wanted, rates: by } = models[0].hold;
    return { wanted: Math.round(Number(wanted) * million), by };
  };
  const held = async (path: string, body: Json) => {
    const request = { ...chat, ...body };
    const { wanted, by } = await explain(path, request);
    return { ofOutputAndFees: wanted - (JSON.stringify(request).length + 64) * Number(by.input), by };
  };

  test.each<[string, Json, number, number]>([
    ["the ordinary way", { model: "gpt" }, 1, 50 * 10 + 7],
    ["a tier", { model: "gpt", service_tier: "priority" }, 3, 50 * 30 + 7],
    ["a cheaper tier, which may not be given", { model: "gpt", service_tier: "flex" }, 1, 50 * 10 + 7],
    ["any tier", { model: "gpt", service_tier: "auto" }, 3, 50 * 30 + 7],
    [
      "a prompt that may be long",
      { model: "gpt", messages: [{ role: "user", content: "x".repeat(1000) }] },
      2,
      50 * 15 + 7,
    ],
  ])("is for %s", async (_, body, input, rest) => {
    const { ofOutputAndFees, by } = await held("/v1/chat/completions", body);
    expect(Number(by.input)).toBe(input);
    expect(ofOutputAndFees).toBe(rest);
  });

  test("has room for as many searches as a request bounds, and in a region for all of it", async () => {
    const tools = [{ type: "web_search_20250305", name: "web_search", max_uses: 2 }];
    const { by } = await explain("/v1/messages", { model: "claude", ...chat, tools });
    // What a search finds is input, too, without a bound.
    expect(Number(by.input)).toBe(2);
    const region = await explain("/v1/messages", { model: "claude", ...chat, inference_geo: "us" });
    expect(Number(region.by.input)).toBe(1.1);
  });

  test("has room for the usual searches of tools that no bound is heeded of, and of those that come otherwise", async () => {
    const wanted = async (tools: Json[], more: Json = {}) => {
      const request = {
        model: "gpt",
        max_output_tokens: 50,
        input: [{ role: "user", content: "Hello" }],
        tools,
        ...more,
      };
      return (await explain("/v1/responses", request)).wanted;
    };
    const plain = await wanted([{ type: "code_interpreter", container: { type: "auto" } }]);
    const search = { type: "web_search" };
    expect(await wanted([search])).toBeGreaterThan(plain + 19_000);
    expect(await wanted([{ ...search, max_uses: 0 }])).toBeGreaterThan(plain + 19_000);
    expect(await wanted([{ type: "namespace", name: "n", tools: [search] }])).toBeGreaterThan(plain + 19_000);
    const brought = { input: [{ type: "additional_tools", role: "developer", tools: [search] }] };
    expect(await wanted([], brought)).toBeGreaterThan(plain + 19_000);
  });

  test("has room for what models search that always do, and for what a search by settings finds", async () => {
    const wanted = async (model: string, more: Json = {}) =>
      (await explain("/v1/chat/completions", { model, ...chat, ...more })).wanted;
    const plain = await wanted("gpt");
    for (const model of ["sonar", "gpt-search", "compound"])
      expect(await wanted(model)).toBeGreaterThanOrEqual(plain + 20_000);
    expect(await wanted("online")).toBeGreaterThan(plain + 1_000_000 + 20_000);
    const settings: Json[] = [
      { enable_search: true },
      { plugins: [{ id: "web" }] },
      { search_parameters: { mode: "auto" } },
    ];
    for (const more of settings) expect(await wanted("gpt", more)).toBeGreaterThan(plain + 1_000_000);
    expect(await wanted("gpt", { enable_search: true })).toBeGreaterThan(plain + 1_000_000 + 20_000);
    expect(await wanted("gpt", { enable_search: false })).toBeLessThan(plain + 1000);
  });

  test.each<[string, Json, Json, number]>([
    ["Perplexity's models", { model: "sonar" }, { num_search_queries: 18 }, 18],
    ["Perplexity's models, where nothing is told", { model: "sonar" }, {}, 1],
    ["OpenAI's models for search, which tell nothing", { model: "gpt-search", web_search_options: {} }, {}, 1],
    ["Alibaba's switch", { model: "gpt", enable_search: true }, { plugins: { search: { count: 12 } } }, 12],
    ["Alibaba's switch, where nothing was searched", { model: "gpt", enable_search: true }, {}, 0],
  ])("covers the searches of %s", async (_, body, told, searches) => {
    const { apiKey, ...payer } = await openAccount(gateway, { recharge: 100_000_000 });
    answerChat({ ...usage, ...told });
    const { status, cost } = await say("/v1/chat/completions", { ...chat, ...body }, apiKey);
    expect({ status, cost }).toEqual({ status: 200, cost: spent(1, 10) + searches * 1000 });
    const { requests } = await openBooks(gateway.database, gateway.storage).of({ apiKey, ...payer });
    expect(requests).toMatchObject([{ cost, waived: 0 }]);
  });

  const call = (name: string, index: number) => ({
    index,
    id: `c${index}`,
    type: "function",
    function: { name, arguments: "{}" },
  });
  const used = (index: number, type: string, more: Json = {}) => ({ index, type, arguments: "{}", ...more });

  test.each<[string, Json, Json[], number]>([
    [
      "Moonshot's tool",
      { model: "gpt", tools: [{ type: "builtin_function", function: { name: "$web_search" } }] },
      [
        { tool_calls: [call("$web_search", 0), call("$web_search", 1)] },
        { tool_calls: [{ index: 1, function: { arguments: "" } }] },
      ],
      2,
    ],
    [
      "other calls",
      { model: "gpt", tools: [{ type: "function", function: { name: "web_search" } }] },
      [{ tool_calls: [call("web_search", 0)] }],
      0,
    ],
    [
      "Groq's systems, told of with their results, too",
      { model: "compound" },
      [
        { executed_tools: [used(0, "search")] },
        { executed_tools: [used(0, "search", { output: "…" }), used(1, "visit")] },
        { executed_tools: [used(2, "browser_search"), used(3, "python")] },
      ],
      2,
    ],
    ["Groq's systems, where they did not search", { model: "compound" }, [{ content: "hi" }], 0],
  ])("covers the searches of %s, whole and streamed", async (_, body, deltas, searches) => {
    const { apiKey, ...payer } = await openAccount(gateway, { recharge: 100_000_000 });
    const listOf = (key: string) => deltas.flatMap((delta) => (delta[key] ?? []) as Json[]);
    const lists = ["tool_calls", "executed_tools"].map((key) => [key, listOf(key)] as const);
    const message = {
      role: "assistant",
      content: "ok",
      ...Object.fromEntries(lists.filter(([, list]) => list.length > 0)),
    };
    upstream.script = (exchange) => {
      const chunk = (delta: Json, finish_reason: string | null = null) => ({
        id: "c",
        model: "m",
        created: 1,
        object: "chat.completion.chunk",
        choices: [{ index: 0, delta, finish_reason }],
      });
      if (exchange.asked.stream === true)
        exchange.stream(...deltas.map((delta) => chunk(delta)), chunk({}, "stop"), {
          ...chunk({}),
          choices: [],
          usage,
        });
      else
        exchange.json(200, {
          id: "c",
          model: "m",
          created: 1,
          object: "chat.completion",
          usage,
          choices: [{ index: 0, message, finish_reason: "stop" }],
        });
    };
    for (const stream of [false, true])
      expect((await say("/v1/chat/completions", { ...chat, ...body, stream }, apiKey)).status).toBe(200);
    const { requests } = await openBooks(gateway.database, gateway.storage).of({ apiKey, ...payer });
    const cost = spent(1, 10) + searches * 1000;
    expect(requests.map((one) => one.cost)).toEqual([cost, cost]);
  });

  test("is what an account needs: too little of it is refused, and tells how much", async () => {
    const { apiKey } = await openAccount(gateway, { recharge: 1000 });
    answerChat(usage, { service_tier: "priority" });
    const body = { model: "gpt", ...chat };
    expect((await say("/v1/chat/completions", body, apiKey)).status).toBe(200);
    expect((await say("/v1/chat/completions", { ...body, service_tier: "priority" }, apiKey)).status).toBe(402);
  });
});

test("several prompts are requests of their own, each with its band and its fee", async () => {
  upstream.script = (exchange) => {
    const choices = [{ index: 0, message: { role: "assistant", content: "Hi." }, finish_reason: "stop" }];
    const counts = { prompt_tokens: 600, completion_tokens: 1, total_tokens: 601 };
    exchange.json(200, { id: "c", object: "chat.completion", created: 1, model: "m", choices, usage: counts });
  };
  const prompt = ["x".repeat(600), "y".repeat(600)];
  const told = await say("/v1/completions", { model: "gpt", prompt, max_tokens: 5 });
  expect(told).toMatchObject({ status: 200, cost: 2 * (600 + 10 + 7) });
});

test("the catalogue tells all columns of a price", async () => {
  const { apiKey } = await openAccount(gateway, { admin: true });
  const path = "/modelgateway.v1.AccountService/ListCatalog";
  const { text } = await hear(gateway, { path, apiKey, body: {} }).answer;
  const { models } = JSON.parse(text) as { models: { id: string; price: Json }[] };
  const rate = (input: number, output: number, cache = input) => ({
    ...{
      input: `${input}000000`,
      output: `${output}000000`,
      cacheWrite: `${input}000000`,
      cacheWriteHour: `${input}000000`,
    },
    ...(cache === 0 ? {} : { cacheRead: `${cache}000000` }),
  });
  expect(models.find(({ id }) => id === "gpt")?.price).toEqual({
    ...rate(1, 10, 0),
    ...{ regional: "1100000", webSearch: "1000", request: "7" },
    long: [{ above: 1000, rates: rate(2, 15) }],
    modes: [
      { mode: "priority", rates: rate(3, 30) },
      { mode: "fast", rates: rate(6, 60) },
      { mode: "flex", rates: rate(1, 5) },
    ],
  });
});
