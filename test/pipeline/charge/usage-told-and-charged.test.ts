/**
 * The usage that a translated answer reports is what its call is charged for: for every form in which vendors report it, in every
 * family, unary and streamed. Upstreams are real sockets, and the charge is read from the database.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { eventsOf } from "../../support/clients/endpoints.ts";
import { openAccount } from "../../support/payer.ts";
import { eventStream } from "../../support/scripted-upstream.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";
import {
  anthropicFrames,
  blockEvents,
  chatAnswer,
  chatChunk,
  done,
  messageAnswer,
  messageEnd,
  openaiFrames,
} from "../../support/vendors.ts";

type Json = Readonly<Record<string, unknown>>;

/** Disjoint parts, but for the reasoning, which is in the output. */
interface Parts {
  readonly input: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly output: number;
  readonly reasoning: number;
}

const { upstream, gateway, books } = scriptedStage();

const none: Parts = { input: 0, cacheRead: 0, cacheWrite: 0, output: 0, reasoning: 0 };
const messages = [{ role: "user", content: "hi" }];

type Family = "chat" | "completions" | "messages" | "responses";

const families: Readonly<Record<Family, readonly [path: string, body: Json]>> = {
  chat: ["/chat/completions", { messages, max_tokens: 50_000, stream_options: { include_usage: true } }],
  completions: ["/completions", { prompt: "hi", max_tokens: 50_000, stream_options: { include_usage: true } }],
  messages: ["/messages", { messages, max_tokens: 50_000 }],
  responses: ["/responses", { input: "hi", max_output_tokens: 50_000, store: false }],
};

/** The usage that a family reports, in parts. */
function partsTold(family: Family, usage: Json): Parts {
  const count = (...path: string[]) =>
    path.reduce<unknown>((at, key) => (at as Json | null | undefined)?.[key], usage) as number | undefined;
  if (family === "messages")
    return {
      input: count("input_tokens") ?? 0,
      cacheRead: count("cache_read_input_tokens") ?? 0,
      cacheWrite: count("cache_creation_input_tokens") ?? 0,
      output: count("output_tokens") ?? 0,
      reasoning: count("output_tokens_details", "thinking_tokens") ?? 0,
    };
  const [input, output] = family === "responses" ? ["input", "output"] : ["prompt", "completion"];
  const [sent, came] = [count(`${input}_tokens`) ?? 0, count(`${output}_tokens`) ?? 0];
  expect(count("total_tokens")).toBe(sent + came);
  const cacheRead = count(`${input}_tokens_details`, "cached_tokens") ?? 0;
  const cacheWrite = count(`${input}_tokens_details`, "cache_write_tokens") ?? 0;
  const reasoning = count(`${output}_tokens_details`, "reasoning_tokens") ?? 0;
  return { input: sent - cacheRead - cacheWrite, cacheRead, cacheWrite, output: came, reasoning };
}

function usageIn(family: Family, text: string, stream: boolean): Json {
  if (!stream) return (JSON.parse(text) as { usage?: Json }).usage ?? {};
  const events = eventsOf(Buffer.from(text)).flatMap(({ data }) =>
    `${data}` === "[DONE]" ? [] : [JSON.parse(`${data}`)],
  );
  if (family === "messages") return events.find(({ type }) => type === "message_delta").usage;
  if (family === "responses") return events.at(-1).response.usage;
  return events.findLast(({ usage }) => usage)?.usage ?? {};
}

/** Makes a call, and returns the usage of its answer and of its row. */
async function toldAndCharged(model: string, family: Family, stream: boolean): Promise<readonly [Parts, Parts]> {
  const payer = await openAccount(gateway, { postpaid: true });
  const [path, body] = families[family];
  const { stream_options, ...plain } = body;
  const response = await fetch(`${gateway.baseUrl}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${payer.apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({ model, stream, ...plain, ...(stream && stream_options ? { stream_options } : {}) }),
  });
  const text = await response.text();
  expect(response.status, text).toBe(200);
  const [row] = (await books.of(payer)).requests;
  if (!row) throw new Error("the call is not in the books");
  const { input, cache_read, cache_write, output, reasoning } = row;
  const charged = { input, cacheRead: cache_read, cacheWrite: cache_write, output, reasoning };
  return [partsTold(family, usageIn(family, text, stream)), charged];
}

/** Where an upstream of OpenAI's dialect puts its usage, and how often it reports it. */
const places: Readonly<Record<string, { whole: (usage: Json) => Json; streamed: (usage: Json) => readonly Json[] }>> = {
  "in the answer": {
    whole: (usage) => chatAnswer({ content: "hi" }, "stop", { usage }),
    streamed: (usage) => [chatChunk({}, "stop"), { ...chatChunk({}), choices: [], usage }],
  },
  "in the choice": {
    whole: (usage) => inChoice(chatAnswer({ content: "hi" }, "stop", { usage: undefined }), usage),
    streamed: (usage) => [inChoice(chatChunk({}, "stop"), usage)],
  },
  "in a member of Groq's": {
    whole: (usage) => chatAnswer({ content: "hi" }, "stop", { usage: undefined, x_groq: { usage } }),
    streamed: (usage) => [chatChunk({}, "stop", { x_groq: { id: "x", usage } })],
  },
  "as it grows, with less in the end": {
    whole: (usage) => inChoice(chatAnswer({ content: "hi" }, "stop", { usage: nearNothing }), usage),
    streamed: (usage) => [
      chatChunk({ content: "!" }, null, { usage: nearNothing }),
      chatChunk({}, "stop", { usage }),
      { ...chatChunk({}), choices: [], usage: nearNothing },
    ],
  },
};

const nearNothing = { prompt_tokens: 0, completion_tokens: 1, total_tokens: 1 };

function inChoice(json: Json, usage: Json): Json {
  const [choice] = json.choices as [Json];
  return { ...json, choices: [{ ...choice, usage }] };
}

function answerWith(place: keyof typeof places, usage: Json): void {
  const { whole, streamed } = places[place] as (typeof places)[string];
  upstream.script = (exchange) => {
    if (exchange.asked.stream !== true) return exchange.json(200, whole(usage));
    exchange.head(200, eventStream);
    const begin = chatChunk({ role: "assistant", content: "hi" });
    exchange.end(openaiFrames(begin, ...streamed(usage)) + done);
  };
}

const ways = (["messages", "responses", "completions"] as const).flatMap((family) =>
  [false, true].map((stream) => ({ family, stream })),
);

const shapes: Readonly<Record<string, readonly [usage: Json, parts: Partial<Parts>]>> = {
  "OpenAI's": [
    {
      ...{ prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 },
      prompt_tokens_details: { cached_tokens: 60, cache_write_tokens: 30, audio_tokens: 1 },
      completion_tokens_details: { reasoning_tokens: 15 },
    },
    { input: 10, cacheRead: 60, cacheWrite: 30, output: 20, reasoning: 15 },
  ],
  "OpenAI's, of what is kept for twelve hours": [
    {
      ...{ prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 },
      prompt_tokens_details: {
        ...{ cached_tokens: 60, cache_write_tokens: 30 },
        cache_write_tokens_details: { ttl_12h_tokens: 20, ttl_30m_tokens: 10 },
      },
    },
    { input: 10, cacheRead: 60, cacheWrite: 30, output: 20 },
  ],
  "xAI's: reasoning beside the completion": [
    {
      ...{ prompt_tokens: 32, completion_tokens: 9, total_tokens: 135 },
      prompt_tokens_details: { cached_tokens: 6 },
      completion_tokens_details: { reasoning_tokens: 94 },
    },
    { input: 26, cacheRead: 6, output: 103, reasoning: 94 },
  ],
  "Gemini's: reasoning in the total alone": [
    { prompt_tokens: 9, completion_tokens: 664, total_tokens: 1994 },
    { input: 9, output: 1985, reasoning: 1321 },
  ],
  "Gemini's without a completion": [
    { prompt_tokens: 21, total_tokens: 81, completion_tokens_details: { reasoning_tokens: 60 } },
    { input: 21, output: 60, reasoning: 60 },
  ],
  "one without a completion or a total": [
    { prompt_tokens: 21, completion_tokens_details: { reasoning_tokens: 60 } },
    { input: 21, output: 60, reasoning: 60 },
  ],
  "one without a completion": [
    { prompt_tokens: 21, total_tokens: 31 },
    { input: 21, output: 10 },
  ],
  "one without a prompt": [
    { completion_tokens: 4, total_tokens: 31 },
    { input: 27, output: 4 },
  ],
  "DeepSeek's": [
    {
      ...{ prompt_tokens: 1000, completion_tokens: 10, total_tokens: 1010 },
      ...{ prompt_cache_hit_tokens: 900, prompt_cache_miss_tokens: 100, prompt_tokens_details: { cached_tokens: 0 } },
    },
    { input: 100, cacheRead: 900, output: 10 },
  ],
  "Moonshot's": [
    { prompt_tokens: 1000, completion_tokens: 10, total_tokens: 1010, cached_tokens: 600 },
    { input: 400, cacheRead: 600, output: 10 },
  ],
  "Mistral's": [
    { prompt_tokens: 1000, completion_tokens: 10, total_tokens: 1010, num_cached_tokens: 600 },
    { input: 400, cacheRead: 600, output: 10 },
  ],
  "Mistral's older": [
    { prompt_tokens: 50, completion_tokens: 10, total_tokens: 60, prompt_token_details: { cached_tokens: 20 } },
    { input: 30, cacheRead: 20, output: 10 },
  ],
  "Alibaba's": [
    {
      ...{ prompt_tokens: 50, completion_tokens: 10, total_tokens: 60 },
      prompt_tokens_details: { cached_tokens: 0, cache_creation_input_tokens: 40 },
    },
    { input: 10, cacheWrite: 40, output: 10 },
  ],
  "SGLang's": [
    { prompt_tokens: 50, completion_tokens: 10, total_tokens: 60, reasoning_tokens: 7, prompt_tokens_details: null },
    { input: 50, output: 10, reasoning: 7 },
  ],
  "one by the names of Responses": [
    {
      ...{ input_tokens: 50, output_tokens: 10, total_tokens: 60 },
      ...{ input_tokens_details: { cached_tokens: 20 }, output_tokens_details: { reasoning_tokens: 4 } },
    },
    { input: 30, cacheRead: 20, output: 10, reasoning: 4 },
  ],
  "one by Anthropic's names": [
    { input_tokens: 50, output_tokens: 10, cache_read_input_tokens: 20, cache_creation_input_tokens: 5 },
    { input: 50, cacheRead: 20, cacheWrite: 5, output: 10 },
  ],
  "an aggregator's, of cached input beside the prompt": [
    { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15, prompt_tokens_details: { cached_tokens: 5000 } },
    { input: 10, cacheRead: 5000, output: 5 },
  ],
  "one of cached input beside the prompt and in the total": [
    { prompt_tokens: 10, completion_tokens: 5, total_tokens: 5015, prompt_tokens_details: { cached_tokens: 5000 } },
    { input: 10, cacheRead: 5000, output: 5 },
  ],
  "one of written and read cache beside the prompt": [
    {
      ...{ prompt_tokens: 5, completion_tokens: 255, total_tokens: 4995 + 60 },
      prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: 4735 },
      completion_tokens_details: { reasoning_tokens: 60 },
    },
    { input: 5, cacheWrite: 4735, output: 315, reasoning: 60 },
  ],
  "LiteLLM's of Claude, with a cache for an hour": [
    {
      ...{ prompt_tokens: 100, completion_tokens: 5, total_tokens: 105, cache_creation_input_tokens: 30 },
      prompt_tokens_details: {
        ...{ cached_tokens: 0, cache_creation_tokens: 30 },
        cache_creation_token_details: { ephemeral_5m_input_tokens: 10, ephemeral_1h_input_tokens: 20 },
      },
    },
    { input: 70, cacheWrite: 30, output: 5 },
  ],
  "one with a cache for an hour": [
    {
      ...{ prompt_tokens: 100, completion_tokens: 5, total_tokens: 105 },
      prompt_tokens_details: {
        ...{ cached_tokens: 20, cache_write_tokens: 30 },
        cache_write_tokens_details: { ttl_5m_tokens: 0, ttl_1h_tokens: 30 },
      },
    },
    { input: 50, cacheRead: 20, cacheWrite: 30, output: 5 },
  ],
  "Perplexity's: more reasoning than completion": [
    {
      ...{ prompt_tokens: 108, completion_tokens: 3256, total_tokens: 3364 },
      ...{ citation_tokens: 7299, reasoning_tokens: 7324 },
    },
    { input: 108, output: 10580, reasoning: 7324 },
  ],
  "Perplexity's: less reasoning than completion": [
    {
      ...{ prompt_tokens: 108, completion_tokens: 3256, total_tokens: 3364 },
      ...{ citation_tokens: 7299, reasoning_tokens: 24 },
    },
    { input: 108, output: 3280, reasoning: 24 },
  ],
  "DeepInfra's of Gemini: more reasoning than completion, and than the total has": [
    {
      ...{ prompt_tokens: 19, completion_tokens: 84, total_tokens: 103 },
      completion_tokens_details: { reasoning_tokens: 1081 },
    },
    { input: 19, output: 1165, reasoning: 1081 },
  ],
  "one of a cut answer whose reasoning has its marks": [
    {
      ...{ prompt_tokens: 19, completion_tokens: 100, total_tokens: 119 },
      completion_tokens_details: { reasoning_tokens: 102 },
    },
    { input: 19, output: 100, reasoning: 100 },
  ],
  "one by Google's names": [
    {
      ...{ promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 35 },
      ...{ thoughtsTokenCount: 20, cachedContentTokenCount: 4 },
    },
    { input: 6, cacheRead: 4, output: 25, reasoning: 20 },
  ],
  "one by Google's names, with the results of its own tools": [
    {
      ...{ promptTokenCount: 100, candidatesTokenCount: 50, thoughtsTokenCount: 200 },
      ...{ toolUsePromptTokenCount: 30, totalTokenCount: 380 },
    },
    { input: 130, output: 250, reasoning: 200 },
  ],
  "one by Google's names without a total": [
    { promptTokenCount: 100, candidatesTokenCount: 50, thoughtsTokenCount: 200 },
    { input: 100, output: 250, reasoning: 200 },
  ],
  "one of which the total has the cache that was read, and not what was written": [
    {
      ...{ prompt_tokens: 10, completion_tokens: 5, total_tokens: 1015 },
      ...{ cache_read_input_tokens: 1000, cache_creation_input_tokens: 50 },
    },
    { input: 10, cacheRead: 1000, cacheWrite: 50, output: 5 },
  ],
  "one by the AI SDK's names": [
    { inputTokens: 100, outputTokens: 50, totalTokens: 150, cachedInputTokens: 80, reasoningTokens: 30 },
    { input: 20, cacheRead: 80, output: 50, reasoning: 30 },
  ],
  "one by Bedrock's names": [
    { inputTokens: 600, outputTokens: 5, totalTokens: 1205, cacheReadInputTokens: 500, cacheWriteInputTokens: 100 },
    { input: 600, cacheRead: 500, cacheWrite: 100, output: 5 },
  ],
  "one that contradicts itself": [
    { prompt_tokens: 5, completion_tokens: 3, total_tokens: 1, prompt_tokens_details: { cached_tokens: 50 } },
    { cacheRead: 5, output: 3 },
  ],
};

describe("usage of an upstream of OpenAI's dialect", () => {
  for (const [name, [usage, parts]] of Object.entries(shapes)) {
    for (const place of Object.keys(places)) {
      test(`${name}, ${place}, is told by all families as it is charged`, async () => {
        answerWith(place, usage);
        for (const { family, stream } of ways) {
          const [told, charged] = await toldAndCharged("gpt", family, stream);
          expect(charged, `${family} ${stream}`).toEqual({ ...none, ...parts });
          expect(told, `${family} ${stream}`).toEqual(charged);
        }
      });
    }
  }

  test("in any form at all is told as it is charged", async () => {
    // Two of the greatest are less input than is ever doubted: what is doubted is not charged as it is told.
    const count = fc.oneof(fc.nat({ max: 2000 }), fc.constantFrom(null, "7", -1, 2.5, 0, 2 ** 15));
    const details = fc.oneof(
      fc.constantFrom(null, undefined, [], "x"),
      fc.record(
        { cached_tokens: count, cache_write_tokens: count, reasoning_tokens: count, constructor: count },
        { requiredKeys: [] },
      ),
    );
    const usage = fc.record(
      {
        // What is reported as 0, or not at all, is counted; a translation does not know the count.
        completion_tokens: fc.integer({ min: 1, max: 2000 }),
        ...{ prompt_tokens: fc.integer({ min: 1, max: 2000 }), total_tokens: count, cached_tokens: count },
        ...{ prompt_cache_hit_tokens: count, reasoning_tokens: count },
        ...{ prompt_tokens_details: details, completion_tokens_details: details },
      },
      { requiredKeys: ["completion_tokens", "prompt_tokens"] },
    );
    const place = fc.constantFrom(...Object.keys(places));
    await fc.assert(
      fc.asyncProperty(usage, place, fc.constantFrom(...ways), async (told, where, { family, stream }) => {
        answerWith(where, told);
        const [ours, charged] = await toldAndCharged("gpt", family, stream);
        expect(ours).toEqual(charged);
      }),
      { numRuns: 150 },
    );
  });
});

describe("usage of an upstream of Anthropic's", () => {
  const input = { input_tokens: 9, cache_read_input_tokens: 70, cache_creation_input_tokens: 30 };
  const split = { cache_creation: { ephemeral_5m_input_tokens: 10, ephemeral_1h_input_tokens: 20 } };
  const cached = { input: 9, cacheRead: 70, cacheWrite: 30 };
  const thought = { output_tokens_details: { thinking_tokens: 5 } };

  /** The usages of `message_start` and of each `message_delta`. A unary answer has the last that is not all zeros. */
  const told: Readonly<Record<string, readonly [start: Json, deltas: readonly Json[], parts: Partial<Parts>]>> = {
    "all at the end": [{}, [{ ...input, output_tokens: 20, ...thought }], { ...cached, output: 20, reasoning: 5 }],
    "the input at the start": [
      { ...input, ...split, output_tokens: 1 },
      [{ output_tokens: 20 }],
      { ...cached, output: 20 },
    ],
    "more of the input at the start than at the end": [
      { input_tokens: 400 },
      [{ ...input, output_tokens: 20 }],
      { input: 400, output: 20 },
    ],
    "the input at the start, and zeros beside a part of it at the end": [
      { input_tokens: 100_000 },
      [{ input_tokens: 0, cache_read_input_tokens: 5, output_tokens: 20 }],
      { input: 100_000, output: 20 },
    ],
    "the same input, split only at the end": [
      { input_tokens: 109, cache_read_input_tokens: 0 },
      [{ ...input, ...split, output_tokens: 20 }],
      { ...cached, output: 20 },
    ],
    "zeros at the start": [
      { input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 0 },
      [{ ...input, output_tokens: 20 }],
      { ...cached, output: 20 },
    ],
    "zeros of the input at the end": [
      { ...input, output_tokens: 1 },
      [{ input_tokens: 0, cache_read_input_tokens: 0, cache_creation_input_tokens: 0, output_tokens: 20 }],
      { ...cached, output: 20 },
    ],
    "the output as it grows, with less in the end": [
      { ...input, output_tokens: 1 },
      [{ output_tokens: 7, ...thought }, { output_tokens: 20 }, { output_tokens: 0 }],
      { ...cached, output: 20, reasoning: 5 },
    ],
  };

  for (const [name, [start, deltas, parts]] of Object.entries(told)) {
    test(`${name}, is told in a stream as it is charged`, async () => {
      const [delta, stop] = messageEnd() as [Json, Json];
      const events = [
        { type: "message_start", message: messageAnswer([], null, { usage: start }) },
        ...blockEvents(0, { type: "text", text: "" }, { type: "text_delta", text: "Hello" }),
        ...deltas.map((usage, i) => (i === 0 ? { ...delta, usage } : { type: "message_delta", delta: {}, usage })),
        stop,
      ];
      upstream.script = (exchange) => {
        exchange.head(200, eventStream);
        exchange.end(anthropicFrames(...events));
      };
      for (const family of ["chat", "responses", "completions"] as const) {
        const [ours, charged] = await toldAndCharged("claude", family, true);
        expect(charged, family).toEqual({ ...none, ...parts });
        expect(ours, family).toEqual(charged);
      }
    });
  }

  test.each([
    ["a placeholder that stands before the text is not all of the output", 1, {}, 3],
    ["what stands before the text is the least, where it is more", 50, {}, 50],
    ["null at the end is no output", 1, { usage: { output_tokens: null } }, 3],
    ["the end says the output", 1, { usage: { output_tokens: 2 } }, 2],
  ])("%s", async (_, output_tokens, told, output) => {
    const [delta, stop] = messageEnd() as [Json, Json];
    const { usage: __, ...end } = delta;
    const text = { type: "text_delta", text: "one two three" };
    const events = [
      { type: "message_start", message: messageAnswer([], null, { usage: { input_tokens: 9, output_tokens } }) },
      ...[...blockEvents(0, { type: "text", text: "" }, text), { ...end, ...told }, stop],
    ];
    upstream.script = (exchange) => {
      exchange.head(200, eventStream);
      exchange.end(anthropicFrames(...events));
    };
    for (const family of ["messages", "chat", "responses", "completions"] as const) {
      const [ours, charged] = await toldAndCharged("claude", family, true);
      expect(charged, family).toMatchObject({ input: 9, output });
      expect(ours, family).toMatchObject({ output });
    }
  });

  test("is told whole as it is charged", async () => {
    const usage = { ...input, ...split, output_tokens: 20, ...thought };
    upstream.script = (exchange) =>
      exchange.json(200, messageAnswer([{ type: "text", text: "Hello" }], "end_turn", { usage }));
    for (const family of ["chat", "responses", "completions"] as const) {
      const [ours, charged] = await toldAndCharged("claude", family, false);
      expect(charged, family).toEqual({ ...cached, output: 20, reasoning: 5 });
      expect(ours, family).toEqual(charged);
    }
  });
});
