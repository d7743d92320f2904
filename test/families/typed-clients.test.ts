/**
 * Clients in typed languages read answers that JavaScript and Python take as they are: they fail where a member that OpenAI's API always has
 * is missing, or of another type, and report that in place of what was said.
 */
import type { JsonObject } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { ask, eventsIn } from "../support/ask.ts";
import { checkEmbeddings } from "../support/clients/strict.ts";
import { modelAt } from "../support/gateway.ts";
import { eventStream } from "../support/scripted-upstream.ts";
import { scriptedStage } from "../support/upstreams/scripted-stage.ts";
import {
  answerAsOpenAi,
  anthropicFrames,
  helloEvents,
  messageAnswer,
  outputMessage,
  respond,
  responseAnswer,
} from "../support/vendors.ts";

const { upstream, gateway } = scriptedStage((base_url) => ({
  upstreams: [
    { name: "far", kind: "openai", base_url, api_key: "k" },
    { name: "claude", kind: "anthropic", base_url, api_key: "k" },
    { name: "own", kind: "openai", base_url, api_key: "k", profile: { operations: { responses: "/responses" } } },
  ],
  models: [
    modelAt("far", "chat", "m"),
    modelAt("claude", "messages", "m"),
    modelAt("far", "vectors", "v", { kind: "embedding" }),
    modelAt("own", "responses", "m"),
  ],
  embeddedModels: false,
}));

const message = "temperature must be below 9001";
const messages = [{ role: "user", content: "hi" }];

const requests: Readonly<Record<string, JsonObject>> = {
  "/v1/chat/completions": { model: "chat", messages },
  "/v1/completions": { model: "chat", prompt: "hi" },
  "/v1/responses": { model: "chat", input: "hi" },
  "/v1/embeddings": { model: "vectors", input: "hi" },
};

describe("an error of an upstream has its type, and a code that is a text", () => {
  const errors: Readonly<Record<string, { readonly told: JsonObject; readonly typed: JsonObject }>> = {
    "of a message alone": {
      told: { message },
      typed: { message, type: "invalid_request_error", param: null, code: null },
    },
    "with a number for a code, as OpenRouter's": {
      told: { code: 400, message, metadata: { provider_name: "x" } },
      typed: { message, type: "invalid_request_error", param: null, code: "400", metadata: { provider_name: "x" } },
    },
    "with a path for a field, and a type that is null": {
      told: { message, type: null, param: ["body", 1], code: "bad" },
      typed: { message, type: "invalid_request_error", param: null, code: "bad" },
    },
    "as OpenAI's": {
      told: { message, type: "novel_error", param: "temperature", code: null },
      typed: { message, type: "novel_error", param: "temperature", code: null },
    },
  };

  for (const [name, { told, typed }] of Object.entries(errors)) {
    test.each(Object.entries(requests))(`${name}: %s`, async (path, request) => {
      upstream.script = (exchange) => exchange.json(400, { error: told });
      const { status, json } = await ask(gateway, path, request);
      expect([status, json]).toEqual([400, { error: typed }]);
    });
  }

  test("where the status is the server's fault", async () => {
    upstream.script = (exchange) => exchange.json(503, { error: { message, code: 503 } });
    const { json } = await ask(gateway, "/v1/chat/completions", { model: "chat", messages });
    expect(json).toEqual({ error: { message, type: "server_error", param: null, code: "503" } });
  });

  test("of a conversation that is too long", async () => {
    const long = "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.";
    upstream.script = (exchange) => exchange.json(400, { error: { message: long, code: 400 } });
    const { json } = await ask(gateway, "/v1/chat/completions", { model: "chat", messages });
    expect(json.error).toEqual({
      message: long,
      type: "invalid_request_error",
      param: null,
      code: "context_length_exceeded",
    });
  });

  test("within a stream", async () => {
    const chunk = { id: "c", object: "chat.completion.chunk", created: 1, model: "m" };
    const said = {
      ...chunk,
      choices: [{ index: 0, delta: { role: "assistant", content: "Hi" }, finish_reason: null }],
    };
    upstream.script = (exchange) => {
      exchange.head(200, eventStream);
      const frames = [said, { error: { message, code: 502 } }].map((frame) => `data: ${JSON.stringify(frame)}\n\n`);
      exchange.end(frames.join(""));
    };
    const { text } = await ask(gateway, "/v1/chat/completions", { model: "chat", messages, stream: true });
    const error = eventsIn(text).at(-1)?.error;
    expect(error).toEqual({ message, type: "server_error", param: null, code: "502" });
  });
});

describe("vectors say what they are, and of which model", () => {
  const usage = { prompt_tokens: 2, total_tokens: 2 };
  const answers: Readonly<Record<string, unknown>> = {
    "entries without their object": { object: "list", model: "v", data: [{ index: 0, embedding: [0.5] }], usage },
    "no object and no model": { data: [{ index: 0, embedding: [0.5] }], usage },
    "a bare list": [{ index: 0, embedding: [[0.5]] }],
    "vectors alone": { embeddings: [[0.5]] },
  };

  for (const [name, answer] of Object.entries(answers)) {
    test.each(["float", "base64"] as const)(`${name}, as %s`, async (encoding_format) => {
      upstream.script = (exchange) => exchange.json(200, answer);
      const { json } = await ask(gateway, "/v1/embeddings", { model: "vectors", input: "hi", encoding_format });
      checkEmbeddings(json, encoding_format);
    });
  }
});

describe("items are listed whole, whatever the caller left out of them", () => {
  const input = [
    { role: "user", content: "hi" },
    { role: "assistant", content: "Hello" },
    { type: "function_call", call_id: "c1", name: "f", arguments: "{}" },
    { type: "function_call_output", call_id: "c1", output: "done" },
    { role: "user", content: [{ type: "input_text", text: "and?" }] },
  ];
  const told = (text: string) => [{ type: "input_text", text }];
  const id = expect.stringMatching(/^\w+$/);

  test("as the input of a response", async () => {
    upstream.script = answerAsOpenAi;
    const { json: made } = await ask(gateway, "/v1/responses", { model: "chat", input });
    const { json } = await ask(gateway, `/v1/responses/${made.id}/input_items?order=asc`);
    const answered = [{ type: "output_text", text: "Hello", annotations: [] }];
    expect(json.data).toEqual([
      { id, type: "message", status: "completed", role: "user", content: told("hi") },
      { id, type: "message", status: "completed", role: "assistant", content: answered },
      { id, status: "completed", ...input[2] },
      { id, status: "completed", ...input[3] },
      { id, type: "message", status: "completed", role: "user", content: told("and?") },
    ]);
  });

  test("as a conversation that was compacted", async () => {
    upstream.script = answerAsOpenAi;
    const { json } = await ask(gateway, "/v1/responses/compact", { model: "chat", input });
    expect(json.output).toEqual([
      { id, type: "message", status: "completed", role: "user", content: told("hi") },
      { id, type: "message", status: "completed", role: "user", content: told("and?") },
      { id, type: "compaction", encrypted_content: expect.any(String) },
    ]);
    expect(new Set(json.output.map((item: JsonObject) => item.id)).size).toBe(3);
    await ask(gateway, "/v1/responses", { model: "chat", input: [...json.output, { role: "user", content: "go on" }] });
    expect(upstream.lastAsked.messages).toContainEqual({ role: "user", content: "hi" });
  });
});

test("a tool that takes text says so in the response that has it", async () => {
  upstream.script = answerAsOpenAi;
  const grammar = { type: "custom", name: "sum", format: { type: "grammar", syntax: "regex", definition: "[0-9]+" } };
  const tools = [{ type: "custom", name: "run", description: "Runs a program." }, grammar];
  const { json } = await ask(gateway, "/v1/responses", { model: "chat", input: "hi", tools });
  expect(json.tools).toEqual([{ ...tools[0], format: { type: "text" } }, grammar]);
});

test("a function in the response that has it says whether it is strict, and what it takes", async () => {
  upstream.script = answerAsOpenAi;
  const whole = { type: "function", name: "sum", parameters: { type: "object", properties: {} }, strict: true };
  const { json } = await ask(gateway, "/v1/responses", {
    model: "chat",
    input: "hi",
    tools: [{ type: "function", name: "run" }, whole],
  });
  expect(json.tools).toEqual([{ type: "function", name: "run", parameters: null, strict: null }, whole]);
});

test.each([false, true])("a message whose upstream tells no usage has all counts, streamed: %s", async (stream) => {
  upstream.script = (exchange) => {
    if (!stream)
      return exchange.json(200, messageAnswer([{ type: "text", text: "Hello" }], "end_turn", { usage: null }));
    exchange.head(200, eventStream);
    exchange.end(anthropicFrames(...helloEvents.map(({ usage: _, ...event }) => event)));
  };
  const request = { model: "messages", max_tokens: 100, messages };
  const { text, json } = await ask(gateway, "/v1/messages", { ...request, stream });
  const { usage } = stream ? eventsIn(text).find(({ type }) => type === "message_delta") : json;
  expect(usage).toMatchObject({
    cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
    output_tokens_details: null,
  });
});

test.each([false, true])("a relayed response counts the tokens written to a cache, streamed: %s", async (stream) => {
  const usage = { input_tokens: 9, input_tokens_details: { cached_tokens: 4 }, output_tokens: 5, total_tokens: 14 };
  upstream.script = (exchange) => respond(exchange, responseAnswer([outputMessage("Hello")], { usage }));
  const { text, json } = await ask(gateway, "/v1/responses", { model: "responses", input: "hi", stream });
  const response = stream ? eventsIn(text).at(-1).response : json;
  expect(response.usage.input_tokens_details).toEqual({ cached_tokens: 4, cache_write_tokens: 0 });
});
