/**
 * Text completions on a chat model of an OpenAI-compatible upstream are sent as the operator chose: as a
 * conversation, which every chat model takes, or to the upstream's own endpoint, which not every upstream has.
 */
import { describe, expect, test } from "vitest";
import { ask, eventsIn } from "../../support/ask.ts";
import { modelAt, upstreamAt } from "../../support/gateway.ts";
import { eventStream } from "../../support/scripted-upstream.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";
import { answerAsOpenAi, chatAnswer, chatChunk, completionPiece } from "../../support/vendors.ts";

const { upstream, gateway } = scriptedStage(
  (baseUrl) => ({
    ...upstreamAt(baseUrl),
    models: [
      modelAt("far", "silent"),
      modelAt("far", "as-chat", "as-chat", { completions: "chat" }),
      modelAt("far", "native", "native", { completions: "native" }),
    ],
  }),
  { script: answerAsOpenAi },
);

async function complete(model: string, stream: boolean): Promise<string> {
  const body = { model, prompt: "Say hello", max_tokens: 5, stream };
  const { status, text } = await ask(gateway, "/v1/completions", body);
  expect(status).toBe(200);
  expect(text.replace(/"text":"lo"/, "")).toMatch(/"text":"Hel(lo)?"/);
  return upstream.received.at(-1)?.path ?? "";
}

test.each([false, true])("by default and with `chat` they are a conversation (streamed: %s)", async (stream) => {
  expect(await complete("silent", stream)).toBe("/v1/chat/completions");
  expect(await complete("as-chat", stream)).toBe("/v1/chat/completions");
});

test.each([false, true])("with `native` they go to the upstream's own endpoint (streamed: %s)", async (stream) => {
  expect(await complete("native", stream)).toBe("/v1/completions");
});

test.each([false, true])("with `native` a server that answers as to a chat is read (streamed: %s)", async (stream) => {
  const text = "one two three";
  upstream.script = (exchange) => {
    if (stream)
      exchange.stream(
        chatChunk({ role: "assistant" }),
        chatChunk({ content: text }),
        chatChunk({ content: " more" }),
        chatChunk({}, "stop"),
      );
    else exchange.json(200, chatAnswer({ content: text }));
  };
  const told = await ask(gateway, "/v1/completions", { model: "native", prompt: "Count", stream });
  expect(told.status).toBe(200);
  expect(told.text).toContain(`"text":"${text}"`);
  expect(told.text).toContain('"object":"text_completion"');
  expect(told.text.includes('"text":" more"')).toBe(stream);
  expect(told.text).not.toMatch(/"(?:message|delta)"/);
});

const natives: Readonly<Record<string, readonly [whole: object, ...pieces: object[]]>> = {
  "llama.cpp's own completion": [
    { content: "one two", stop: true, stop_type: "eos", tokens_predicted: 2, tokens_evaluated: 5, prompt: "Count" },
    { content: "one", stop: false },
    { content: " two", stop: false },
    { content: "", stop: true, stop_type: "eos", tokens_predicted: 2, tokens_evaluated: 5 },
  ],
  "text-generation-inference's": [
    { generated_text: "one two", details: { finish_reason: "length", generated_tokens: 2 } },
    { token: { id: 1, text: "one", special: false }, generated_text: null, details: null },
    {
      token: { id: 2, text: " two" },
      generated_text: "one two",
      details: { finish_reason: "length", generated_tokens: 2 },
    },
  ],
  "Ollama's": [
    { model: "m", response: "one two", done: true, done_reason: "stop", prompt_eval_count: 5, eval_count: 2 },
    { model: "m", response: "one", done: false },
    { model: "m", response: " two", done: false },
    { model: "m", response: "", done: true, done_reason: "stop", prompt_eval_count: 5, eval_count: 2 },
  ],
};

describe.each(Object.entries(natives))("with `native` %s", (_, [whole, ...pieces]) => {
  test("is a text", async () => {
    upstream.script = (exchange) => exchange.json(200, whole);
    const { status, text } = await ask(gateway, "/v1/completions", { model: "native", prompt: "Count" });
    expect([status, JSON.parse(text)]).toMatchObject([
      200,
      { object: "text_completion", choices: [{ index: 0, text: "one two", finish_reason: expect.any(String) }] },
    ]);
    expect(text).not.toMatch(/"message"/);
  });

  test("is a streamed text", async () => {
    upstream.script = (exchange) => {
      exchange.head(200, eventStream);
      exchange.end(pieces.map((piece) => `data: ${JSON.stringify(piece)}\n\n`).join(""));
    };
    const usage = { stream_options: { include_usage: true } };
    const asked = { model: "native", prompt: "Count", stream: true, ...usage };
    const { status, text } = await ask(gateway, "/v1/completions", asked);
    const frames = eventsIn(text);
    expect(status).toBe(200);
    expect(frames.map((frame) => frame?.choices?.[0]?.text ?? "").join("")).toBe("one two");
    expect(text).toMatch(/"finish_reason":"(?:stop|length)"/);
    expect(frames.at(-1)).toMatchObject({ object: "text_completion", choices: [], usage: { completion_tokens: 2 } });
    expect(text).toContain("data: [DONE]");
    expect(text).not.toMatch(/"(?:message|delta)"|chat\.completion/);
  });
});

test("with `native` a streamed choice that is none, or a text that is none, costs nothing but itself", async () => {
  const pieces = ["one", 2, null, { a: 1 }].map((text) => ({
    ...completionPiece(""),
    choices: [null, { index: 0, text }],
  }));
  upstream.script = (exchange) => exchange.stream(...pieces, completionPiece("", "stop"));
  const { text } = await ask(gateway, "/v1/completions", { model: "native", prompt: "Count", stream: true });
  expect(eventsIn(text).flatMap(({ choices }) => choices.map(({ text }: { text: string }) => text))).toEqual([
    "one",
    "2",
    "",
    "",
    "",
  ]);
});
