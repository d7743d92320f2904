/**
 * Servers of chat leave roles and indices out, and have an answer's parts in other places. OpenAI's SDK reads each of them as it reads
 * OpenAI's.
 */
import OpenAI from "openai";
import { describe, expect, test } from "vitest";
import { ask, eventsIn } from "../../support/ask.ts";
import { paidModel } from "../../support/upstreams/paid-models.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";
import { chatAnswer, chatChunk, usageChunk } from "../../support/vendors.ts";

type Json = Record<string, unknown>;

const { upstream, gateway } = scriptedStage((base_url) => ({
  embeddedModels: false,
  upstreams: [{ name: "far", kind: "openai", base_url, api_key: "k" }],
  models: [paidModel("m", "far")],
}));

const asked = { model: "m", messages: [{ role: "user" as const, content: "hi" }] };
const client = () => new OpenAI({ baseURL: gateway.baseUrl, apiKey: gateway.apiKey, maxRetries: 0 });

/** choice returns a chunk of one choice, which has no index. */
const choice = (more: Json) => ({ ...chatChunk({}), choices: [more] });

describe.each<[string, unknown[]]>([
  ["without a role", [chatChunk({ content: "Hel" }), chatChunk({ content: "lo" }), chatChunk({}, "stop")]],
  [
    "whose role is empty",
    [chatChunk({ role: "", content: "Hel" }), chatChunk({ role: "", content: "lo" }), chatChunk({}, "stop")],
  ],
  [
    "without an index",
    [choice({ delta: { content: "Hel" } }), choice({ delta: { content: "lo" }, finish_reason: "stop" })],
  ],
  [
    "whose index is a text",
    [
      choice({ index: "0", delta: { content: "Hel" } }),
      choice({ index: "0", delta: { content: "lo" }, finish_reason: "stop" }),
    ],
  ],
  [
    "whose only choice is the second",
    [
      choice({ index: 1, delta: { role: "assistant", content: "Hel" } }),
      choice({ index: 1, delta: { content: "lo" } }),
      choice({ index: 1, delta: {}, finish_reason: "stop" }),
    ],
  ],
  [
    "whose only choice is the second and has no end",
    [choice({ index: 1, delta: { content: "Hel" } }), choice({ index: 1, delta: { content: "lo" } })],
  ],
  [
    "that has messages for deltas",
    [choice({ message: { content: "Hel" } }), choice({ message: { content: "lo" }, finish_reason: "stop" })],
  ],
  ["that has texts for deltas", [choice({ text: "Hel" }), choice({ text: "lo", finish_reason: "stop" })]],
  ["whose last choice says its end alone", [chatChunk({ content: "Hello" }), choice({ finish_reason: "stop" })]],
  ["whose usage has no choices", [chatChunk({ content: "Hello" }, "stop"), { usage: usageChunk().usage }]],
])("a stream %s", (_, chunks) => {
  test("is whole to the SDK", async () => {
    upstream.script = (exchange) => exchange.stream(...chunks);
    const options = { ...asked, stream_options: { include_usage: true } };
    const completion = await client().chat.completions.stream(options).finalChatCompletion();
    expect(completion.choices).toMatchObject([
      { index: 0, message: { role: "assistant", content: "Hello" }, finish_reason: "stop" },
    ]);
  });

  test("has one role for each choice", async () => {
    upstream.script = (exchange) => exchange.stream(...chunks);
    const { text } = await ask(gateway, "/v1/chat/completions", { ...asked, stream: true });
    expect(text.match(/"role":"assistant"/g)).toHaveLength(1);
  });
});

test("each choice of a stream has a reason, if null, and one of a whole answer has one", async () => {
  upstream.script = (exchange) => {
    if (!exchange.asked.stream) exchange.json(200, { ...chatAnswer({}), choices: [{ message: { content: "Hello" } }] });
    else exchange.stream(choice({ index: 0, delta: { role: "assistant", content: "Hello" } }), chatChunk({}, "stop"));
  };
  const { text } = await ask(gateway, "/v1/chat/completions", { ...asked, stream: true });
  expect(eventsIn(text).map(({ choices }) => choices[0].finish_reason)).toEqual([null, "stop"]);
  const { json } = await ask(gateway, "/v1/chat/completions", asked);
  expect(json.choices).toMatchObject([{ index: 0, finish_reason: "stop" }]);
});

test("a reason that says that the answer goes on is none in a stream", async () => {
  upstream.script = (exchange) =>
    exchange.stream(
      chatChunk({ role: "assistant", content: "Hel" }, ""),
      chatChunk({ content: "lo" }, ""),
      chatChunk({}, "stop"),
    );
  const { text } = await ask(gateway, "/v1/chat/completions", { ...asked, stream: true });
  expect(eventsIn(text).map(({ choices }) => choices[0].finish_reason)).toEqual([null, null, "stop"]);
});

test.each(["chat/completions", "messages", "responses"])(
  "a character cut into halves is one to callers of %s",
  async (path) => {
    upstream.script = (exchange) =>
      exchange.stream(
        chatChunk({ role: "assistant", content: "Hi \ud83d" }),
        chatChunk({ content: "\ude00 there" }),
        chatChunk({}, "stop"),
      );
    const body = path === "responses" ? { input: "hi", store: false } : { max_tokens: 9, messages: asked.messages };
    const { text } = await ask(gateway, `/v1/${path}`, { model: "m", stream: true, ...body });
    expect(text).toContain("\u{1f600} there");
  },
);

test("a second choice that nobody asked for is not joined to the first", async () => {
  const both = (content: string, reason: string | null) =>
    [1, 0].map((index) => choice({ index, delta: { content: `${content}${index}` }, finish_reason: reason }));
  upstream.script = (exchange) => exchange.stream(...both("a", null), ...both("b", "stop"));
  const { choices } = await client().chat.completions.stream(asked).finalChatCompletion();
  expect(choices.map(({ message }) => message.content)).toEqual(["a1b1", "a0b0"]);
});

test("a stream of two choices has a role for each", async () => {
  const both = (content: string, finish_reason: string | null = null) =>
    [0, 1].map((index) => ({ ...chatChunk({}), choices: [{ index, delta: { content }, finish_reason }] }));
  upstream.script = (exchange) => exchange.stream(...both("a"), ...both("b"), ...both("c", "stop"));
  const completion = await client()
    .chat.completions.stream({ ...asked, n: 2 })
    .finalChatCompletion();
  expect(completion.choices.map(({ message }) => message.content)).toEqual(["abc", "abc"]);
});

test.each<[string, Json]>([
  ["a role", { index: 0, message: { content: "Hello" }, finish_reason: "stop" }],
  ["an index", { message: { role: "assistant", content: "Hello" }, finish_reason: "stop" }],
  ["a message, but a text", { index: 0, text: "Hello", finish_reason: "stop" }],
  ["a reason", { index: 0, message: { role: "assistant", content: "Hello" }, finish_reason: null }],
  ["more than an empty reason", { index: 0, message: { role: "assistant", content: "Hello" }, finish_reason: "" }],
  [
    "a text, but a part",
    { index: 0, message: { role: "assistant", content: { type: "text", text: "Hello" } }, finish_reason: "stop" },
  ],
])("an answer without %s has one", async (_, only) => {
  upstream.script = (exchange) => exchange.json(200, { ...chatAnswer({}), choices: [only] });
  const { choices } = await client().chat.completions.create(asked);
  expect(choices).toMatchObject([
    { index: 0, message: { role: "assistant", content: "Hello" }, finish_reason: "stop" },
  ]);
});

describe("a stream that ends by the whole answer in a message, as MiniMax's,", () => {
  const tool = { type: "function", function: { name: "f", parameters: { type: "object", properties: {} } } };
  const call = { id: "call_1", type: "function", function: { name: "f", arguments: '{"a":1}' } };
  const repeated = { role: "assistant", name: "M", content: "Hello", reasoning_content: "Hm.", tool_calls: [call] };
  const last = { ...chatAnswer({}), choices: [{ index: 0, message: repeated, finish_reason: "tool_calls" }] };
  const chunks = [
    chatChunk({ role: "assistant", content: "", reasoning: "Hm." }),
    chatChunk({ content: "Hel" }),
    chatChunk({ content: "lo" }),
    chatChunk({ tool_calls: [{ index: 0, ...call }] }),
    last,
  ];
  const bodies: Record<string, Json> = {
    "chat/completions": { messages: asked.messages },
    messages: { messages: asked.messages, max_tokens: 9 },
    responses: { input: "hi", store: false },
  };

  test.each(Object.entries(bodies))("is told once to callers of %s", async (path, body) => {
    upstream.script = (exchange) => exchange.stream(...chunks);
    const { text } = await ask(gateway, `/v1/${path}`, { model: "m", stream: true, ...body });
    expect(text.match(/"(?:content|text|delta)":"Hel"/g)).toHaveLength(1);
    expect(text).not.toMatch(/(?:HelloHello|Hm\.Hm\.|call_1_1)/);
    expect(text.match(/(?:content|text|delta)":"Hello"/g)?.length ?? 0).toBe(path === "responses" ? 4 : 0);
  });

  test("is one whole answer", async () => {
    upstream.script = (exchange) => exchange.stream(...chunks);
    const { json } = await ask(gateway, "/v1/chat/completions", asked);
    expect(json.choices[0].message).toMatchObject({ content: "Hello", reasoning: "Hm.", tool_calls: [call] });
  });

  test("is told what its deltas have not", async () => {
    upstream.script = (exchange) => exchange.stream(chatChunk({ content: "Hello" }), last);
    const { text } = await ask(gateway, "/v1/chat/completions", { ...asked, tools: [tool], stream: true });
    const calls = eventsIn(text).flatMap(({ choices }) => choices[0].delta.tool_calls ?? []);
    expect(calls).toMatchObject([{ index: 0, ...call }]);
  });
});

describe.each([false, true])("an answer whose message a filter took, streamed: %s,", (stream) => {
  const filtered = { content_filter_results: { hate: { filtered: true } }, finish_reason: "content_filter", index: 0 };
  const told = { ...chatAnswer({}), choices: [filtered] };

  test.each([
    ["chat/completions", { messages: asked.messages }, /"finish_reason":"content_filter"/],
    ["messages", { messages: asked.messages, max_tokens: 9 }, /"stop_reason":"refusal"/],
    ["responses", { input: "hi", store: false }, /"reason":"content_filter"/],
  ])("has an empty one for callers of %s, and is charged", async (path, body, end) => {
    upstream.script = (exchange) => exchange.json(200, told);
    const answer = await ask(gateway, `/v1/${path}`, { model: "m", stream, ...body });
    expect(answer.status, answer.text).toBe(200);
    expect(answer.text).toMatch(end);
    if (stream) return;
    expect(answer.headers.get("x-gateway-usage")).toBe("input=9, output=2");
    if (path !== "chat/completions") return;
    const message = { role: "assistant", content: null, refusal: null };
    expect(JSON.parse(answer.text).choices).toEqual([{ ...filtered, message }]);
  });
});

test("an answer without a message that no filter took is none", async () => {
  upstream.script = (exchange) =>
    exchange.json(200, { ...chatAnswer({}), choices: [{ index: 0, finish_reason: "stop" }] });
  expect((await ask(gateway, "/v1/chat/completions", asked)).status).toBe(502);
});

test.each<[unknown, string]>([
  [{ title: "Apples", pages: [1, 2] }, '{"title":"Apples","pages":[1,2]}'],
  [42, "42"],
  [false, "false"],
  [{ summary: "All well." }, '{"summary":"All well."}'],
  [{ type: "person", name: "Ann" }, '{"type":"person","name":"Ann"}'],
  [{ text: "Hi", mood: "calm" }, '{"text":"Hi","mood":"calm"}'],
])("content that a server has parsed, as Cloudflare %j, is a text", async (content, text) => {
  upstream.script = (exchange) => exchange.json(200, chatAnswer({ content }));
  expect((await client().chat.completions.create(asked)).choices[0]?.message.content).toBe(text);
  upstream.script = (exchange) => exchange.stream(chatChunk({ role: "assistant", content }), chatChunk({}, "stop"));
  const { choices } = await client().chat.completions.stream(asked).finalChatCompletion();
  expect(choices[0]?.message.content).toBe(text);
});

test("a part of another kind passes as it came", async () => {
  const content = [{ type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } }];
  upstream.script = (exchange) => exchange.json(200, chatAnswer({ content }));
  const { choices } = await client().chat.completions.create(asked);
  expect(choices[0]?.message.content).toEqual(content);
});

describe("content in parts, as Mistral's reasoning models write it,", () => {
  const thinking = (text: string) => [{ type: "thinking", thinking: [{ type: "text", text }], closed: true }];
  const said = (text: string) => [{ type: "text", text }];

  test("is a text and reasoning of an answer", async () => {
    upstream.script = (exchange) =>
      exchange.json(200, chatAnswer({ content: [...thinking("Hm."), ...said("Hel"), "lo"] }));
    const { choices } = await client().chat.completions.create(asked);
    expect(choices[0]?.message).toMatchObject({ content: "Hello", reasoning_content: "Hm." });
  });

  test("is a text and reasoning of a stream", async () => {
    upstream.script = (exchange) =>
      exchange.stream(
        chatChunk({ role: "assistant", content: thinking("Hm.") }),
        chatChunk({ content: said("Hel") }),
        chatChunk({ content: "lo" }),
        chatChunk({}, "stop"),
      );
    const { text } = await ask(gateway, "/v1/chat/completions", { ...asked, stream: true });
    expect(text).toContain('"reasoning_content":"Hm."');
    const stream = client().chat.completions.stream(asked);
    expect((await stream.finalMessage()).content).toBe("Hello");
  });

  test.each([
    ["a part with a text", { content: [{ type: "reasoning", text: "Hm." }, ...said("Hello")] }],
    [
      "Databricks' part",
      { content: [{ type: "reasoning", summary: [{ type: "summary_text", text: "Hm." }] }, "Hello"] },
    ],
    ["`thinking`", { content: "Hello", thinking: "Hm." }],
    ["`thinking_content`", { content: "Hello", thinking_content: "Hm." }],
    ["an object", { content: "Hello", reasoning: { content: "Hm." } }],
    ["a list by its usual name", { content: "Hello", reasoning_content: [{ type: "text", text: "Hm." }] }],
  ])("or reasoning in %s, is `reasoning_content`", async (_, message) => {
    for (const stream of [false, true]) {
      upstream.script = (exchange) =>
        stream
          ? exchange.stream(chatChunk({ role: "assistant", ...message }), chatChunk({}, "stop"))
          : exchange.json(200, chatAnswer(message));
      const { text } = await ask(gateway, "/v1/chat/completions", { ...asked, stream });
      expect(text).toContain('"content":"Hello"');
      expect(text).toContain('"reasoning_content":"Hm."');
      expect(text).not.toMatch(/thinking|"reasoning":/);
    }
  });

  test("passes as it came where a part is more than that", async () => {
    const content = [...said("See "), { type: "audio_url", audio_url: { url: "https://a.example" } }];
    upstream.script = (exchange) => exchange.json(200, chatAnswer({ content }));
    const { json } = await ask(gateway, "/v1/chat/completions", asked);
    expect(json.choices[0].message.content).toEqual(content);
  });
});

test("events of the server's own between the chunks, as mistral.rs has of its tools, are no chunks", async () => {
  const data = { tool_type: "code_execution", code: "1/0", exception: "ZeroDivisionError" };
  const progress = { type: "agentic_tool_call_progress", round: 0, tool_name: "run", phase: "complete", data };
  upstream.script = (exchange) =>
    exchange.stream(progress, chatChunk({ content: "Hello" }), progress, chatChunk({}, "stop"));
  const { text } = await ask(gateway, "/v1/chat/completions", { ...asked, stream: true });
  expect(eventsIn(text).map(({ choices }) => choices[0].delta.content)).toEqual(["Hello", undefined]);
});
