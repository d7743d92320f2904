/** Answers of other APIs in place of a chat's are told to callers of all families, and charged by the usage that they tell. */
import { describe, expect, test } from "vitest";
import { call } from "../../support/clients/families.ts";
import { openAccount } from "../../support/payer.ts";
import type { ScriptedExchange } from "../../support/scripted-upstream.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";

const { upstream, gateway, books } = scriptedStage();

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
};

const parameters = { type: "object", properties: {} };
const toolsOf = {
  chat: [{ type: "function", function: { name: "look", parameters } }],
  messages: [{ name: "look", input_schema: parameters }],
  responses: [{ type: "function", name: "look", parameters }],
} as const;
const families = ["chat", "messages", "responses"] as const;

describe.each([false, true])("stream: %s", (stream) => {
  test.each(Object.entries(texts))("%s text is told and charged", async (_, answer) => {
    upstream.script = (exchange) => exchange.json(200, answer);
    for (const family of families) {
      const payer = await openAccount(gateway, { postpaid: true });
      const { status, text } = await call(gateway, { family, model: "gpt", stream, apiKey: payer.apiKey });
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
      const { status, text } = await call(gateway, { family, model: "gpt", stream, apiKey: gateway.apiKey, more });
      expect(status, text).toBe(200);
      expect(text).toMatch(/"name":"look"/);
      expect(text).toMatch(/\\?"a\\?":1/);
      if (family === "chat") expect(text).toMatch(/"id":"(call_|t1)[^"]*".*"finish_reason":"tool_calls"/s);
    }
  });

  test.each([
    ["nothing said", { candidates: [{ content: { parts: [] }, finishReason: "STOP" }] }],
    ["an error", { error: "overloaded", message: { role: "assistant", content: "x" } }],
    ["a message that is none", { message: { text: "x" } }],
  ])("%s is no answer, and not charged", async (_, answer) => {
    upstream.script = (exchange) => exchange.json(200, answer);
    const payer = await openAccount(gateway, { postpaid: true });
    const { status } = await call(gateway, { family: "chat", model: "gpt", stream, apiKey: payer.apiKey });
    expect(status).toBe(502);
    expect((await books.of(payer)).requests.every(({ cost }) => Number(cost) === 0)).toBe(true);
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

describe.each([true, false])("a stream, asked for: %s", (stream) => {
  test.each(Object.entries(streams))("%s text is told piece by piece and charged", async (maker, pieces) => {
    upstream.script = (exchange) => sendStream(exchange, pieces, maker);
    for (const family of families) {
      const payer = await openAccount(gateway, { postpaid: true });
      const { status, text } = await call(gateway, { family, model: "gpt", stream, apiKey: payer.apiKey });
      expect(status, text).toBe(200);
      if (stream) expect(text).toMatch(/"the quick ".*"brown fox"/s);
      else expect(text).toContain(said);
      expect(text).toContain("Hm.");
      if (family === "chat") expect(new Set(text.match(/chatcmpl-\w+/g)).size).toBe(1);
      const [row] = (await books.of(payer)).requests;
      expect([row?.input, row?.output], family).toEqual([7, 3]);
    }
  });

  test.each(Object.entries(streamedCalls))("%s calls of tools are told apart", async (maker, pieces) => {
    upstream.script = (exchange) => sendStream(exchange, pieces, maker);
    for (const family of families) {
      const more = { tools: toolsOf[family] };
      const { status, text } = await call(gateway, { family, model: "gpt", stream, apiKey: gateway.apiKey, more });
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
    const { status, text } = await call(gateway, { family: "chat", model: "gpt", stream, apiKey: gateway.apiKey });
    expect(stream ? text : String(status)).toMatch(stream ? /"error"/ : "502");
  });
});
