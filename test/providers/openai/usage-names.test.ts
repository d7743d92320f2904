/** Usage by the names of other APIs, and of servers that report it elsewhere. */
import { expect, test } from "vitest";
import { ChatUsageReader } from "../../../src/providers/usage/chat-counts.ts";
import { MessageUsageReader } from "../../../src/providers/usage/message-counts.ts";

const read = (json: object) => {
  const reader = new ChatUsageReader();
  reader.take(json as never);
  return reader.reported;
};

test.each([
  { usage: { promptTokens: 50, completionTokens: 9, totalTokens: 59 } },
  { usage: { inputTokens: 50, outputTokens: 9 } },
  { usage: { promptTokenCount: 50, candidatesTokenCount: 9, totalTokenCount: 59 } },
  { timings: { prompt_n: 50, predicted_n: 9 } },
  { prompt_eval_count: 50, eval_count: 9, eval_duration: 12 },
  { usage: null, usageMetadata: { promptTokenCount: 50, candidatesTokenCount: 9 } },
  { "amazon-bedrock-invocationMetrics": { inputTokenCount: 50, outputTokenCount: 9, invocationLatency: 1 } },
  { meta: { tokens: { input_tokens: 60, output_tokens: 9 }, billed_units: { input_tokens: 50, output_tokens: 9 } } },
  { meta: { billed_units: {}, tokens: { input_tokens: 50, output_tokens: 9 } } },
  { usage: { billed_units: { input_tokens: 50, output_tokens: 9 }, tokens: { input_tokens: 60, output_tokens: 9 } } },
])("is read from %j", (json) => {
  expect(read({ choices: [], ...json })).toMatchObject({ input: 50, cacheRead: 0, output: 9 });
});

test.each([
  { prompt_eval_count: 50, total_duration: 14143917 },
  { meta: { api_version: { version: "2" }, billed_units: { input_tokens: 50 } } },
  { meta: { billed_units: { input_tokens: 10, image_tokens: 40 } } },
  { inputTextTokenCount: 50 },
  { usage: { total_tokens: 50 } },
])("is read of vectors from %j", (json) => {
  expect(read({ object: "list", data: [], ...json })).toMatchObject({ input: 50, output: undefined });
});

test("vLLM counts what it writes to its cache, and media of the prompt, by names of its own", () => {
  const details = { cached_tokens: 10, created_cache_tokens: 30, multimodal_tokens: { image: 4, audio: 2, video: 1 } };
  const usage = { prompt_tokens: 50, completion_tokens: 9, total_tokens: 59, prompt_tokens_details: details };
  expect(read({ choices: [], usage })).toMatchObject({
    ...{ input: 10, cacheRead: 10, cacheWrite: 30, output: 9 },
    ...{ inputImage: 4, inputAudio: 2 },
  });
});

test("counts elsewhere are not where callers read them, and usage wins over them", () => {
  expect(read({ data: [], prompt_eval_count: 50 })).toMatchObject({ isElsewhere: true });
  expect(read({ data: [], usage: { billed_units: { input_tokens: 50 } } })).toMatchObject({ isElsewhere: true });
  expect(read({ data: [], usage: { prompt_tokens: 7, total_tokens: 7 }, prompt_eval_count: 50 }).input).toBe(7);
  expect(read({ data: [], meta: { billed_units: { search_units: 1 } } }).input).toBeUndefined();
  expect(read({ data: [], prompt_eval_count: -1, meta: "none", timings: null }).input).toBeUndefined();
});

test("the timings of llama.cpp leave out what came from its cache", () => {
  expect(read({ choices: [], timings: { prompt_n: 10, cache_n: 40, predicted_n: 9 } })).toMatchObject({
    ...{ input: 10, cacheRead: 40, output: 9 },
  });
});

test("a usage beside timings stands, and the usual names win", () => {
  const usage = { prompt_tokens: 50, completion_tokens: 9, promptTokens: 1, completionTokens: 1 };
  expect(read({ choices: [], usage, timings: { prompt_n: 1, predicted_n: 1 } })).toMatchObject({
    input: 50,
    output: 9,
  });
});

test("a prompt of no tokens is an unreported one", () => {
  const usage = { prompt_tokens: 0, completion_tokens: 3, total_tokens: 3 };
  expect(read({ choices: [], usage })).toMatchObject({ input: undefined, output: 3 });
});

test("audio that stands beside the prompt is input, not reasoning", () => {
  const usage = { prompt_tokens: 12, completion_tokens: 40, total_tokens: 402 };
  const details = { cached_tokens: 8, audio_tokens: 350 };
  expect(read({ choices: [], usage: { ...usage, prompt_tokens_details: details } })).toMatchObject({
    ...{ input: 354, cacheRead: 8, output: 40, reasoning: 0, inputAudio: 350 },
  });
});

test("audio within the prompt leaves the rest to reasoning", () => {
  const usage = { prompt_tokens: 400, completion_tokens: 40, total_tokens: 470 };
  expect(read({ choices: [], usage: { ...usage, prompt_tokens_details: { audio_tokens: 350 } } })).toMatchObject({
    ...{ input: 400, output: 70, reasoning: 30, inputAudio: 350 },
  });
});

test("Perplexity's searches are read", () => {
  const usage = { prompt_tokens: 5, completion_tokens: 3, total_tokens: 8, num_search_queries: 18 };
  expect(read({ choices: [], usage })).toMatchObject({ input: 5, output: 3, searches: 18 });
});

test("an Anthropic server may count by the names of chat", () => {
  const reader = new MessageUsageReader();
  reader.take({ prompt_tokens: 50, completion_tokens: 9 });
  expect(reader.reported).toMatchObject({ input: 50, output: 9 });
});

test("what such a server read from its cache is no input of full price", () => {
  const reader = new MessageUsageReader();
  reader.take({ prompt_tokens: 50, completion_tokens: 9, prompt_tokens_details: { cached_tokens: 30 } });
  expect(reader.reported).toMatchObject({ input: 20, cacheRead: 30, output: 9 });
});

test("no input at all is an unreported one, also in Anthropic's words", () => {
  const reader = new MessageUsageReader();
  reader.take({ input_tokens: 0, output_tokens: 0 });
  expect(reader.reported.input).toBeUndefined();
  reader.take({ input_tokens: 14, output_tokens: 3 });
  expect(reader.reported).toMatchObject({ input: 14, output: 3 });
});

test.each<[string, object]>([
  ["an input", { prompt_tokens: 9.5, completion_tokens: 4, total_tokens: 5_000 }],
  ["an output", { prompt_tokens: 9, completion_tokens: -4, total_tokens: 5_000 }],
])("%s that is no count does not follow from the total", (part, usage) => {
  const { input, output, isBroken } = read({ choices: [], usage });
  expect([input, output, isBroken]).toEqual(part === "an input" ? [undefined, 4, true] : [9, undefined, true]);
});

test("a text in the place of a count does, and stays where it was told", () => {
  const { isElsewhere, ...reported } = read({ usage: { prompt_tokens: 9, completion_tokens: "4", total_tokens: 13 } });
  expect(reported).toMatchObject({ input: 9, output: 4, isBroken: true });
  expect(isElsewhere).toBeUndefined();
});

test.each<[string, object, true | undefined]>([
  ["as callers read it", { usage: { prompt_tokens: 9, completion_tokens: 4 } }, undefined],
  ["by other names", { usage: { promptTokens: 9, completionTokens: 4 } }, true],
  ["in part by other names", { usage: { prompt_tokens: 9, total_tokens: 13 } }, true],
  ["beside the answer's usage", { timings: { prompt_n: 9, predicted_n: 4 } }, true],
  ["in a choice", { choices: [{ usage: { prompt_tokens: 9, completion_tokens: 4 } }] }, true],
  ["beside an empty usage", { usage: {}, x_groq: { usage: { prompt_tokens: 9, completion_tokens: 4 } } }, true],
  [
    "beside zeros",
    {
      usage: { prompt_tokens: 0, completion_tokens: 0 },
      x_groq: { usage: { prompt_tokens: 9, completion_tokens: 4 } },
    },
    true,
  ],
])("is said to be elsewhere where no caller reads it: %s", (_, json, isElsewhere) => {
  expect(read({ choices: [], ...json })).toMatchObject({ input: 9, output: 4 });
  expect(read({ choices: [], ...json }).isElsewhere).toBe(isElsewhere);
});

test("is no longer elsewhere once it was told where callers read it", () => {
  const reader = new ChatUsageReader();
  reader.take({ choices: [{ usage: { prompt_tokens: 9, completion_tokens: 4 } }] });
  reader.take({ choices: [], usage: { prompt_tokens: 9, completion_tokens: 4 } });
  expect(reader.reported.isElsewhere).toBeUndefined();
});

test("an Anthropic server that counts by the names of chat alone says it elsewhere", () => {
  const reader = new MessageUsageReader();
  reader.take({ input_tokens: 50, prompt_tokens: 50, output_tokens: 9 });
  expect(reader.reported.isElsewhere).toBeUndefined();
  reader.take({ completion_tokens: 12 });
  expect(reader.reported).toMatchObject({ output: 12, isElsewhere: true });
});
