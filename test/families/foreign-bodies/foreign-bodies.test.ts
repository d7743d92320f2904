/** Bodies of other APIs on the path of chat, as some editors send them. */
import { expect, test } from "vitest";
import { ask } from "../../support/ask.ts";
import { upstreamAt } from "../../support/gateway.ts";
import type { ScriptedExchange } from "../../support/scripted-upstream.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";
import { chatAnswer, chatChunk, chatUsage } from "../../support/vendors.ts";

const { upstream, gateway } = scriptedStage(upstreamAt, { script: greet });

function greet(exchange: ScriptedExchange): void {
  const { stream } = exchange.asked;
  if (stream) exchange.stream(chatChunk({ content: "hello" }), chatChunk({}, "stop", { usage: chatUsage }));
  else exchange.json(200, chatAnswer({ content: "hello" }));
}

async function send(body: object, headers: Readonly<Record<string, string>> = {}) {
  const asked = await ask(gateway, "/v1/chat/completions", { model: "embedded-chat", ...body }, { headers });
  return { ...asked, sent: upstream.lastAsked };
}

const parameters = { type: "object", properties: {} };
const input = [
  { role: "system", content: "You are an agent." },
  { role: "user", content: [{ type: "input_text", text: "hi" }] },
];
const messages = [{ role: "user", content: "hi" }];

test("a request for a response is answered as a chat completion", async () => {
  const tools = [{ type: "function", name: "read", parameters }];
  const more = {
    tools,
    reasoning: { effort: "low" },
    store: false,
    include: ["reasoning.encrypted_content"],
    max_output_tokens: 9,
  };
  const { status, dropped, text, sent } = await send({ input, ...more, stop: ["x"], n: 1 });
  expect({ status, dropped }).toEqual({ status: 200, dropped: null });
  expect(JSON.parse(text)).toMatchObject({ object: "chat.completion", choices: [{ message: { content: "hello" } }] });
  expect(sent).toEqual({
    model: "embedded-chat",
    messages: [
      { role: "system", content: "You are an agent." },
      { role: "user", content: "hi" },
    ],
    tools: [{ type: "function", function: { name: "read", parameters } }],
    max_completion_tokens: 9,
    reasoning_effort: "low",
    stop: ["x"],
    n: 1,
  });
});

test("its stream is a stream of chat", async () => {
  const { status, text } = await send({ input: "hi", stream: true });
  expect(status).toBe(200);
  expect(text).toContain('"chat.completion.chunk"');
  expect(text.trimEnd().endsWith("data: [DONE]")).toBe(true);
});

test("what chat cannot express is named, or refused", async () => {
  const body = { input: "hi", tools: [{ type: "web_search" }] };
  expect((await send(body)).dropped).toBe("tools[0]");
  expect((await send(body, { "x-gateway-strict": "true" })).status).toBe(400);
});

test.for([
  ["no input either", {}, "messages"],
  ["input of a wrong type", { input: 3 }, "input"],
  ["a bound of nothing", { input: "hi", max_output_tokens: 0 }, "max_output_tokens"],
  [
    "a namespace in itself",
    { input: "hi", tools: [{ type: "namespace", name: "a", tools: [{ type: "namespace" }] }] },
    "tools[0].tools[0].type",
  ],
] as const)("is refused with its path: %s", async ([, body, param]) => {
  const before = upstream.received.length;
  const { status, text } = await send(body);
  expect(status).toBe(400);
  expect(JSON.parse(text).error.param).toBe(param);
  expect(upstream.received.length).toBe(before);
});

test("flat tools and nested tools work side by side", async () => {
  const nested = { type: "function", function: { name: "grep", parameters } };
  const grammar = { syntax: "lark", definition: "start: /a/" };
  const { sent, dropped } = await send({
    messages,
    tools: [
      nested,
      { type: "function", name: "read", description: "reads", parameters, strict: null },
      { name: "edit", input_schema: parameters },
      { type: "custom", name: "patch", format: { type: "grammar", ...grammar } },
    ],
    tool_choice: { type: "function", name: "read" },
  });
  expect(dropped).toBeNull();
  expect(sent.tools).toEqual([
    nested,
    { type: "function", function: { name: "read", description: "reads", parameters } },
    { type: "function", function: { name: "edit", parameters } },
    { type: "custom", custom: { name: "patch", format: { type: "grammar", grammar } } },
  ]);
  expect(sent.tool_choice).toEqual({ type: "function", function: { name: "read" } });
});

test("a long one is answered alike", async () => {
  const { sent, status } = await send({ input: [{ role: "user", content: "word ".repeat(40_000) }] });
  expect(status).toBe(200);
  expect(sent.messages[0].content.length).toBe(200_000);
});

test("a chat request is passed on byte for byte, whatever else it has", async () => {
  const body = {
    messages,
    input: "x",
    tools: [
      { type: "retrieval", name: "a" },
      { type: "function", function: { name: "f" } },
    ],
  };
  expect((await send(body)).sent).toEqual({ model: "embedded-chat", ...body });
});

test("calls and results in the Messages API's blocks become chat's, as Cursor sends them", async () => {
  const { status, dropped, sent } = await send({
    system: "Be brief.",
    stop_sequences: ["END"],
    messages: [
      { role: "user", content: [{ type: "text", text: "read it" }] },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "hm", signature: "c2ln" },
          { type: "text", text: "I read." },
          { type: "tool_use", id: "toolu_1", name: "read", input: { path: "a" } },
        ],
      },
      {
        role: "user",
        content: [
          { type: "text", text: "go on" },
          { type: "tool_result", tool_use_id: "toolu_1", content: [{ type: "text", text: "A" }], is_error: true },
        ],
      },
    ],
    tools: [{ name: "read", input_schema: parameters }],
    tool_choice: { type: "tool", name: "read", disable_parallel_tool_use: true },
  });
  expect({ status, dropped }).toEqual({ status: 200, dropped: null });
  expect(sent).toEqual({
    model: "embedded-chat",
    stop: ["END"],
    messages: [
      { role: "system", content: "Be brief." },
      { role: "user", content: [{ type: "text", text: "read it" }] },
      {
        role: "assistant",
        content: [{ type: "text", text: "I read." }],
        thinking_blocks: [{ type: "thinking", thinking: "hm", signature: "c2ln" }],
        tool_calls: [{ id: "toolu_1", type: "function", function: { name: "read", arguments: '{"path":"a"}' } }],
      },
      { role: "tool", tool_call_id: "toolu_1", content: "Error: A" },
      { role: "user", content: [{ type: "text", text: "go on" }] },
    ],
    tools: [{ type: "function", function: { name: "read", parameters } }],
    tool_choice: { type: "function", function: { name: "read" } },
    parallel_tool_calls: false,
  });
});

test("an image in a result comes with what else the user says", async () => {
  const source = { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" };
  const result = { type: "tool_result", tool_use_id: "t1", content: [{ type: "image", source }] };
  const { sent } = await send({
    messages: [
      { role: "user", content: "look" },
      { role: "assistant", content: [{ type: "tool_use", id: "t1", name: "look", input: {} }] },
      { role: "user", content: [result] },
    ],
  });
  expect(sent.messages.slice(1)).toEqual([
    {
      role: "assistant",
      content: null,
      tool_calls: [{ id: "t1", type: "function", function: { name: "look", arguments: "{}" } }],
    },
    { role: "tool", tool_call_id: "t1", content: "" },
    {
      role: "user",
      content: [
        { type: "text", text: "Attached to the result of t1:" },
        { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } },
      ],
    },
  ]);
});

test.each([
  [{ type: "auto" }, "auto"],
  [{ type: "any" }, "required"],
  [{ type: "required" }, "required"],
  [{ type: "none" }, "none"],
])("the choice %j is the word %j", async (choice, word) => {
  const tools = [{ type: "function", function: { name: "read", parameters } }];
  const { status, sent } = await send({ messages, tools, tool_choice: choice });
  expect({ status, choice: sent.tool_choice }).toEqual({ status: 200, choice: word });
});

test("parts of responses, and a bare address of an image, become chat's", async () => {
  const content = [
    { type: "input_text", text: "what is it?" },
    { type: "input_image", image_url: "https://example.com/a.png", detail: "low" },
    { type: "image_url", image_url: "https://example.com/b.png" },
    { type: "input_audio", input_audio: "UklGRgAA" },
    { type: "input_audio", input_audio: "data:audio/mpeg;base64,//Nk" },
    { type: "input_file", filename: "a.pdf", file_data: "data:application/pdf;base64,JVBERi0=" },
  ];
  const { status, sent } = await send({ messages: [{ role: "user", content }] });
  expect(status).toBe(200);
  expect(sent.messages[0].content).toEqual([
    { type: "text", text: "what is it?" },
    { type: "image_url", image_url: { url: "https://example.com/a.png", detail: "low" } },
    { type: "image_url", image_url: { url: "https://example.com/b.png" } },
    { type: "input_audio", input_audio: { data: "UklGRgAA", format: "wav" } },
    { type: "input_audio", input_audio: { data: "//Nk", format: "mp3" } },
    { type: "file", file: { filename: "a.pdf", file_data: "data:application/pdf;base64,JVBERi0=" } },
  ]);
});

test("images of the Messages API become chat's, but a file that its vendor has", async () => {
  const cache_control = { type: "ephemeral" };
  const stored = { type: "image", source: { type: "file", file_id: "file_1" } };
  const content = [
    { type: "text", text: "what is it?" },
    { type: "image", source: { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" }, cache_control },
    { type: "image", source: { type: "url", url: "https://example.com/a.png" } },
  ];
  const parts = [
    content[0],
    { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" }, cache_control },
    { type: "image_url", image_url: { url: "https://example.com/a.png" } },
  ];
  const { status, sent } = await send({ messages: [{ role: "user", content: [...content, stored] }] });
  expect([status, sent.messages[0].content]).toEqual([200, [...parts, stored]]);
});

test.each([
  ["a result without its call", { type: "tool_result", content: "x" }, "messages[0].content[0].tool_use_id"],
  ["a result that is none", { type: "tool_result", tool_use_id: 7 }, "messages[0].content[0].tool_use_id"],
  [
    "a result with what no chat can hold",
    { type: "tool_result", tool_use_id: "t", content: [{ type: "sound" }] },
    "messages[0].content[0].content[0].type",
  ],
])("%s is refused by its path, and the model is not asked", async (_, block, param) => {
  const before = upstream.received.length;
  const { status, text } = await send({ messages: [{ role: "user", content: [block] }] });
  expect([status, JSON.parse(text).error.param]).toEqual([400, param]);
  expect(upstream.received.length).toBe(before);
});
