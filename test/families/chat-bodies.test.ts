/** Bodies of other APIs on the path of chat, as some editors send them. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestGateway, type TestGateway, upstreamAt } from "../support/gateway.ts";
import { type ScriptedUpstream, startScriptedUpstream } from "../support/scripted-upstream.ts";

let upstream: ScriptedUpstream;
let gateway: TestGateway;

const choice = { index: 0, message: { role: "assistant", content: "hello" }, finish_reason: "stop" };
const completion = { id: "c1", object: "chat.completion", created: 1, model: "m", choices: [choice] };
const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };

beforeAll(async () => {
  upstream = await startScriptedUpstream((exchange) => {
    const { stream } = JSON.parse(exchange.body.toString());
    const chunk = (delta: object, finish_reason: string | null) => ({
      ...completion,
      object: "chat.completion.chunk",
      choices: [{ index: 0, delta, finish_reason }],
    });
    if (stream) exchange.stream(chunk({ content: "hello" }, null), { ...chunk({}, "stop"), usage });
    else exchange.json(200, { ...completion, usage });
  });
  gateway = await startTestGateway(upstreamAt(upstream.baseUrl));
});

afterAll(async () => {
  await gateway.close();
  await upstream.close();
});

async function ask(body: object, headers: object = {}) {
  const response = await fetch(`${gateway.baseUrl}/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${gateway.apiKey}`, "content-type": "application/json", ...headers },
    body: JSON.stringify({ model: "embedded-chat", ...body }),
  });
  const sent = JSON.parse(upstream.received.at(-1)?.body.toString() ?? "{}");
  return {
    status: response.status,
    dropped: response.headers.get("x-gateway-dropped"),
    text: await response.text(),
    sent,
  };
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
  const { status, dropped, text, sent } = await ask({ input, ...more, stop: ["x"], n: 1 });
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
  const { status, text } = await ask({ input: "hi", stream: true });
  expect(status).toBe(200);
  expect(text).toContain('"chat.completion.chunk"');
  expect(text.trimEnd().endsWith("data: [DONE]")).toBe(true);
});

test("what chat cannot express is named, or refused", async () => {
  const body = { input: "hi", tools: [{ type: "web_search" }] };
  expect((await ask(body)).dropped).toBe("tools[0]");
  expect((await ask(body, { "x-gateway-strict": "true" })).status).toBe(400);
});

test.for([
  ["no input either", {}, "messages"],
  ["input of a wrong type", { input: 3 }, "input"],
  ["a bound of nothing", { input: "hi", max_output_tokens: 0 }, "max_completion_tokens"],
  [
    "a namespace in itself",
    { input: "hi", tools: [{ type: "namespace", name: "a", tools: [{ type: "namespace" }] }] },
    "tools[0].tools[0].type",
  ],
] as const)("is refused with its path: %s", async ([, body, param]) => {
  const before = upstream.received.length;
  const { status, text } = await ask(body);
  expect(status).toBe(400);
  expect(JSON.parse(text).error.param).toBe(param);
  expect(upstream.received.length).toBe(before);
});

test("flat tools and nested tools work side by side", async () => {
  const nested = { type: "function", function: { name: "grep", parameters } };
  const grammar = { syntax: "lark", definition: "start: /a/" };
  const { sent, dropped } = await ask({
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
  const { sent, status } = await ask({ input: [{ role: "user", content: "word ".repeat(40_000) }] });
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
  expect((await ask(body)).sent).toEqual({ model: "embedded-chat", ...body });
});
