/** Answers of other APIs in place of a chat's are told to callers of all families, and charged by the usage that they tell. */
import { describe, expect, test } from "vitest";
import { exactNumber } from "../../../src/wire/scan/exact-number.ts";
import { call } from "../../support/clients/families.ts";
import { openAccount } from "../../support/payer.ts";
import type { ScriptedExchange } from "../../support/scripted-upstream.ts";
import { paidModel, paidModels } from "../../support/upstreams/paid-models.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";

const { upstream, gateway, books } = scriptedStage((base_url) => {
  const { upstreams, models, ...rest } = paidModels(base_url);
  const operations = { chat: "/chat/completions", responses: "/responses" };
  const profile = { operations, responses: "always" } as const;
  return {
    ...rest,
    upstreams: [...upstreams, { name: "responding", kind: "openai", base_url, profile }],
    models: [...models, paidModel("responder", "responding")],
  };
});

/** ways are the models that are asked for a chat and for a response, each whole and streamed. */
const ways = ["gpt", "responder"].flatMap((model) => [true, false].map((stream) => ({ model, stream })));

const said = "the quick brown fox";

const texts = {
  "Ollama's": {
    ...{
      model: "m",
      created_at: "2026-01-01T00:00:00Z",
      message: { role: "assistant", content: said, thinking: "Hm." },
    },
    ...{ done: true, done_reason: "stop", prompt_eval_count: 7, eval_count: 3 },
  },
  "Cohere's": {
    ...{ id: "c", finish_reason: "COMPLETE", message: { role: "assistant", content: [{ type: "text", text: said }] } },
    usage: { tokens: { input_tokens: 7, output_tokens: 3 } },
  },
  "Gemini's": {
    candidates: [
      { content: { role: "model", parts: [{ text: "Hm.", thought: true }, { text: said }] }, finishReason: "STOP" },
    ],
    usageMetadata: { promptTokenCount: 7, candidatesTokenCount: 3, totalTokenCount: 10 },
  },
  "Converse's": {
    output: { message: { role: "assistant", content: [{ text: said }] } },
    ...{ stopReason: "end_turn", usage: { inputTokens: 7, outputTokens: 3, totalTokens: 10 } },
  },
  "Anthropic's": {
    ...{ type: "message", role: "assistant", content: [{ type: "text", text: said }], stop_reason: "end_turn" },
    usage: { input_tokens: 7, output_tokens: 3 },
  },
  "the Responses API's": {
    ...{ id: "resp_1", object: "response", status: "completed", model: "m", error: null, incomplete_details: null },
    output: [
      { type: "reasoning", id: "rs_1", summary: [{ type: "summary_text", text: "Hm." }] },
      { type: "message", role: "assistant", content: [{ type: "output_text", text: said, annotations: [] }] },
    ],
    usage: { input_tokens: 7, output_tokens: 3, total_tokens: 10 },
  },
  "llama.cpp's": {
    ...{ index: 0, content: said, tokens: [], id_slot: 0, stop: true, model: "m", prompt: "hi", has_new_line: false },
    ...{ generation_settings: { n_predict: -1, stop: ["x"] }, truncated: false, stop_type: "eos", stopping_word: "" },
    ...{ tokens_predicted: 3, tokens_evaluated: 7, timings: { prompt_n: 2, predicted_n: 3 } },
  },
  "Workers AI's": {
    response: said,
    tool_calls: [],
    usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 },
  },
  "Workers AI's in its envelope": {
    result: { response: said, usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 } },
    ...{ success: true, errors: [], messages: [] },
  },
  "Cohere's first": {
    ...{ text: said, generation_id: "g", finish_reason: "COMPLETE", chat_history: [{ role: "USER", message: "hi" }] },
    meta: { billed_units: { input_tokens: 7, output_tokens: 3 } },
  },
};

const calls = {
  "Ollama's": {
    message: { role: "assistant", content: "", tool_calls: [{ function: { name: "look", arguments: { a: 1 } } }] },
    ...{ done: true, done_reason: "stop", prompt_eval_count: 7, eval_count: 3 },
  },
  "Gemini's": {
    candidates: [{ content: { parts: [{ functionCall: { name: "look", args: { a: 1 } } }] }, finishReason: "STOP" }],
  },
  "Converse's": {
    output: { message: { content: [{ toolUse: { toolUseId: "t1", name: "look", input: { a: 1 } } }] } },
    stopReason: "tool_use",
  },
  "Anthropic's": {
    ...{ type: "message", content: [{ type: "tool_use", id: "t1", name: "look", input: { a: 1 } }] },
    stop_reason: "tool_use",
  },
  "the Responses API's": {
    ...{ id: "resp_1", object: "response", status: "completed" },
    output: [{ type: "function_call", id: "fc_1", call_id: "call_1", name: "look", arguments: '{"a":1}' }],
  },
  "Workers AI's": { response: null, tool_calls: [{ name: "look", arguments: { a: 1 } }] },
  "Workers AI's in chat's form": {
    ...{ response: "", usage: {} },
    tool_calls: [{ id: "call_1", type: "function", function: { name: "look", arguments: '{"a":1}' } }],
  },
  "Cohere's first": {
    ...{ text: "", generation_id: "g", finish_reason: "COMPLETE" },
    tool_calls: [{ name: "look", parameters: { a: 1 } }],
  },
};

const parameters = { type: "object", properties: {} };
const toolsOf = {
  chat: [{ type: "function", function: { name: "look", parameters } }],
  messages: [{ name: "look", input_schema: parameters }],
  responses: [{ type: "function", name: "look", parameters }],
} as const;
const families = ["chat", "messages", "responses"] as const;

const counted = { usageMetadata: { promptTokenCount: 7, thoughtsTokenCount: 3, totalTokenCount: 10 } };
const counts = { inputTokens: 7, outputTokens: 3, totalTokens: 10 };
/** unsaid are answers without content, each with why it ended. */
const unsaid = {
  "Gemini's": [{ candidates: [{ content: { role: "model" }, finishReason: "MAX_TOKENS" }], ...counted }, "length"],
  "Gemini's that was filtered": [{ candidates: [{ finishReason: "SAFETY" }], ...counted }, "content_filter"],
  "Gemini's of which the prompt was refused": [
    { promptFeedback: { blockReason: "SAFETY" }, usageMetadata: { promptTokenCount: 7, totalTokenCount: 7 } },
    "content_filter",
  ],
  "Converse's": [
    { output: { message: { role: "assistant", content: [] } }, stopReason: "guardrail_intervened", usage: counts },
    "content_filter",
  ],
} as const;
const ends = {
  chat: { length: "length", content_filter: "content_filter" },
  messages: { length: "max_tokens", content_filter: "refusal" },
  responses: { length: "max_output_tokens", content_filter: "content_filter" },
} as const;

describe.each(ways)("a whole answer to $model, stream: $stream", ({ model, stream }) => {
  test.each(Object.entries(texts))("%s text is told and charged", async (_, answer) => {
    upstream.script = (exchange) => exchange.json(200, answer);
    for (const family of families) {
      const payer = await openAccount(gateway, { postpaid: true });
      const { status, text } = await call(gateway, { family, model, stream, apiKey: payer.apiKey });
      expect(status, text).toBe(200);
      expect(text).toContain(said);
      const [row] = (await books.of(payer)).requests;
      expect([row?.input, row?.output], family).toEqual([7, 3]);
    }
  });

  test.each(Object.entries(calls))("%s call of a tool is told", async (_, answer) => {
    upstream.script = (exchange) => exchange.json(200, answer);
    for (const family of families) {
      const more = { tools: toolsOf[family] };
      const { status, text } = await call(gateway, { family, model, stream, apiKey: gateway.apiKey, more });
      expect(status, text).toBe(200);
      expect(text).toMatch(/"name":"look"/);
      expect(text).toMatch(/\\?"a\\?":1/);
      if (family === "chat") expect(text).toMatch(/"id":"(call_|t1)[^"]*".*"finish_reason":"tool_calls"/s);
    }
  });

  test.each(Object.entries(unsaid))(
    "%s that ended before anything was said is told by its end, and charged",
    async (_, [answer, end]) => {
      upstream.script = (exchange) => exchange.json(200, answer);
      for (const family of families) {
        const payer = await openAccount(gateway, { postpaid: true });
        const { status, text } = await call(gateway, { family, model, stream, apiKey: payer.apiKey });
        expect(status, text).toBe(200);
        expect(text, family).toMatch(new RegExp(`"${ends[family][end]}"`));
        const [row] = (await books.of(payer)).requests;
        expect([row?.input, row?.output], family).toEqual([7, "promptFeedback" in answer ? 0 : 3]);
      }
    },
  );

  test.each([
    ["nothing said", { candidates: [{ content: { parts: [] }, finishReason: "STOP" }] }],
    ["an error", { error: "overloaded", message: { role: "assistant", content: "x" } }],
    ["a message that is none", { message: { text: "x" } }],
    ["a text that may be an error", { response: "Service Unavailable" }],
  ])("%s is no answer, and not charged", async (_, answer) => {
    upstream.script = (exchange) => exchange.json(200, answer);
    const payer = await openAccount(gateway, { postpaid: true });
    const { status } = await call(gateway, { family: "chat", model, stream, apiKey: payer.apiKey });
    expect(status).toBe(502);
    expect((await books.of(payer)).requests.every(({ cost }) => Number(cost) === 0)).toBe(true);
  });
});

test("thinking that Converse's model has signed keeps its signature, and a text with sources is told", async () => {
  const reasoningText = { text: "Hm.", signature: "c2ln" };
  const cited = { citationsContent: { content: [{ text: said }], citations: [] } };
  const message = { role: "assistant", content: [{ reasoningContent: { reasoningText } }, cited] };
  upstream.script = (exchange) => exchange.json(200, { output: { message }, stopReason: "end_turn" });
  const { text } = await call(gateway, { family: "chat", model: "gpt", stream: false, apiKey: gateway.apiKey });
  expect(JSON.parse(text).choices[0].message).toMatchObject({
    content: said,
    thinking_blocks: [{ type: "thinking", thinking: "Hm.", signature: "c2ln" }],
  });
});

const streams = {
  "Ollama's": [
    { model: "m", message: { role: "assistant", content: "", thinking: "Hm." }, done: false },
    { model: "m", message: { role: "assistant", content: "the quick " }, done: false },
    { model: "m", message: { role: "assistant", content: "brown fox" }, done: false },
    ...[
      {
        message: { role: "assistant", content: "" },
        done: true,
        done_reason: "stop",
        prompt_eval_count: 7,
        eval_count: 3,
      },
    ],
  ],
  "Gemini's": [
    { candidates: [{ content: { parts: [{ text: "Hm.", thought: true }] } }] },
    { candidates: [{ content: { parts: [{ text: "the quick " }] } }], usageMetadata: { promptTokenCount: 7 } },
    { candidates: [{ content: { parts: [{ text: "brown fox" }] } }] },
    ...[{ candidates: [{ finishReason: "STOP" }], usageMetadata: { promptTokenCount: 7, candidatesTokenCount: 3 } }],
  ],
};

/** of adds its type to the data of an event. */
const of = (type: string, data: object = {}) => ({ type, ...data });
const delta = (type: string, piece: object) => of("content_block_delta", { index: 0, delta: { type, ...piece } });
const cohere = (type: string, message: object) => of(type, { index: 0, delta: { message } });
const item = { type: "message", id: "msg_1", role: "assistant", content: [] };
const reasoned = { type: "reasoning", id: "rs_1", summary: [{ type: "summary_text", text: "Hm." }] };
const responded = { id: "resp_1", object: "response", model: "m", status: "completed", error: null, output: [] };

const block = (contentBlockIndex: number, delta: object) => ({ contentBlockDelta: { delta, contentBlockIndex } });
const converseEnd = (stopReason: string) => [
  { messageStop: { stopReason } },
  { metadata: { usage: { inputTokens: 7, outputTokens: 3, totalTokens: 10 }, metrics: { latencyMs: 9 }, p: "abc" } },
];
const exactCounts = { inputTokens: exactNumber("7.0000000000000000"), outputTokens: exactNumber("3.0000000000000000") };
const converse = [
  { messageStart: { role: "assistant", p: "abcd" } },
  block(0, { reasoningContent: { text: "Hm." } }),
  block(0, { reasoningContent: { signature: "c2ln" } }),
  { contentBlockStop: { contentBlockIndex: 0 } },
  ...[block(1, { text: "the quick " }), block(1, { text: "brown fox" })],
  { contentBlockStop: { contentBlockIndex: 1 } },
  ...converseEnd("end_turn"),
];

const eventStreams = {
  "Anthropic's": [
    of("message_start", { message: { id: "msg_1", model: "m", usage: { input_tokens: 7, output_tokens: 1 } } }),
    of("content_block_start", { index: 0, content_block: { type: "thinking", thinking: "", signature: "" } }),
    delta("thinking_delta", { thinking: "Hm." }),
    ...[delta("signature_delta", { signature: "c2ln" }), of("content_block_stop", { index: 0 }), of("ping")],
    of("content_block_start", { index: 1, content_block: { type: "text", text: "" } }),
    ...[delta("text_delta", { text: "the quick " }), delta("text_delta", { text: "brown fox" })],
    of("content_block_stop", { index: 1 }),
    of("message_delta", { delta: { stop_reason: "end_turn", stop_sequence: null }, usage: { output_tokens: 3 } }),
    of("message_stop"),
  ],
  "the Responses API's": [
    of("response.created", { response: { ...responded, status: "in_progress" } }),
    of("response.in_progress", { response: { ...responded, status: "in_progress" } }),
    of("response.reasoning_summary_text.delta", { output_index: 0, summary_index: 0, delta: "Hm." }),
    of("response.output_item.done", { output_index: 0, item: reasoned }),
    of("response.output_item.added", { output_index: 1, item }),
    of("response.output_text.delta", { output_index: 1, content_index: 0, delta: "the quick " }),
    of("response.output_text.delta", { output_index: 1, content_index: 0, delta: "brown fox" }),
    of("response.output_text.done", { output_index: 1, content_index: 0, text: said }),
    of("response.output_item.done", {
      output_index: 1,
      item: { ...item, content: [{ type: "output_text", text: said }] },
    }),
    of("response.completed", { response: { ...responded, usage: { input_tokens: 7, output_tokens: 3 } } }),
  ],
  "Cohere's": [
    of("message-start", { id: "c", delta: { message: { role: "assistant", content: [] } } }),
    cohere("content-start", { content: { type: "thinking", thinking: "" } }),
    cohere("content-delta", { content: { thinking: "Hm." } }),
    of("content-end", { index: 0 }),
    cohere("content-start", { content: { type: "text", text: "" } }),
    cohere("content-delta", { content: { text: "the quick " } }),
    cohere("content-delta", { content: { text: "brown fox" } }),
    of("message-end", {
      delta: { finish_reason: "COMPLETE", usage: { billed_units: { input_tokens: 7, output_tokens: 3 } } },
    }),
  ],
  "Converse's": converse,
  "Converse's, whose counts have more digits than a double,": converse.map((event) =>
    "metadata" in event ? { metadata: { usage: exactCounts } } : event,
  ),
  "Converse's, of which a proxy has left the members alone,": converse.map(
    (event): object => Object.values(event)[0] as object,
  ),
  "llama.cpp's": [
    { index: 0, content: "the quick ", tokens: [1], stop: false, id_slot: 0, tokens_predicted: 1, tokens_evaluated: 7 },
    { index: 0, content: "brown fox", tokens: [2], stop: false, id_slot: 0, tokens_predicted: 2, tokens_evaluated: 7 },
    {
      ...{ index: 0, content: "", stop: true, stop_type: "limit", tokens_predicted: 3, tokens_evaluated: 7 },
      ...{ prompt: "hi", generation_settings: { stop: [] }, timings: { prompt_n: 1, predicted_n: 3 } },
    },
  ],
  "text-generation-inference's": [
    { index: 1, token: { id: 1, text: "the quick ", special: false }, generated_text: null, details: null },
    { index: 2, token: { id: 2, text: "brown fox", special: false }, generated_text: null, details: null },
    {
      ...{ index: 3, token: { id: 3, text: "</s>", special: true }, generated_text: said },
      details: { finish_reason: "eos_token", generated_tokens: 3, input_length: 7 },
    },
  ],
  "Ollama's plain": [
    { model: "m", response: "the quick ", done: false },
    { model: "m", response: "brown fox", done: false },
    { model: "m", response: "", done: true, done_reason: "stop", prompt_eval_count: 7, eval_count: 3 },
  ],
};

/** first adds its event of Cohere's first API to data. */
const first = (event_type: string, data: object = {}) => ({ is_finished: false, event_type, ...data });
const firstUsage = { meta: { billed_units: { input_tokens: 7, output_tokens: 3 } } };
const firstEnd = { is_finished: true, finish_reason: "COMPLETE", response: { text: said, ...firstUsage } };

const firstCohere = {
  text: [
    first("stream-start", { generation_id: "g" }),
    ...[first("text-generation", { text: "the quick " }), first("text-generation", { text: "brown fox" })],
    ...[first("citation-generation", { citations: [] }), first("stream-end", firstEnd)],
  ],
  calls: [
    first("stream-start", { generation_id: "g" }),
    first("tool-calls-generation", { tool_calls: [1, 2].map((a) => ({ name: "look", parameters: { a } })) }),
    first("stream-end", firstEnd),
  ],
};

const callStreams = {
  "Anthropic's": [
    of("message_start", { message: { id: "msg_1", model: "m" } }),
    of("content_block_start", { index: 0, content_block: { type: "tool_use", id: "t1", name: "look", input: {} } }),
    delta("input_json_delta", { partial_json: '{"a":' }),
    delta("input_json_delta", { partial_json: "1}" }),
    of("content_block_stop", { index: 0 }),
    of("content_block_start", {
      index: 1,
      content_block: { type: "tool_use", id: "t2", name: "look", input: { a: 2 } },
    }),
    of("content_block_stop", { index: 1 }),
    of("message_delta", { delta: { stop_reason: "tool_use" }, usage: { output_tokens: 3 } }),
    of("message_stop"),
  ],
  "the Responses API's": [
    of("response.created", { response: responded }),
    ...[1, 2].flatMap((a) => {
      const called = { type: "function_call", id: `fc_${a}`, call_id: `call_${a}`, name: "look" };
      return [
        of("response.output_item.added", { output_index: a, item: { ...called, arguments: "" } }),
        ...(a === 1 ? [of("response.function_call_arguments.delta", { output_index: a, delta: '{"a":1}' })] : []),
        of("response.output_item.done", { output_index: a, item: { ...called, arguments: `{"a":${a}}` } }),
      ];
    }),
    of("response.completed", { response: responded }),
  ],
  "Converse's": [
    { messageStart: { role: "assistant" } },
    ...[1, 2].flatMap((a) => [
      { contentBlockStart: { start: { toolUse: { toolUseId: `t${a}`, name: "look" } }, contentBlockIndex: a } },
      ...[block(a, { toolUse: { input: '{"a":' } }), block(a, { toolUse: { input: `${a}}` } })],
      { contentBlockStop: { contentBlockIndex: a } },
    ]),
    ...converseEnd("tool_use"),
  ],
  "Cohere's": [
    of("message-start", { id: "c", delta: { message: { role: "assistant" } } }),
    of("tool-plan-delta", { delta: { message: { tool_plan: "I look." } } }),
    ...[1, 2].flatMap((a) => {
      const tool_calls = { id: `t${a}`, type: "function", function: { name: "look", arguments: "" } };
      return [
        of("tool-call-start", { index: a, delta: { message: { tool_calls } } }),
        of("tool-call-delta", {
          index: a,
          delta: { message: { tool_calls: { function: { arguments: `{"a":${a}}` } } } },
        }),
        of("tool-call-end", { index: a }),
      ];
    }),
    of("message-end", { delta: { finish_reason: "TOOL_CALL" } }),
  ],
};

/** sendEvents sends events with their names, or without, and leaves the connection open behind the last one. */
async function sendEvents(exchange: ScriptedExchange, events: readonly object[], isNamed: boolean) {
  exchange.head(200, { "content-type": "text/event-stream" });
  const typeOf = (event: object | undefined) => (event && "type" in event ? event.type : undefined);
  const name = (event: object) => (isNamed && typeOf(event) ? `event: ${typeOf(event)}\n` : "");
  await exchange.write(events.map((event) => `${name(event)}data: ${JSON.stringify(event)}\n\n`).join(""));
  if (typeOf(events.at(-1)) === undefined) exchange.end();
}

describe.each(ways)("a stream of events to $model, asked for: $stream", ({ model, stream }) => {
  test.each(Object.entries(eventStreams))("%s text is told piece by piece and charged", async (_, events) => {
    const thinks = JSON.stringify(events).includes("Hm.");
    for (const [i, family] of families.entries()) {
      upstream.script = (exchange) => void sendEvents(exchange, events, i !== 0);
      const payer = await openAccount(gateway, { postpaid: true });
      const { status, text } = await call(gateway, { family, model, stream, apiKey: payer.apiKey });
      expect(status, text).toBe(200);
      if (stream) expect(text).toMatch(/"the quick ".*"brown fox"/s);
      else expect(text).toContain(said);
      expect(text.match(/brown fox/g)?.length, "told once").toBeLessThan(stream ? 6 : 2);
      expect(text.includes("Hm.")).toBe(thinks);
      expect(text).not.toContain("</s>");
      if (family === "chat" && stream) expect(new Set(text.match(/"id":"[^"]*"/g)).size).toBe(1);
      const [row] = (await books.of(payer)).requests;
      expect([row?.input, row?.output], family).toEqual([7, 3]);
    }
  });

  test.each(Object.entries(callStreams))("%s calls of tools are told apart", async (_, events) => {
    upstream.script = (exchange) => void sendEvents(exchange, events, true);
    for (const family of families) {
      const more = { tools: toolsOf[family] };
      const { status, text } = await call(gateway, { family, model, stream, apiKey: gateway.apiKey, more });
      expect(status, text).toBe(200);
      if (family === "chat") expect(text).toContain('"finish_reason":"tool_calls"');
      if (family === "chat" && !stream) expect(JSON.parse(text).choices[0].message.tool_calls).toHaveLength(2);
      const written = text.replaceAll("\\", "");
      if (!stream) for (const a of [1, 2]) expect(written, family).toContain(`"a":${a}`);
    }
  });

  test.each([
    ["one that stops before its end", eventStreams["Anthropic's"].slice(0, -3)],
    ["a response that fails", [...eventStreams["the Responses API's"].slice(0, -1), failedResponse()]],
    [
      "a failure of Anthropic's",
      [...eventStreams["Anthropic's"].slice(0, 4), of("error", { error: { message: "no" } })],
    ],
    [
      "a failure of Cohere's",
      [...eventStreams["Cohere's"].slice(0, 4), of("message-end", { delta: { finish_reason: "ERROR" } })],
    ],
  ])("%s is not told as whole", async (_, events) => {
    upstream.script = (exchange) => void sendEvents(exchange, events, true).then(() => exchange.end());
    const { status, text } = await call(gateway, { family: "chat", model, stream, apiKey: gateway.apiKey });
    expect(stream ? text : String(status)).toMatch(stream ? /"error"/ : "502");
    expect(text).not.toContain("[DONE]");
  });
});

test.each(ways)("Workers AI's text without an end but its mark is told and charged: $model, $stream", async (way) => {
  const usage = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 };
  upstream.script = (exchange) =>
    exchange.stream(
      { response: "the quick ", p: "abc" },
      { response: "brown fox", tool_calls: [], p: "ab" },
      { response: "", tool_calls: [{ name: "look", arguments: { a: 1 } }] },
      { response: "", usage },
    );
  for (const family of families) {
    const payer = await openAccount(gateway, { postpaid: true });
    const more = { tools: toolsOf[family] };
    const { status, text } = await call(gateway, { family, ...way, apiKey: payer.apiKey, more });
    expect(status, text).toBe(200);
    if (way.stream) expect(text).toMatch(/"the quick ".*"brown fox"/s);
    else expect(text).toContain(said);
    expect(text.replaceAll("\\", "")).toMatch(/"name":"look".*"a":1|"a":1.*"name":"look"/s);
    const [row] = (await books.of(payer)).requests;
    expect([row?.input, row?.output], family).toEqual([7, 3]);
  }
});

const chatHead = { id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: "m" };
const chunk = (piece: object, finish_reason: string | null = null) => ({
  ...chatHead,
  choices: [{ index: 0, delta: piece, finish_reason }],
});
const calledIn = (index: number, id: string) => ({
  tool_calls: [{ index, id, type: "function", function: { name: "look", arguments: `{"a":${index + 1}}` } }],
});
const [prompted, used] = [{ prompt_tokens: 7 }, { completion_tokens: 3, total_tokens: 10 }];

describe.each([true, false])("in place of a message's, asked for as a stream: %s", (stream) => {
  const ofChat = [
    chunk({ role: "assistant", content: "", reasoning_content: "Hm." }),
    ...[chunk({ content: "the quick " }), chunk({ content: "brown fox" }), chunk({}, "length")],
    { ...chatHead, choices: [], usage: { ...prompted, ...used } },
  ];
  const { "the Responses API's": ofResponses, "Cohere's": ofCohere } = eventStreams;
  test.each([
    ["a chat's", ofChat],
    ["the Responses API's", ofResponses],
    ["Cohere's", ofCohere],
    ["Gemini's", streams["Gemini's"]],
  ])("%s events are told and charged", async (_, events) => {
    upstream.script = (exchange) => exchange.stream(...events);
    for (const family of families) {
      const payer = await openAccount(gateway, { postpaid: true });
      const { status, text } = await call(gateway, { family, model: "claude", stream, apiKey: payer.apiKey });
      expect(status, text).toBe(200);
      if (stream) expect(text).toMatch(/"the quick ".*"brown fox"/s);
      else expect(text).toContain(said);
      expect(text).toContain("Hm.");
      if (family === "messages" && events === ofChat) expect(text).toContain('"stop_reason":"max_tokens"');
      const [row] = (await books.of(payer)).requests;
      expect([row?.input, row?.output], family).toEqual([7, 3]);
    }
  });

  test.each([
    ["a chat's stream", [chunk(calledIn(0, "t1")), chunk(calledIn(1, "t2")), chunk({}, "tool_calls")]],
    ["the Responses API's stream", callStreams["the Responses API's"]],
  ])("calls of %s are told apart", async (_, events) => {
    upstream.script = (exchange) => exchange.stream(...events);
    const more = { tools: toolsOf.messages };
    const asked = { family: "messages", model: "claude", stream, apiKey: gateway.apiKey, more } as const;
    const { status, text } = await call(gateway, asked);
    expect(status, text).toBe(200);
    expect(text.match(/"type":"tool_use"/g)).toHaveLength(2);
    expect(text).toContain('"stop_reason":"tool_use"');
    for (const a of [1, 2]) expect(text.replaceAll("\\", "")).toContain(`"a":${a}`);
  });

  test.each(Object.entries({ "a chat's": chatAnswer(), ...texts }))(
    "%s whole text is told and charged",
    async (_, answer) => {
      upstream.script = (exchange) => exchange.json(200, answer);
      for (const family of families) {
        const payer = await openAccount(gateway, { postpaid: true });
        const { status, text } = await call(gateway, { family, model: "claude", stream, apiKey: payer.apiKey });
        expect(status, text).toBe(200);
        expect(text).toContain(said);
        const [row] = (await books.of(payer)).requests;
        expect([row?.input, row?.output], family).toEqual([7, 3]);
      }
    },
  );

  test("a chat that ends by a failure is not told as whole", async () => {
    upstream.script = (exchange) => exchange.stream(chunk({ content: "the" }), chunk({}, "error"));
    const asked = { family: "messages", model: "claude", stream, apiKey: gateway.apiKey } as const;
    const { status, text } = await call(gateway, asked);
    expect(stream ? text : String(status)).toMatch(stream ? /"error"/ : "502");
    expect(text).not.toContain("message_stop");
  });
});

describe.each([true, false])("a chat in place of a response, asked for as a stream: %s", (stream) => {
  const ofChat = [
    chunk({ role: "assistant", content: "", reasoning_content: "Hm." }),
    ...[chunk({ content: "the quick " }), chunk({ content: "brown fox" }), chunk({}, "length")],
    { ...chatHead, choices: [], usage: { ...prompted, ...used } },
  ];
  const asked = { model: "responder", stream } as const;

  test.each([true, false])("is told and charged, sent as a stream: %s", async (isStream) => {
    upstream.script = (exchange) => (isStream ? exchange.stream(...ofChat) : exchange.json(200, chatAnswer()));
    for (const family of families) {
      const payer = await openAccount(gateway, { postpaid: true });
      const { status, text } = await call(gateway, { ...asked, family, apiKey: payer.apiKey });
      expect(status, text).toBe(200);
      expect(text).toContain(isStream && stream ? "brown fox" : said);
      if (isStream) expect(text).toContain("Hm.");
      const [row] = (await books.of(payer)).requests;
      expect([row?.input, row?.output], family).toEqual([7, 3]);
      expect(upstream.received.at(-1)?.path).toMatch(/\/responses$/);
      if (family !== "responses") continue;
      expect(text).toContain(isStream ? '"status":"incomplete"' : '"status":"completed"');
      if (isStream) expect(text).toContain('"reason":"max_output_tokens"');
      expect(text).toMatch(/"input_tokens":7.*"output_tokens":3/s);
    }
  });

  test("that calls tools in turns tells them apart", async () => {
    const pieces = [
      ...[chunk({ content: "I look." }), chunk(calledIn(0, "t1")), chunk(calledIn(1, "t2"))],
      ...[chunk({}, "tool_calls"), { ...chatHead, choices: [], usage: used }],
    ];
    upstream.script = (exchange) => exchange.stream(...pieces);
    const more = { tools: toolsOf.responses };
    const { status, text } = await call(gateway, { ...asked, family: "responses", apiKey: gateway.apiKey, more });
    expect(status, text).toBe(200);
    for (const id of ["t1", "t2"]) expect(text).toContain(`"call_id":"${id}"`);
    for (const a of [1, 2]) expect(text.replaceAll("\\", "")).toContain(`"arguments":"{"a":${a}}"`);
    if (!stream) return;
    const types = [...text.matchAll(/^event: (.*)$/gm)].map(([, type]) => type);
    expect(types.filter((type) => type === "response.output_item.added")).toHaveLength(3);
    expect(types.filter((type) => type === "response.output_item.done")).toHaveLength(3);
    expect(types.at(-1)).toBe("response.completed");
  });

  test.each([
    ["ends by a failure", [chunk({ content: "the" }), chunk({}, "error")]],
    ["breaks off", [chunk({ content: "the" })]],
  ])("that %s is not told as whole", async (_, pieces) => {
    upstream.script = async (exchange) => {
      exchange.head(200, { "content-type": "text/event-stream" });
      exchange.end(pieces.map((piece) => `data: ${JSON.stringify(piece)}\n\n`).join(""));
    };
    const { status, text } = await call(gateway, { ...asked, family: "responses", apiKey: gateway.apiKey });
    expect(stream ? text : String(status)).toMatch(stream ? /"error"/ : "502");
    expect(text).not.toContain("response.completed");
  });
});

function chatAnswer() {
  const message = { role: "assistant", content: said };
  const choices = [{ index: 0, message, finish_reason: "stop" }];
  return { ...chatHead, object: "chat.completion", choices, usage: { ...prompted, ...used } };
}

function failedResponse() {
  return of("response.failed", { response: { ...responded, status: "failed", error: { message: "out of luck" } } });
}

const streamedCalls = {
  "Ollama's": [
    {
      message: { role: "assistant", content: "", tool_calls: [{ function: { name: "look", arguments: { a: 1 } } }] },
      done: false,
    },
    {
      message: { role: "assistant", content: "", tool_calls: [{ function: { name: "look", arguments: { a: 2 } } }] },
      done: false,
    },
    { message: { role: "assistant", content: "" }, done: true, done_reason: "stop" },
  ],
  "Gemini's": [
    { candidates: [{ content: { parts: [{ functionCall: { name: "look", args: { a: 1 } } }] } }] },
    {
      candidates: [{ content: { parts: [{ functionCall: { name: "look", args: { a: 2 } } }] }, finishReason: "STOP" }],
    },
  ],
};

/** sendStream sends pieces as their maker does: Gemini in events, Ollama's own API one a line. */
function sendStream(exchange: ScriptedExchange, pieces: readonly object[], maker: string): void {
  const isOfEvents = maker === "Gemini's";
  exchange.head(200, { "content-type": isOfEvents ? "text/event-stream" : "application/x-ndjson" });
  const texts = pieces.map((piece) => JSON.stringify(piece));
  exchange.end(texts.map((text) => (isOfEvents ? `data: ${text}\n\n` : `${text}\n`)).join(""));
}

describe.each([true, false])("signed thinking in place of a chat's, asked for as a stream: %s", (stream) => {
  const block = { type: "thinking", thinking: "Hm.", signature: "c2ln" };
  const whole = { ...texts["Anthropic's"], content: [block, { type: "text", text: said }] };

  test.each([true, false])("keeps its signature, sent as a stream: %s", async (isStream) => {
    const events = eventStreams["Anthropic's"];
    upstream.script = (exchange) => (isStream ? exchange.stream(...events) : exchange.json(200, whole));
    for (const family of ["chat", "messages"] as const) {
      const { status, text } = await call(gateway, { family, model: "gpt", stream, apiKey: gateway.apiKey });
      expect(status, text).toBe(200);
      expect(text).toContain("Hm.");
      if (family === "chat") expect(text).toContain(`"thinking_blocks":[${JSON.stringify(block)}]`);
    }
  });
});

describe.each(ways)("a stream to $model, asked for: $stream", ({ model, stream }) => {
  test.each(Object.entries(streams))("%s text is told piece by piece and charged", async (maker, pieces) => {
    upstream.script = (exchange) => sendStream(exchange, pieces, maker);
    for (const family of families) {
      const payer = await openAccount(gateway, { postpaid: true });
      const { status, text } = await call(gateway, { family, model, stream, apiKey: payer.apiKey });
      expect(status, text).toBe(200);
      if (stream) expect(text).toMatch(/"the quick ".*"brown fox"/s);
      else expect(text).toContain(said);
      expect(text).toContain("Hm.");
      if (family === "chat") expect(new Set(text.match(/chatcmpl-\w+/g)).size).toBe(1);
      const [row] = (await books.of(payer)).requests;
      expect([row?.input, row?.output], family).toEqual([7, 3]);
    }
  });

  test("Cohere's first text is told piece by piece and charged", async () => {
    upstream.script = (exchange) => sendStream(exchange, firstCohere.text, "Cohere's");
    for (const family of families) {
      const payer = await openAccount(gateway, { postpaid: true });
      const { status, text } = await call(gateway, { family, model, stream, apiKey: payer.apiKey });
      expect(status, text).toBe(200);
      if (stream) expect(text).toMatch(/"the quick ".*"brown fox"/s);
      else expect(text).toContain(said);
      const [row] = (await books.of(payer)).requests;
      expect([row?.input, row?.output], family).toEqual([7, 3]);
    }
  });

  test("Cohere's first calls of tools are told apart", async () => {
    upstream.script = (exchange) => sendStream(exchange, firstCohere.calls, "Cohere's");
    for (const family of families) {
      const more = { tools: toolsOf[family] };
      const { status, text } = await call(gateway, { family, model, stream, apiKey: gateway.apiKey, more });
      expect(status, text).toBe(200);
      for (const a of [1, 2]) expect(text, family).toMatch(new RegExp(`\\\\?"a\\\\?":${a}`));
      if (family === "chat") expect(text).toContain('"finish_reason":"tool_calls"');
    }
  });

  test.each(Object.entries(streamedCalls))("%s calls of tools are told apart", async (maker, pieces) => {
    upstream.script = (exchange) => sendStream(exchange, pieces, maker);
    for (const family of families) {
      const more = { tools: toolsOf[family] };
      const { status, text } = await call(gateway, { family, model, stream, apiKey: gateway.apiKey, more });
      expect(status, text).toBe(200);
      for (const a of [1, 2]) expect(text, family).toMatch(new RegExp(`\\\\?"a\\\\?":${a}`));
      if (family === "chat") expect(new Set(text.match(/"call_[^"]*"/g)).size).toBe(2);
    }
  });

  test.each([
    ["one that stops before its end", streams["Ollama's"].slice(0, 3)],
    [
      "one that ends by a failure",
      [...streams["Ollama's"].slice(0, 3), { message: {}, done: true, done_reason: "error" }],
    ],
  ])("%s is not told as whole", async (_, pieces) => {
    upstream.script = (exchange) => sendStream(exchange, pieces, "Ollama's");
    const { status, text } = await call(gateway, { family: "chat", model, stream, apiKey: gateway.apiKey });
    expect(stream ? text : String(status)).toMatch(stream ? /"error"/ : "502");
  });
});
