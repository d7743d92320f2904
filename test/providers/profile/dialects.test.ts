/** Each family, unary and streamed, over a strict double of each server with a profile in the catalogue. */
import { describe, expect, test } from "vitest";
import { startTestGateway } from "../../support/gateway.ts";
import { startScriptedUpstream } from "../../support/scripted-upstream.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";
import { servedBy } from "../../support/upstreams/strict-gateway.ts";
import type { ResponseRequest } from "../../support/upstreams/strict-responders.ts";
import { type ChatRequest, refusedBy, refusesResponse, strictServers } from "../../support/upstreams/strict-servers.ts";
import { vendors } from "../../support/upstreams/vendor-profiles.ts";
import { answerAsOpenAi } from "../../support/vendors.ts";

const tool = { type: "object", properties: { city: { type: "string" } } };
const text = "How warm is it?";

/**
 * Settings that agents and SDKs send, in each family's words; `translated` are those that go through a translation.
 */
const requests = {
  "/chat/completions": {
    max_tokens: 100,
    temperature: 0.2,
    messages: [
      { role: "developer", content: "Be brief.", cache_control: { type: "ephemeral" } },
      { role: "user", content: [{ type: "text", text, cache_control: { type: "ephemeral" } }] },
    ],
    tools: [
      { type: "function", function: { name: "weather", parameters: tool }, cache_control: { type: "ephemeral" } },
    ],
  },
  "/messages": {
    max_tokens: 1,
    temperature: 0.2,
    stop_sequences: ["END"],
    system: [{ type: "text", text: "Be brief.", cache_control: { type: "ephemeral" } }],
    thinking: { type: "adaptive" },
    output_config: { effort: "xhigh", format: { type: "json_schema", schema: tool } },
    messages: [
      { role: "user", content: text },
      { role: "system", content: "Be kind." },
    ],
    tools: [{ name: "weather", input_schema: tool }],
  },
  "/responses": {
    store: false,
    max_output_tokens: 20_000,
    instructions: "Be brief.",
    reasoning: { effort: "minimal" },
    parallel_tool_calls: false,
    prompt_cache_key: "k",
    text: { verbosity: "low" },
    input: [
      { role: "user", content: text },
      {
        role: "developer",
        content: [{ type: "input_text", text: "Be kind.", prompt_cache_breakpoint: { mode: "explicit" } }],
      },
    ],
    tools: [{ type: "function", name: "weather", parameters: tool, strict: false }],
  },
  "/completions": { prompt: text, max_tokens: 16, temperature: 0.5, stop: ["END"], logprobs: 2 },
};

/** A schema with what is in those of real tools. */
const schema = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  properties: {
    city: { type: "string", minLength: 1 },
    unit: { anyOf: [{ type: "string", enum: ["C", "F"] }, { type: "null" }] },
    filter: {
      type: "object",
      anyOf: [{ properties: { a: { type: "string" } } }, { properties: { b: { const: "x" } } }],
    },
    place: { description: "Where", $ref: "#/$defs/place" },
    pair: { type: "array", items: [{ type: "string" }, { type: "number" }] },
    days: { type: "integer", exclusiveMinimum: 0 },
    either: { oneOf: [{ type: "string" }, { type: "number" }] },
  },
  required: ["city"],
  additionalProperties: false,
  $defs: { place: { type: "object", properties: { x: { type: "number" } } } },
};

/** Arguments of two kinds, with a pattern as Claude Code writes one. */
const either = {
  anyOf: [
    { type: "object", properties: { path: { type: "string", pattern: "^[^\\p{Cc}]+$" } }, required: ["path"] },
    { type: "object", properties: { all: { type: "boolean" } } },
  ],
};

/** As other servers make them, in a conversation that has changed its model. */
const callId = `call_0123456789-${"0".repeat(60)}`;

/** A turn that goes on after a tool's result, with what the user adds, as agents send it. */
const conversations = {
  "/chat/completions": {
    max_tokens: 100,
    messages: [
      { role: "user", content: text },
      {
        ...{ role: "assistant", content: "I look.", refusal: null, annotations: [], audio: null, id: "msg_1" },
        reasoning_details: [{ type: "reasoning.text", text: "Look.", format: "unknown" }],
        tool_calls: [{ index: 0, id: callId, type: "function", function: { name: "weather", arguments: "{}" } }],
      },
      { role: "tool", tool_call_id: callId, content: "12" },
      { role: "user", content: "And now?" },
    ],
    tools: [
      { type: "function", function: { name: "weather", parameters: schema } },
      { type: "function", function: { name: "list", parameters: either } },
    ],
  },
  "/messages": {
    max_tokens: 100,
    messages: [
      { role: "user", content: text },
      {
        role: "assistant",
        content: [
          { type: "text", text: "I look." },
          { type: "tool_use", id: callId, name: "weather", input: {} },
        ],
      },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: callId, content: "12" },
          { type: "text", text: "And now?" },
        ],
      },
    ],
    tools: [
      { name: "weather", input_schema: schema, strict: true },
      { name: "list", input_schema: either },
    ],
  },
  "/responses": {
    store: false,
    input: [
      { role: "user", content: text },
      { type: "function_call", call_id: callId, name: "weather", arguments: "{}" },
      // As a hook of Codex adds it.
      { role: "developer", content: "Mind the tests." },
      { type: "function_call_output", call_id: callId, output: "12" },
      { role: "user", content: "And now?" },
    ],
    tools: [
      { type: "function", name: "weather", parameters: schema, strict: false },
      { type: "function", name: "list", parameters: either, strict: false },
    ],
  },
};

const lastTurn = [
  { role: "user", content: text },
  { role: "assistant", content: "It is" },
];
/** A conversation that ends with the model's turn. */
const unfinished = {
  "/chat/completions": { max_tokens: 100, messages: lastTurn },
  "/messages": { max_tokens: 100, messages: lastTurn },
  "/responses": { store: false, input: lastTurn },
};

/** A demand for a call, as frameworks send it for answers in a form, with an effort and a history. */
const demands = {
  "/chat/completions": {
    ...conversations["/chat/completions"],
    reasoning_effort: "high",
    tool_choice: { type: "function", function: { name: "weather" } },
  },
  "/messages": { ...conversations["/messages"], tool_choice: { type: "any" } },
  "/responses": { ...conversations["/responses"], reasoning: { effort: "high" }, tool_choice: "required" },
};

describe.each(strictServers)("$model at $vendor", (server) => {
  let asked: ChatRequest[] = [];
  const { gateway } = scriptedStage(servedBy(server), {
    script: (exchange) => {
      const request = exchange.asked as ChatRequest & ResponseRequest;
      asked.push(request);
      const isResponse = exchange.path === "/v1/responses";
      const refused = isResponse ? refusesResponse(server, request) : refusedBy(server, request);
      if (refused) exchange.json(400, refused);
      else answerAsOpenAi(exchange);
    },
  });

  const ways = Object.entries({
    settings: requests,
    conversation: conversations,
    "a last turn of the model's": unfinished,
    "a demand for a call": demands,
  }).flatMap(([what, all]) =>
    Object.entries(all).flatMap(([path, body]) => [false, true].map((stream) => ({ what, path, body, stream }))),
  );

  test.each(ways)("takes $what by $path, stream: $stream", async ({ path, body, stream }) => {
    asked = [];
    // A chat caller of an unknown server uses the server's own words.
    const isOwn = path === "/chat/completions" && server.vendor === "nobody's";
    const own = { messages: [{ role: "user", content: text }], reasoning_effort: undefined };
    const sent = isOwn ? { ...body, ...own } : body;
    const answer = await fetch(`${gateway.baseUrl}${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${gateway.apiKey}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "m", stream, ...sent }),
    });
    const said = await answer.text();
    expect([answer.status, said.slice(0, 300)]).toEqual([200, expect.stringContaining("")]);
    expect(asked).toHaveLength(1);
    expect(JSON.stringify(asked)).toContain(text);
    const isLeft = "tool_choice" in body && server.takesNoDemand !== true;
    expect(asked[0]?.tool_choice !== undefined).toBe(isLeft);
  });
});

test("an unknown server gets no key of OpenAI's own service, and its caller is told", async () => {
  const upstream = await startScriptedUpstream(answerAsOpenAi);
  const targets = [{ upstream: "far", model: "m", priority: 0, weight: 1 }];
  const gateway = await startTestGateway({
    upstreams: [{ name: "far", kind: "openai", base_url: upstream.baseUrl }],
    models: [{ id: "m", aliases: [], family: "f", kind: "chat", targets }],
    embeddedModels: false,
  });
  const ask = async (path: string, body: object) => {
    const headers = { authorization: `Bearer ${gateway.apiKey}`, "content-type": "application/json" };
    const sent = JSON.stringify({ model: "m", ...body });
    const answer = await fetch(`${gateway.baseUrl}${path}`, { method: "POST", headers, body: sent });
    await answer.arrayBuffer();
    const keys = Object.keys(upstream.lastAsked);
    return { status: answer.status, dropped: answer.headers.get("x-gateway-dropped"), keys };
  };
  const hints = { prompt_cache_key: "k", safety_identifier: "s", service_tier: "priority", text: { verbosity: "low" } };
  const response = await ask("/responses", { input: text, store: false, ...hints });
  expect(response).toMatchObject({ status: 200, keys: ["model", "messages"] });
  for (const name of ["prompt_cache_key", "safety_identifier", "service_tier", "text.verbosity"]) {
    expect(response.dropped).toContain(name);
  }
  const tools = [{ type: "web_search_20250305", name: "web_search" }];
  const message = await ask("/messages", { max_tokens: 9, messages: [{ role: "user", content: text }], tools });
  expect(message).toMatchObject({ status: 200, dropped: "tools[0]" });
  expect(message.keys).not.toContain("web_search_options");
  await gateway.close();
  await upstream.close();
});

test("every profile of the catalogue has a double", () => {
  const doubled = new Set(strictServers.map(({ vendor }) => vendor));
  const known = vendors.filter(({ kind }) => kind === "openai").map(({ name }) => name);
  expect(known.filter((name) => !doubled.has(name))).toEqual([]);
});
