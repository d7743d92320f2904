/**
 * Bodies of one API on the path of another, over an upstream of each family: what the client meant reaches the model, and the
 * answer is that of the path.
 */
import { describe, expect, test } from "vitest";
import type { UpstreamConfig } from "../../../src/config/config.ts";
import { ask } from "../../support/ask.ts";
import { modelAt } from "../../support/gateway.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";

const usage = { input_tokens: 1, output_tokens: 1 };
const text = "hello";
const answers: Readonly<Record<string, object>> = {
  "/chat/completions": {
    ...{ id: "c1", object: "chat.completion", created: 1, model: "m" },
    choices: [{ index: 0, message: { role: "assistant", content: text }, finish_reason: "stop" }],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  },
  "/messages": {
    ...{ id: "msg_1", type: "message", role: "assistant", model: "m", content: [{ type: "text", text }] },
    ...{ stop_reason: "end_turn", stop_sequence: null, usage },
  },
  "/messages/count_tokens": { input_tokens: 5 },
  "/responses": {
    ...{ id: "resp_1", object: "response", created_at: 1, status: "completed", model: "m", usage },
    output: [
      {
        ...{ type: "message", id: "msg_1", status: "completed", role: "assistant" },
        content: [{ type: "output_text", text, annotations: [] }],
      },
    ],
  },
};

const kinds = ["chat", "claude", "responses"] as const;

const profile: UpstreamConfig["profile"] = {
  ...{ operations: { responses: "/responses" }, responses: "always", responses_items: "any" },
  tools: ["function", "custom"],
};

const { upstream, gateway } = scriptedStage(
  (base_url) => ({
    upstreams: [
      { name: "chat", kind: "openai", base_url },
      { name: "claude", kind: "anthropic", base_url },
      { name: "responses", kind: "openai", base_url, profile },
    ],
    models: [
      modelAt("chat", "chat"),
      modelAt("claude", "claude", "claude-sonnet-4-6"),
      modelAt("responses", "responses"),
    ],
    embeddedModels: false,
  }),
  { script: (exchange) => exchange.json(200, answers[exchange.path.slice("/v1".length)]) },
);

async function send(path: string, body: object) {
  const before = upstream.received.length;
  const { status, dropped, text: answer } = await ask(gateway, `/v1${path}`, { ...body });
  const sent = upstream.received.length > before ? (upstream.received.at(-1)?.body.toString() ?? "") : "";
  return { status, dropped, answer, sent };
}

const hi = [{ role: "user", content: "hi" }];
const schema = { type: "object", properties: { zed: { type: "string" } } };
const nested = { type: "function", function: { name: "grep", description: "d", parameters: schema } };
const flat = { type: "function", name: "grep", description: "d", parameters: schema };
const ofMessages = { name: "grep", description: "d", input_schema: schema };
const mixed = { type: "function", ...ofMessages };
const png = "data:image/png;base64,iVBORw0KGgo=";
const image = [
  {
    role: "user",
    content: [
      { type: "text", text: "see" },
      { type: "image_url", image_url: { url: png } },
    ],
  },
];
const call = { id: "c1", type: "function", function: { name: "grep", arguments: '{"zed":"ARGUMENT"}' } };
const turns = [
  ...hi,
  { role: "assistant", content: null, tool_calls: [call] },
  { role: "tool", tool_call_id: "c1", content: "RESULT" },
];

/** Bodies, and what of them reaches the model. */
const onResponses: Readonly<Record<string, readonly [body: object, reaches: readonly string[]]>> = {
  "messages in place of input": [{ messages: [{ role: "system", content: "BRIEF" }, ...hi] }, ["BRIEF", "hi"]],
  "nested tools": [{ input: "hi", tools: [nested] }, ["grep", "zed"]],
  "tools of the Messages API": [{ input: "hi", tools: [ofMessages] }, ["grep", "zed"]],
  "flat tools with the Messages API's schema": [{ input: "hi", tools: [mixed] }, ["grep", "zed"]],
  "a nested choice": [
    { input: "hi", tools: [flat], tool_choice: { type: "function", function: { name: "grep" } } },
    ["grep"],
  ],
  "a choice of the Messages API": [
    { input: "hi", tools: [flat], tool_choice: { type: "tool", name: "grep" } },
    ["grep"],
  ],
  "parts of chat": [{ input: image }, ["see", "iVBORw0KGgo="]],
  "turns with calls": [{ input: turns, tools: [flat] }, ["ARGUMENT", "RESULT"]],
  "blocks with calls": [
    {
      input: [
        ...hi,
        { role: "assistant", content: [{ type: "tool_use", id: "c1", name: "grep", input: { zed: "ARGUMENT" } }] },
        { role: "user", content: [{ type: "tool_result", tool_use_id: "c1", content: "RESULT" }] },
      ],
      tools: [flat],
    },
    ["ARGUMENT", "RESULT"],
  ],
  "a bound by chat's name": [{ input: "hi", max_tokens: 77 }, [":77"]],
  "a format by chat's name": [
    { input: "hi", response_format: { type: "json_schema", json_schema: { name: "n", schema } } },
    ["zed"],
  ],
  "a system text": [{ input: "hi", system: "BRIEF" }, ["BRIEF"]],
};

const onMessages: typeof onResponses = {
  "nested tools": [{ messages: hi, tools: [nested] }, ["grep", "zed"]],
  "flat tools": [{ messages: hi, tools: [flat] }, ["grep", "zed"]],
  "flat tools with a schema": [{ messages: hi, tools: [mixed] }, ["grep", "zed"]],
  "a word for a choice": [{ messages: hi, tools: [ofMessages], tool_choice: "auto" }, ["grep"]],
  "a nested choice": [
    { messages: hi, tools: [nested], tool_choice: { type: "function", function: { name: "grep" } } },
    ["grep"],
  ],
  "parts of chat": [{ messages: image }, ["see", "iVBORw0KGgo="]],
  "turns with calls": [{ messages: turns, tools: [nested] }, ["ARGUMENT", "RESULT"]],
  "instructions before the first turn": [
    { messages: [{ role: "system", content: "BRIEF" }, { role: "developer", content: "TERSE" }, ...hi] },
    ["BRIEF", "TERSE", "hi"],
  ],
  "the other bound": [{ messages: hi, max_tokens: undefined, max_completion_tokens: 77 }, [":77"]],
  "a format by chat's name": [
    { messages: hi, response_format: { type: "json_schema", json_schema: { name: "n", schema } } },
    ["zed"],
  ],
};

describe.each(kinds)("to an upstream of %s", (model) => {
  test.each(Object.entries(onResponses))("/responses reads %s", async (_, [body, reaches]) => {
    const { status, answer, sent, dropped } = await send("/responses", { model, store: false, ...body });
    expect(status, answer).toBe(200);
    expect(JSON.parse(answer).object).toBe("response");
    for (const text of reaches) expect(sent).toContain(text);
    expect(dropped).toBeNull();
  });

  test.each(Object.entries(onMessages))("/messages reads %s", async (_, [body, reaches]) => {
    const { status, answer, sent, dropped } = await send("/messages", { model, max_tokens: 50, ...body });
    expect(status, answer).toBe(200);
    expect(JSON.parse(answer).type).toBe("message");
    for (const text of reaches) expect(sent).toContain(text);
    expect(dropped).toBeNull();
  });

  test("/chat/completions reads a prompt, and /completions the turns of a chat", async () => {
    const chat = await send("/chat/completions", { model, prompt: "SAY", max_tokens: 50 });
    expect([chat.status, JSON.parse(chat.answer).object]).toEqual([200, "chat.completion"]);
    expect(chat.sent).toContain("SAY");
    const one = await send("/completions", { model, messages: [{ role: "user", content: "SAY" }] });
    expect([one.status, JSON.parse(one.answer).object]).toEqual([200, "text_completion"]);
    expect(one.sent).toContain('"SAY"');
    const two = await send("/completions", { model, messages: [{ role: "system", content: "BRIEF" }, ...hi] });
    expect(two.sent).toContain(JSON.stringify("System: BRIEF\n\nUser: hi\n\nAssistant:"));
  });
});

test("where a server has the body's own family, it gets that family's shape", async () => {
  const { sent } = await send("/messages", {
    model: "claude",
    max_tokens: 50,
    messages: turns,
    tools: [nested],
    stop: ["END"],
  });
  expect(JSON.parse(sent)).toMatchObject({
    stop_sequences: ["END"],
    tools: [ofMessages],
    messages: [
      ...hi,
      { role: "assistant", content: [{ type: "tool_use", id: "c1", name: "grep", input: { zed: "ARGUMENT" } }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "c1", content: "RESULT" }] },
    ],
  });
  const responses = await send("/responses", {
    model: "responses",
    store: false,
    input: turns,
    tools: [nested],
    max_tokens: 77,
  });
  expect(JSON.parse(responses.sent)).toMatchObject({
    max_output_tokens: 77,
    tools: [flat],
    input: [
      ...hi,
      { type: "function_call", call_id: "c1", name: "grep", arguments: '{"zed":"ARGUMENT"}' },
      { type: "function_call_output", call_id: "c1", output: "RESULT" },
    ],
  });
});

test("a sampling setting that nobody made is left out", async () => {
  for (const model of kinds) {
    for (const path of ["/messages", "/messages/count_tokens"]) {
      const { status, answer, sent, dropped } = await send(path, {
        ...{ model, max_tokens: 50, messages: hi, temperature: 1, top_p: -1, top_k: -1 },
      });
      expect([status, dropped], answer).toEqual([200, null]);
      expect(sent ?? "").not.toMatch(/top_[pk]/);
    }
  }
  for (const wrong of [{ top_p: -0.5 }, { top_k: -2 }, { temperature: -1 }]) {
    const { status, answer } = await send("/messages", { model: "claude", max_tokens: 50, messages: hi, ...wrong });
    expect([status, JSON.parse(answer).error.type], answer).toEqual([400, "invalid_request_error"]);
  }
});

test("the result of a custom tool's call stays one on the path of responses", async () => {
  const custom = { id: "c1", type: "custom", custom: { name: "patch", input: "TEXT" } };
  const input = [...hi, { role: "assistant", content: null, tool_calls: [custom] }, ...turns.slice(2)];
  const { sent } = await send("/responses", { model: "responses", store: false, input });
  expect(JSON.parse(sent).input).toMatchObject([
    ...hi,
    { type: "custom_tool_call", call_id: "c1", name: "patch", input: "TEXT" },
    { type: "custom_tool_call_output", call_id: "c1", output: "RESULT" },
  ]);
});

test("counting tokens reads the same bodies", async () => {
  for (const model of kinds) {
    const messages = await send("/messages/count_tokens", { model, messages: image, tools: [nested] });
    expect(messages.status, messages.answer).toBe(200);
    const responses = await send("/responses/input_tokens", { model, messages: image, tools: [nested] });
    expect(responses.status, responses.answer).toBe(200);
  }
});

test("a long body is read alike", async () => {
  const long = [{ role: "user", content: [{ type: "text", text: "x".repeat(200_000) }] }, ...turns];
  const { status, answer, sent } = await send("/responses", { model: "responses", store: false, messages: long });
  expect(status, answer).toBe(200);
  expect(sent).toContain("x".repeat(200_000));
  expect(sent).toContain("RESULT");
});

test("a body with a member twice, or with a malformed block, is refused, and nothing is asked", async () => {
  const before = upstream.received.length;
  const bad = [
    '{"model":"chat","input":"hi","max_tokens":5,"max_tokens":5000}',
    '{"model":"chat","input":[{"role":"tool","content":"RESULT"}]}',
    '{"model":"chat","input":[{"role":"user","content":[{"type":"tool_result","content":"RESULT"}]}]}',
    '{"model":"chat","input":[{"role":"user","content":[{"type":"image","source":3}]}]}',
    '{"model":"chat","input":[{"content":[{"type":"tool_use","id":"c1","name":"f","input":{}}]}]}',
  ];
  for (const body of bad) {
    const response = await fetch(`${gateway.baseUrl}/responses`, {
      method: "POST",
      headers: { authorization: `Bearer ${gateway.apiKey}`, "content-type": "application/json" },
      body,
    });
    expect([response.status, await response.text()]).toEqual([400, expect.stringContaining("error")]);
  }
  expect(upstream.received.length).toBe(before);
});
