/**
 * Callers are told what their calls are charged for, also where the upstream tells no usage, or none that can be read: in every family,
 * whole and streamed, over every kind of upstream. What an upstream tells reaches them as it is.
 */
import Anthropic from "@anthropic-ai/sdk";
import { describe, expect, test } from "vitest";
import { nothingUsed, type Usage } from "../../../src/call/usage.ts";
import { writeUsage } from "../../../src/providers/usage/write-usage.ts";
import { type CallFamily, call, familyNames } from "../../support/clients/families.ts";
import { openAccount } from "../../support/payer.ts";
import { eventStream, type ScriptedExchange } from "../../support/scripted-upstream.ts";
import { paidModel, paidModels } from "../../support/upstreams/paid-models.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";
import {
  anthropicFrames,
  chatAnswer,
  chatChunk,
  completionPiece,
  done,
  helloChunks,
  helloEvents,
  messageAnswer,
  messageEnd,
  openaiFrames,
  outputMessage,
  respond,
  responseAnswer,
} from "../../support/vendors.ts";

type Json = Readonly<Record<string, unknown>>;

const { upstream, gateway, books } = scriptedStage((base_url) => {
  const config = paidModels(base_url);
  const responding = { name: "responding", kind: "openai", base_url, api_key: "k" } as const;
  return {
    ...config,
    upstreams: [...config.upstreams, { ...responding, profile: { responses: "always" } }],
    models: [...config.models, paidModel("response", "responding")],
  };
});

/** Says hello in the dialect that it is asked in, with this usage; undefined: with none. */
function hello(usage: unknown): (exchange: ScriptedExchange) => void {
  const told = { usage };
  return (exchange) => {
    const { stream = false } = exchange.asked;
    const asStream = (text: string) => {
      exchange.head(200, eventStream);
      exchange.end(text);
    };
    switch (exchange.path) {
      case "/v1/messages":
        return stream
          ? asStream(anthropicFrames(...helloEvents.map((event) => withUsage(event, usage))))
          : exchange.json(200, messageAnswer([{ type: "text", text: "Hello" }], "end_turn", told));
      case "/v1/responses":
        return respond(exchange, responseAnswer([outputMessage("Hello")], told));
      case "/v1/completions":
        return stream
          ? asStream(openaiFrames(completionPiece("Hello", "stop", told)) + done)
          : exchange.json(200, completionPiece("Hello", "stop", told));
    }
    if (!stream) return exchange.json(200, chatAnswer({ content: "Hello" }, "stop", told));
    const last = usage === undefined ? [] : [{ ...chatChunk({}), choices: [], usage }];
    return asStream(openaiFrames(...helloChunks, ...last) + done);
  };
}

function withUsage(event: Json, usage: unknown): Json {
  if (event.type === "message_start") return { ...event, message: { ...(event.message as Json), usage } };
  return event.type === "message_delta" ? { ...event, usage } : event;
}

/** lastUsage returns the last usage that an answer tells a caller of a family, as sums; undefined without any. */
function lastUsage(text: string, family: CallFamily): { readonly input: number; readonly output: number } | undefined {
  const frames = [...text.matchAll(/^data: (\{.*)$/gm)].map(([, data]) => data as string);
  const parts = (frames.length > 0 ? frames : [text]).map((part) => JSON.parse(part));
  const told = parts
    .map(({ usage, response }) => usage ?? response?.usage)
    .findLast((usage) => (usage ?? null) !== null);
  if (told === undefined) return undefined;
  if (isChunked(family)) return { input: told.prompt_tokens, output: told.completion_tokens };
  const cached = (told.cache_read_input_tokens ?? 0) + (told.cache_creation_input_tokens ?? 0);
  return { input: told.input_tokens + cached, output: told.output_tokens };
}

async function askPaid(model: string, family: CallFamily, stream: boolean, more: Json = {}) {
  const payer = await openAccount(gateway);
  const answer = await call(gateway, { family, model, stream, apiKey: payer.apiKey, more });
  expect(answer.status, answer.text).toBe(200);
  const [row] = (await books.of(payer)).requests;
  return { answer, row };
}

const asksFor = { stream_options: { include_usage: true } };

const untold: readonly [string, unknown][] = [
  ["none", undefined],
  ["null", null],
  ["no counts", {}],
  ["texts", { prompt_tokens: "9", completion_tokens: "x", input_tokens: "9", output_tokens: "x" }],
  ["an output of 0", { prompt_tokens: 9, completion_tokens: 0, input_tokens: 9, output_tokens: 0 }],
];

describe.each(["gpt", "claude", "response", "davinci"])("of %s, whose upstream tells", (model) => {
  const callers = model === "davinci" ? (["completions"] as const) : familyNames;
  for (const [name, usage] of untold) {
    test.each(callers)(`${name}, callers of %s learn what they are charged for`, async (family) => {
      upstream.script = hello(usage);
      for (const stream of [false, true]) {
        const { answer, row } = await askPaid(model, family, stream, stream && isChunked(family) ? asksFor : {});
        expect(row?.input, answer.text).toBeGreaterThan(0);
        expect(row?.output).toBeGreaterThan(0);
        expect(lastUsage(answer.text, family), answer.text).toEqual({ input: row?.input, output: row?.output });
      }
    });
  }
});

function isChunked(family: CallFamily): boolean {
  return family === "chat" || family === "completions";
}

/** Usage whose output is missing, with parts of other prices, and counts of the same by other names. */
const halfTold: readonly [string, string, Json][] = [
  [
    "gpt",
    "cache written",
    { prompt_tokens: 100, prompt_tokens_details: { cached_tokens: 20, cache_write_tokens: 30 } },
  ],
  [
    "response",
    "cache written",
    { input_tokens: 100, input_tokens_details: { cached_tokens: 20, cache_write_tokens: 30 } },
  ],
  ["claude", "cache written", { input_tokens: 50, cache_read_input_tokens: 20, cache_creation_input_tokens: 30 }],
  ["response", "zeros by chat's names", { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }],
  ["response", "an output by chat's name alone", { completion_tokens: 3 }],
  ["gpt", "a cache beside a prompt that is none", { prompt_tokens: -4, cached_tokens: 90, completion_tokens: 2 }],
];

describe.each(halfTold)("of %s, whose upstream tells %s", (model, _, usage) => {
  test.each(familyNames)("callers of %s learn each part that they are charged for", async (family) => {
    upstream.script = hello(usage);
    for (const stream of [false, true]) {
      const { answer, row } = await askPaid(model, family, stream, stream && isChunked(family) ? asksFor : {});
      const { input = 0, cache_read = 0, cache_write = 0, output } = row ?? {};
      const told = lastUsage(answer.text, family);
      expect(told, answer.text).toEqual({ input: input + cache_read + cache_write, output });
      expect(partsTold(answer.text), answer.text).toEqual([cache_read, cache_write]);
    }
  });
});

/** partsTold returns the last counts of what was read from a cache and written to it. */
function partsTold(text: string): readonly number[] {
  const last = (names: RegExp) => Number([...text.matchAll(names)].at(-1)?.[1] ?? 0);
  return [
    last(/"(?:cached_tokens|cache_read_input_tokens)":(\d+)/g),
    last(/"(?:cache_write_tokens|cache_creation_input_tokens)":(\d+)/g),
  ];
}

test.each([-2, 1.5])("an output of %d is told to nobody, also where there is no text", async (wrong) => {
  const usage = { prompt_tokens: 9, completion_tokens: wrong, input_tokens: 9, output_tokens: wrong };
  upstream.script = (exchange) => {
    const stream = exchange.asked.stream === true;
    if (!exchange.path.endsWith("/messages")) {
      if (!stream) return exchange.json(200, chatAnswer({ content: "" }, "stop", { usage }));
      return exchange.stream(chatChunk({ content: "" }), chatChunk({}, "stop", { usage }));
    }
    if (!stream) return exchange.json(200, messageAnswer([], "end_turn", { usage }));
    const [delta, stop] = messageEnd() as [Json, Json];
    const start = messageAnswer([], null, { usage: { input_tokens: 9, output_tokens: 1 } });
    exchange.head(200, eventStream);
    exchange.end(anthropicFrames({ type: "message_start", message: start }, { ...delta, usage }, stop));
  };
  for (const [model, family] of [["gpt", "chat"] as const, ["claude", "messages"] as const]) {
    for (const stream of [false, true]) {
      const { answer, row } = await askPaid(model, family, stream, stream && isChunked(family) ? asksFor : {});
      expect(row, answer.text).toMatchObject({ input: 9, implausible: 1 });
      expect(lastUsage(answer.text, family), answer.text).toEqual({ input: 9, output: row?.output });
    }
  }
});

test("callers of chat find what their upstream tells elsewhere, or by other names, where they look for it", async () => {
  const counts = { prompt_tokens: 9, completion_tokens: 2, total_tokens: 11 };
  const places: readonly Json[] = [
    { usage: { promptTokens: 9, completionTokens: 2 } },
    { usage: { prompt_tokens: 9, total_tokens: 11 } },
    { x_groq: { usage: counts } },
    { timings: { prompt_n: 9, predicted_n: 2 } },
  ];
  for (const place of places) {
    upstream.script = (exchange) => {
      if (JSON.parse(exchange.body.toString()).stream !== true)
        return exchange.json(200, chatAnswer({ content: "Hello" }, "stop", { usage: undefined, ...place }));
      exchange.stream(chatChunk({ content: "Hello" }), chatChunk({}, "stop", place));
    };
    for (const stream of [false, true]) {
      const { answer, row } = await askPaid("gpt", "chat", stream, stream ? asksFor : {});
      expect(row).toMatchObject({ input: 9, output: 2, estimated: 0 });
      expect(lastUsage(answer.text, "chat"), answer.text).toEqual({ input: 9, output: 2 });
    }
  }
});

test("a stream of chunks has no usage where its caller did not ask for it", async () => {
  upstream.script = hello(undefined);
  for (const family of ["chat", "completions"] as const) {
    for (const model of ["gpt", "claude", "response"]) {
      const { answer, row } = await askPaid(model, family, true);
      expect(row?.output).toBeGreaterThan(0);
      expect(answer.text).not.toContain("_tokens");
    }
  }
});

test("what an upstream tells stays as it is, with what is its own", async () => {
  const own = { prompt_tokens: 9, completion_tokens: 2, total_tokens: 11, cost: 0.5 };
  upstream.script = hello(own);
  const { answer } = await askPaid("gpt", "chat", false);
  expect(JSON.parse(answer.text).usage).toEqual(own);
  const streamed = await askPaid("gpt", "chat", true, asksFor);
  expect(streamed.answer.text.match(/"usage":\{/g)).toHaveLength(1);
  upstream.script = hello({ cost: 0.5 });
  const counted = await askPaid("gpt", "chat", false);
  expect(JSON.parse(counted.answer.text).usage).toMatchObject({ cost: 0.5, completion_tokens: counted.row?.output });
});

const messageUsage = (counts: Partial<Usage>) => writeUsage("messages", { ...nothingUsed, ...counts });

test.each<[string, Json, Json, Json]>([
  ["once", { input_tokens: 9 }, { output_tokens: 2 }, { input_tokens: 9, output_tokens: 2 }],
  [
    "with what came from the cache",
    { input_tokens: 9, cache_read_input_tokens: 20, cache_creation_input_tokens: 30 },
    { output_tokens: 2, server_tool_use: { web_search_requests: 0 } },
    {
      ...{ input_tokens: 9, cache_read_input_tokens: 20, cache_creation_input_tokens: 30, output_tokens: 2 },
      server_tool_use: { web_search_requests: 0 },
    },
  ],
  [
    "with what its end tells otherwise",
    { input_tokens: 29 },
    { input_tokens: 9, cache_read_input_tokens: 20, output_tokens: 2 },
    { input_tokens: 9, cache_read_input_tokens: 20, output_tokens: 2 },
  ],
  [
    "where it tells less of it",
    { input_tokens: 9, cache_read_input_tokens: 20 },
    { input_tokens: 0, output_tokens: 2 },
    messageUsage({ input: 9, cacheRead: 20, output: 2 }),
  ],
  [
    "where it tells less output than that",
    { input_tokens: 9 },
    { input_tokens: 9, output_tokens: 0 },
    messageUsage({ input: 9, output: 1 }),
  ],
])("the end of a message repeats the input that its beginning told, %s", async (_, atStart, atEnd, expected) => {
  const [end, stop] = messageEnd() as [Json, Json];
  const start = {
    type: "message_start",
    message: messageAnswer([], null, { usage: { ...atStart, output_tokens: 1 } }),
  };
  upstream.script = (exchange) => {
    exchange.head(200, eventStream);
    exchange.end(anthropicFrames(start, ...helloEvents.slice(1, -2), { ...end, usage: atEnd }, stop));
  };
  const { answer, row } = await askPaid("claude", "messages", true);
  const told = [...answer.text.matchAll(/^data: (\{.*)$/gm)].map(([, data]) => JSON.parse(data as string));
  expect(told.find(({ type }) => type === "message_start").message.usage).toEqual(start.message.usage);
  expect(told.find(({ type }) => type === "message_delta").usage).toEqual(expected);
  const { input = 0, cache_read = 0, cache_write = 0, output } = row ?? {};
  expect(lastUsage(answer.text, "messages")).toEqual({ input: input + cache_read + cache_write, output });
});

test("an answer that a filter ended before it began costs nothing, and says so", async () => {
  upstream.script = (exchange) =>
    exchange.json(200, chatAnswer({ content: "" }, "content_filter", { usage: undefined }));
  for (const family of ["chat", "messages", "responses"] as const) {
    const { answer, row } = await askPaid("gpt", family, false);
    expect(row?.cost).toBe(0);
    expect(lastUsage(answer.text, family), answer.text).toEqual({ input: 0, output: 0 });
  }
});

test("a count of tokens has no usage", async () => {
  upstream.script = (exchange) => exchange.json(200, { input_tokens: 7 });
  const { apiKey } = await openAccount(gateway);
  const client = new Anthropic({ baseURL: gateway.rootUrl, apiKey, maxRetries: 0 });
  const counted = await client.messages.countTokens({ model: "claude", messages: [{ role: "user", content: "hi" }] });
  expect(counted).toEqual({ input_tokens: 7 });
});

test("the SDK of the Messages API reads a stream whose upstream tells no usage", async () => {
  upstream.script = hello(undefined);
  const { apiKey } = await openAccount(gateway);
  const client = new Anthropic({ baseURL: gateway.rootUrl, apiKey, maxRetries: 0 });
  const stream = client.messages.stream({
    model: "claude",
    max_tokens: 100,
    messages: [{ role: "user", content: "hi" }],
  });
  const { usage } = await stream.finalMessage();
  expect(usage.input_tokens).toBeGreaterThan(0);
  expect(usage.output_tokens).toBeGreaterThan(0);
});
