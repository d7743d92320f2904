/** What a chat model says reaches callers of other families in whichever member and form its server has it, and is counted. */
import { describe, expect, test } from "vitest";
import { call } from "../support/clients/families.ts";
import { openAccount } from "../support/payer.ts";
import { scriptedStage } from "../support/upstreams/scripted-stage.ts";
import { chatAnswer, chatChunk } from "../support/vendors.ts";

type Json = Readonly<Record<string, unknown>>;

const { upstream, gateway, books } = scriptedStage();

const words = "the quick brown fox jumps over the lazy dog";

const messages: Readonly<Record<string, Json>> = {
  "reasoning beside an empty member for it": { reasoning_content: "", reasoning: words },
  "GitHub Copilot's reasoning": { reasoning_text: words, content: "" },
  "one part instead of a list": { content: { type: "text", text: words } },
  "reasoning in details alone": { reasoning_details: [{ type: "reasoning.text", text: words, index: 0 }] },
  "JSON that its server has parsed": { content: { answer: words } },
  "Ollama's own name for reasoning": { thinking: words, content: "" },
  "a proxy's name for reasoning": { thinking_content: words },
  "reasoning in an object": { reasoning: { text: words }, content: "" },
  "reasoning in a list": { reasoning: [{ type: "reasoning.text", text: words }] },
  "a part of reasoning with a text": { content: [{ type: "reasoning", text: words }] },
  "Databricks' part of reasoning": {
    content: [{ type: "reasoning", summary: [{ type: "summary_text", text: words, signature: "s" }] }],
  },
  "words that are spoken": { content: null, audio: { id: "a", data: "AAAA", transcript: words } },
  "a list of texts": { content: ["the quick brown ", "fox jumps over the lazy dog"] },
};

describe.each([false, true])("stream: %s", (stream) => {
  test.each(Object.entries(messages))("%s is told", async (_, message) => {
    const usage = undefined;
    upstream.script = (exchange) =>
      stream
        ? exchange.stream(chatChunk(message), chatChunk({}, "stop"))
        : exchange.json(200, chatAnswer(message, "stop", { usage }));
    for (const family of ["messages", "responses"] as const) {
      const payer = await openAccount(gateway, { postpaid: true });
      const answer = await call(gateway, { family, model: "gpt", stream, apiKey: payer.apiKey });
      expect(answer.status, answer.text).toBe(200);
      expect(answer.text).toContain("fox jumps over the lazy dog");
      const [row] = (await books.of(payer)).requests;
      // The upstream reported no usage: the gateway has counted the words.
      expect(row?.output, family).toBeGreaterThan(5);
    }
  });

  test("a number that its server has parsed is told", async () => {
    upstream.script = (exchange) =>
      stream
        ? exchange.stream(chatChunk({ content: 42 }), chatChunk({}, "stop"))
        : exchange.json(200, chatAnswer({ content: 42 }, "stop"));
    for (const family of ["messages", "responses"] as const) {
      const answer = await call(gateway, { family, model: "gpt", stream, apiKey: gateway.apiKey });
      expect(answer.text).toContain('"text":"42"');
    }
  });

  test("the text of a completion is that of a chat", async () => {
    const choice = { index: 0, text: words, finish_reason: "stop" };
    upstream.script = (exchange) =>
      stream
        ? exchange.stream({ ...chatChunk({}), choices: [choice] })
        : exchange.json(200, chatAnswer({}, "stop", { choices: [choice] }));
    for (const family of ["messages", "responses"] as const) {
      const answer = await call(gateway, { family, model: "gpt", stream, apiKey: gateway.apiKey });
      expect(answer.text).toContain(words);
    }
  });

  test.each([1, null, "0"])("a choice whose index is %j is the first", async (index) => {
    const choice = (more: Json) => ({ index, finish_reason: "stop", ...more });
    upstream.script = (exchange) =>
      stream
        ? exchange.stream({ ...chatChunk({}), choices: [choice({ delta: { content: words } })] })
        : exchange.json(200, chatAnswer({}, "stop", { choices: [choice({ message: { content: words } })] }));
    for (const family of ["messages", "responses"] as const) {
      const answer = await call(gateway, { family, model: "gpt", stream, apiKey: gateway.apiKey });
      expect([answer.status, answer.text]).toEqual([200, expect.stringContaining(words)]);
    }
  });
});

test("a choice that has an index in one chunk and none in another ends once", async () => {
  const choice = (more: Json) => ({ ...chatChunk({}), choices: [more] });
  upstream.script = (exchange) =>
    exchange.stream(
      choice({ index: null, delta: { content: "Hello" }, finish_reason: null }),
      choice({ index: 0, delta: {}, finish_reason: "stop" }),
    );
  const { text } = await call(gateway, { family: "chat", model: "gpt", stream: true, apiKey: gateway.apiKey });
  expect(text.split('"finish_reason":"stop"').length).toBe(2);
});
