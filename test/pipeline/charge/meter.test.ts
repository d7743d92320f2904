/**
 * What every provider reports to the meter of an attempt: the upstream's usage in parts that do not overlap, the model's output,
 * that the model stopped by an error or a filter, and that the answer has ended. Upstreams are real sockets.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { DescMessage, JsonObject } from "@bufbuild/protobuf";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { Answer } from "../../../src/call/call.ts";
import { type Form, type Operation, operations } from "../../../src/call/operations.ts";
import type { ToldUsage, Usage } from "../../../src/call/usage.ts";
import { createEmbeddedProvider } from "../../../src/embedded/index.ts";
import { createAnthropicProvider } from "../../../src/providers/anthropic/dialect.ts";
import type { Provider, Speak } from "../../../src/providers/contract.ts";
import { createOpenAiProvider } from "../../../src/providers/openai/dialect.ts";
import { Wire } from "../../../src/wire/wire.ts";
import { accelerators } from "../../support/accelerators.ts";
import { type RecordingMeter, recordingMeter, unbounded } from "../../support/meter.ts";
import { eventStream, type ScriptedUpstream, startScriptedUpstream } from "../../support/scripted-upstream.ts";
import {
  anthropicFrames,
  blockEvents,
  chatAnswer,
  chatChunk,
  completionPiece,
  done,
  helloChunks,
  helloEvents,
  messageAnswer,
  messageEnd,
  messageStart,
  openaiFrames,
  usageChunk,
} from "../../support/vendors.ts";

type Json = Readonly<Record<string, unknown>>;

let upstream: ScriptedUpstream;
let openai: Provider;
let anthropic: Provider;
const embedded = createEmbeddedProvider({ clock: () => 1_790_000_000_000 });

beforeAll(async () => {
  upstream = await startScriptedUpstream();
  openai = createOpenAiProvider({ ...accelerators, baseUrl: upstream.baseUrl, apiKey: undefined });
  anthropic = createAnthropicProvider({ baseUrl: upstream.baseUrl, apiKey: undefined });
});
afterEach(() => {
  upstream.script = undefined;
});
afterAll(async () => {
  await Promise.all([openai.close(), anthropic.close(), embedded.close()]);
  await upstream.close();
});

const hello = { model: "m", messages: [{ role: "user", content: "say Hello" }] };

function ask(provider: Provider, operation: Operation, form: Form, request: Json, meter: RecordingMeter) {
  const speak = provider.speaks[operation] as Speak<Operation>;
  return speak({
    ...{ id: "req_1", operation, form, model: operation === "speech" ? "tts-1" : "far", header: () => undefined },
    request: Wire.ofJson(operations[operation].input as DescMessage, request as JsonObject) as never,
    signal: new AbortController().signal,
    meter,
    ...unbounded(),
  }) as Promise<Answer>;
}

interface Heard {
  readonly meter: RecordingMeter["kept"];
  readonly frames: readonly Wire[];
  /** Whether the end had been reported, at each batch when it was passed on. */
  readonly ends: readonly boolean[];
  readonly error: unknown;
}

async function hear(provider: Provider, operation: Operation, form: Form, request: Json): Promise<Heard> {
  const meter = recordingMeter();
  const frames: Wire[] = [];
  const ends: boolean[] = [];
  let error: unknown;
  try {
    const answer = await ask(provider, operation, form, request, meter);
    if (answer.kind === "whole") return { meter: meter.kept, frames: [answer.body], ends, error };
    for await (const batch of answer.frames) {
      frames.push(...batch);
      ends.push(meter.kept.hasEnded);
    }
  } catch (caught) {
    error = caught;
  }
  return { meter: meter.kept, frames, ends, error };
}

/** Returns the usage that a unary answer reports to its caller. */
function usageIn({ frames }: Pick<Heard, "frames">): Record<string, number> {
  return frames[0]?.json().usage as Record<string, number>;
}

/** The upstream answers with this body. */
function wholly(provider: () => Provider, operation: Operation, body: Json, request: Json = hello): Promise<Heard> {
  upstream.script = (exchange) => exchange.json(200, body);
  return hear(provider(), operation, "whole", request);
}

/** The upstream answers with these bytes of a stream. */
function streamed(provider: () => Provider, operation: Operation, bytes: string, request: Json = hello) {
  upstream.script = (exchange) => {
    exchange.head(200, eventStream);
    exchange.end(bytes);
  };
  return hear(provider(), operation, "stream", request);
}

/** What the meter gets where a count is none. */
const broken: ToldUsage = { isBroken: true };

const ofOpenAi = () => openai;
const ofAnthropic = () => anthropic;

/** What the meter gets of OpenAI's dialect, input and output together. */
function chatParts(input: number, output: number, more: Partial<Usage> = {}): Partial<Usage> {
  return { input, cacheRead: 0, cacheWrite: 0, output, reasoning: 0, ...more };
}

describe("usage told by an upstream of OpenAI's dialect", () => {
  const cases: readonly [string, Json | null, ToldUsage][] = [
    ["the plain counts", { prompt_tokens: 9, completion_tokens: 2, total_tokens: 11 }, chatParts(9, 2)],
    [
      "what came from the cache and went to it, apart from the rest of the input",
      {
        ...{ prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 },
        prompt_tokens_details: { cached_tokens: 60, cache_write_tokens: 30 },
        completion_tokens_details: { reasoning_tokens: 15 },
      },
      chatParts(10, 20, { cacheRead: 60, cacheWrite: 30, reasoning: 15 }),
    ],
    [
      "what went to the cache for twelve hours, apart from what went for thirty minutes",
      {
        ...{ prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 },
        prompt_tokens_details: {
          cache_write_tokens: 30,
          cache_write_tokens_details: { ttl_12h_tokens: 20, ttl_30m_tokens: 10 },
        },
      },
      chatParts(70, 20, { cacheWrite: 10, cacheWriteHour: 20 }),
    ],
    [
      "what went to the cache for an hour, apart from what went for five minutes, as LiteLLM splits it",
      {
        ...{ prompt_tokens: 100, completion_tokens: 20, total_tokens: 120, cache_creation_input_tokens: 30 },
        prompt_tokens_details: {
          cache_creation_tokens: 30,
          cache_creation_token_details: { ephemeral_5m_input_tokens: 10, ephemeral_1h_input_tokens: 20 },
        },
      },
      chatParts(70, 20, { cacheWrite: 10, cacheWriteHour: 20 }),
    ],
    [
      "what went to the cache for an hour, as Anthropic splits it",
      {
        ...{ prompt_tokens: 100, completion_tokens: 20, total_tokens: 120, cache_creation_input_tokens: 30 },
        cache_creation: { ephemeral_5m_input_tokens: 10, ephemeral_1h_input_tokens: 20 },
      },
      chatParts(70, 20, { cacheWrite: 10, cacheWriteHour: 20 }),
    ],
    [
      "what went to the cache for an hour, by OpenAI's kind of name",
      {
        ...{ prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 },
        prompt_tokens_details: { cache_write_tokens: 30, cache_write_tokens_details: { ttl_1h_tokens: 30 } },
      },
      chatParts(70, 20, { cacheWrite: 0, cacheWriteHour: 30 }),
    ],
    [
      "no more for twelve hours than went to the cache at all",
      {
        ...{ prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 },
        input_tokens_details: { cache_write_tokens: 30, cache_write_tokens_details: { ttl_12h_tokens: 50 } },
      },
      chatParts(70, 20, { cacheWrite: 0, cacheWriteHour: 30 }),
    ],
    [
      "DeepSeek's own words for the cache",
      {
        ...{ prompt_tokens: 17, completion_tokens: 75, total_tokens: 92 },
        ...{ prompt_cache_hit_tokens: 16, prompt_cache_miss_tokens: 1 },
      },
      chatParts(1, 75, { cacheRead: 16 }),
    ],
    [
      "no less than nothing where the cache is said to hold more than the input",
      {
        ...{ prompt_tokens: 5, completion_tokens: 1 },
        prompt_tokens_details: { cached_tokens: 4, cache_write_tokens: 9 },
      },
      chatParts(0, 1, { cacheRead: 4, cacheWrite: 1 }),
    ],
    [
      "reasoning that the completion does not have in it, as xAI has it",
      {
        ...{ prompt_tokens: 32, completion_tokens: 9, total_tokens: 135 },
        completion_tokens_details: { reasoning_tokens: 94 },
      },
      chatParts(32, 103, { reasoning: 94 }),
    ],
    [
      "reasoning that only the total has in it, as Gemini has it",
      { prompt_tokens: 9, completion_tokens: 4, total_tokens: 48 },
      chatParts(9, 39, { reasoning: 35 }),
    ],
    [
      "no output for a cache that is counted beside the input",
      {
        ...{ prompt_tokens: 9, completion_tokens: 4, total_tokens: 20 },
        prompt_tokens_details: { cached_tokens: 7 },
      },
      chatParts(2, 4, { cacheRead: 7 }),
    ],
    [
      "no more reasoning than output",
      { prompt_tokens: 1, completion_tokens: 4, completion_tokens_details: { reasoning_tokens: 9 } },
      chatParts(1, 4, { reasoning: 4 }),
    ],
    ["nothing for null", null, {}],
    ["nothing for counts in words, halves, or below nothing", { prompt_tokens: "9", completion_tokens: 2.5 }, broken],
    ["nothing for what no number counts", { prompt_tokens: -1, completion_tokens: 1e21, total_tokens: 1e21 }, broken],
    [
      "the counts beside what is none",
      {
        ...{ prompt_tokens: 3, completion_tokens: null, total_tokens: "?" },
        ...{ prompt_tokens_details: [], completion_tokens_details: null },
      },
      { input: 3, cacheRead: 0, cacheWrite: 0 },
    ],
  ];

  test.each(cases)("is, in a whole answer, %s", async (_, usage, used) => {
    const { meter } = await wholly(ofOpenAi, "chat", chatAnswer({ content: "Hello" }, "stop", { usage }));
    expect(meter.used).toEqual(used);
    expect(meter.text).toBe("Hello");
  });

  test.each(cases)("is, in a chunk of its own, %s", async (_, usage, used) => {
    const bytes = openaiFrames(...helloChunks, { ...chatChunk({}), choices: [], usage }) + done;
    const { meter, frames } = await streamed(ofOpenAi, "chat", bytes);
    expect(meter).toEqual({ used, text: "Hello", hasGivenUp: false, hasEnded: true });
    // The caller did not ask for it.
    for (const frame of frames) expect(frame.json()).not.toHaveProperty("usage");
  });

  test("is found in the chunk that finishes, in one of its own, in both, and the last word counts", async () => {
    const usage = { prompt_tokens: 9, completion_tokens: 1 };
    const finish = chatChunk({}, "stop", { usage });
    const open = helloChunks.slice(0, -1);
    const used = async (...chunks: Json[]) =>
      (await streamed(ofOpenAi, "chat", openaiFrames(...open, ...chunks) + done)).meter.used;
    expect(await used(finish)).toEqual(chatParts(9, 1));
    expect(await used(chatChunk({}, "stop"), usageChunk())).toEqual(chatParts(9, 2));
    expect(await used(finish, usageChunk())).toEqual(chatParts(9, 2));
    expect(await used(chatChunk({}, "stop"))).toEqual({});
    // It replaces all that was reported of the input before.
    const cached = { usage: { ...usage, prompt_tokens_details: { cached_tokens: 4 } } };
    expect(await used(chatChunk({}, "stop", cached), usageChunk())).toEqual(chatParts(9, 2));
    // What is kept for twelve hours is part of what was written, also where a later report has the sum alone.
    const written = (details: Json) => ({ usage: { ...usage, prompt_tokens_details: details } });
    const longer = { cache_write_tokens: 5, cache_write_tokens_details: { ttl_12h_tokens: 3 } };
    const after = (details: Json) =>
      used(chatChunk({}, "stop", written(longer)), { ...chatChunk({}), choices: [], ...written(details) });
    expect(await after({ cache_write_tokens: 5 })).toEqual(chatParts(4, 1, { cacheWrite: 2, cacheWriteHour: 3 }));
    expect(await after({ cached_tokens: 9 })).toEqual(
      chatParts(0, 1, { cacheRead: 9, cacheWrite: 0, cacheWriteHour: 0 }),
    );
  });

  test("is what the caller who asks for it sees as well", async () => {
    const asking = { ...hello, stream_options: { include_usage: true } };
    const bytes = openaiFrames(...helloChunks, usageChunk()) + done;
    const { meter, frames } = await streamed(ofOpenAi, "chat", bytes, asking);
    expect(meter.used).toEqual(chatParts(9, 2));
    expect(frames.at(-1)?.json().usage).toEqual(usageChunk().usage);
  });

  test("is the input of embeddings", async () => {
    const body = { object: "list", model: "v", data: [], usage: { prompt_tokens: 8, total_tokens: 8 } };
    const { meter } = await wholly(ofOpenAi, "embeddings", body, { model: "m", input: "eight tokens" });
    expect(meter).toEqual({
      used: { input: 8, cacheRead: 0, cacheWrite: 0 },
      text: "",
      hasGivenUp: false,
      hasEnded: false,
    });
  });

  test("is told of completions, whole and streamed", async () => {
    const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
    const asked = { model: "m", prompt: "Say" };
    const whole = await wholly(ofOpenAi, "completions", completionPiece("Hello", "stop", { usage }), asked);
    expect(whole.meter).toMatchObject({ used: chatParts(3, 2), text: "Hello" });
    const untold = await wholly(ofOpenAi, "completions", completionPiece("Hello", "stop"), asked);
    expect(untold.meter).toMatchObject({ used: {}, text: "Hello" });
    const chunks = [
      completionPiece("Hel"),
      completionPiece("lo", "stop"),
      { ...completionPiece(""), choices: [], usage },
    ];
    const stream = await streamed(ofOpenAi, "completions", openaiFrames(...chunks) + done, asked);
    expect(stream.meter).toMatchObject({ used: chatParts(3, 2), text: "Hello", hasEnded: true });
  });
});

describe("usage told by an upstream of Anthropic's", () => {
  const plain = { input_tokens: 9, output_tokens: 2 };
  const cases: readonly [string, Json, ToldUsage][] = [
    ["the plain counts", plain, { input: 9, output: 2, reasoning: 0 }],
    [
      "what came from the cache and went to it",
      { ...plain, cache_read_input_tokens: 70, cache_creation_input_tokens: 30 },
      { input: 9, cacheRead: 70, cacheWrite: 30, cacheWriteHour: 0, output: 2, reasoning: 0 },
    ],
    [
      "what went to the cache for minutes and for an hour",
      {
        ...{ ...plain, cache_read_input_tokens: 0, cache_creation_input_tokens: 30 },
        cache_creation: { ephemeral_5m_input_tokens: 10, ephemeral_1h_input_tokens: 20 },
      },
      { input: 9, cacheRead: 0, cacheWrite: 10, cacheWriteHour: 20, output: 2, reasoning: 0 },
    ],
    [
      "all of the sum, where only a part of it is split",
      { ...plain, cache_creation_input_tokens: 30, cache_creation: { ephemeral_1h_input_tokens: 20 } },
      { input: 9, cacheWrite: 10, cacheWriteHour: 20, output: 2, reasoning: 0 },
    ],
    [
      "the thinking in the output",
      { ...plain, output_tokens: 50, output_tokens_details: { thinking_tokens: 40 } },
      { input: 9, output: 50, reasoning: 40 },
    ],
    [
      "the counts beside what is none",
      {
        ...{ input_tokens: -9, cache_read_input_tokens: "1", cache_creation_input_tokens: 1.5, output_tokens: 2 },
        ...{ cache_creation: null, output_tokens_details: { thinking_tokens: Number.MAX_VALUE } },
      },
      { output: 2, reasoning: 0, ...broken },
    ],
  ];

  test.each(cases)("is, in a whole answer, %s", async (_, usage, used) => {
    const body = messageAnswer([{ type: "text", text: "Hello" }], "end_turn", { usage });
    const { meter } = await wholly(ofAnthropic, "messages", body);
    expect(meter).toEqual({ used, text: "Hello", hasGivenUp: false, hasEnded: false });
  });

  test.each(cases)("is, in a stream's end, %s", async (_, usage, used) => {
    const [delta, stop] = messageEnd() as [Json, Json];
    const text = blockEvents(0, { type: "text", text: "" }, { type: "text_delta", text: "Hello" });
    const message = messageAnswer([], null, { usage: {} });
    const events = [{ type: "message_start", message }, ...text, { ...delta, usage }, stop];
    const { meter } = await streamed(ofAnthropic, "messages", anthropicFrames(...events));
    expect(meter).toEqual({ used, text: "Hello", hasGivenUp: false, hasEnded: true });
  });

  test("is told at the start, and told over at the end but where that is null or left out", async () => {
    const start = {
      ...{ input_tokens: 9, cache_read_input_tokens: 5, cache_creation_input_tokens: 30, output_tokens: 1 },
      cache_creation: { ephemeral_5m_input_tokens: 10, ephemeral_1h_input_tokens: 20 },
    };
    const [delta, stop] = messageEnd() as [Json, Json];
    const used = async (usage: Json) => {
      const head = { type: "message_start", message: messageAnswer([], null, { usage: start }) };
      const bytes = anthropicFrames(head, { ...delta, usage }, stop);
      return (await streamed(ofAnthropic, "messages", bytes)).meter.used;
    };
    // The output before any text is the least.
    const before = { input: 9, cacheRead: 5, cacheWrite: 10, cacheWriteHour: 20, leastOutput: 1 };
    expect(await used({ output_tokens: 7 })).toEqual({ ...before, output: 7, reasoning: 0 });
    const nulls = { input_tokens: null, cache_read_input_tokens: null, cache_creation_input_tokens: null };
    expect(await used({ ...nulls, output_tokens: 7 })).toEqual({ ...before, output: 7, reasoning: 0 });
    const more = { input_tokens: 11, cache_read_input_tokens: 6, cache_creation_input_tokens: 40, output_tokens: 7 };
    expect(await used(more)).toEqual({
      ...{ input: 11, cacheRead: 6, cacheWrite: 20, cacheWriteHour: 20 },
      ...{ output: 7, reasoning: 0, leastOutput: 1 },
    });
    // Cache writes are reported again as a sum without their parts, and must not count twice.
    const again = { input_tokens: 9, cache_creation_input_tokens: 30, output_tokens: 7 };
    expect(await used(again)).toEqual({ ...before, output: 7, reasoning: 0 });
  });

  test("is nothing where tokens were only counted", async () => {
    const { meter } = await wholly(ofAnthropic, "count_tokens", { input_tokens: 9 });
    expect(meter).toEqual({ used: {}, text: "", hasGivenUp: false, hasEnded: false });
  });
});

describe("what the model wrote", () => {
  const call = (index: number, named: Json) => ({ tool_calls: [{ index, function: named }] });

  test("is every text of OpenAI's chunks: all choices, thoughts, refusals, calls and what they are given", async () => {
    const beside = { ...chatChunk({}), choices: [0, 1].map((index) => ({ index, delta: { content: `<${index}>` } })) };
    const chunks = [
      chatChunk({ role: "assistant", content: "", reasoning_content: "think " }),
      // The same, under both of its names.
      chatChunk({ content: null, reasoning_content: "twice ", reasoning: "twice " }),
      chatChunk({ reasoning: "aloud " }),
      chatChunk({
        content: [{ type: "thinking", thinking: [{ type: "text", text: "in parts " }] }, { text: "then " }],
      }),
      chatChunk({ refusal: "no " }),
      chatChunk(call(0, { name: "find", arguments: "" })),
      chatChunk(call(0, { arguments: '{"a":1}' })),
      chatChunk({ tool_calls: [{ index: 1, custom: { name: "sql", input: "SELECT" } }] }),
      chatChunk({ function_call: { name: "old", arguments: "{}" } }),
      chatChunk({ audio: { id: "audio_1", transcript: " spoken" } }),
      beside,
      { ...chatChunk({}), choices: [0, 1].map((index) => ({ index, delta: {}, finish_reason: "stop" })) },
    ];
    const { meter } = await streamed(ofOpenAi, "chat", openaiFrames(...chunks) + done);
    const thoughts = "think twice aloud in parts then no ";
    expect(meter.text).toBe(`${thoughts}find{"a":1}sqlSELECTold{} spoken<0><1>`);
  });

  test("is every text of an answer of OpenAI's without usage", async () => {
    const tool_calls = [{ id: "c", type: "function", function: { name: "find", arguments: "{}" } }];
    const message = { content: "Hello ", reasoning_content: "think ", refusal: "no ", tool_calls };
    const { meter } = await wholly(ofOpenAi, "chat", chatAnswer(message, "tool_calls", { usage: null }));
    expect(meter).toMatchObject({ used: {}, text: "Hello think no find{}" });
  });

  test("is every text of Anthropic's events: thoughts, calls and what they are given", async () => {
    const events = [
      messageStart(),
      ...blockEvents(
        0,
        { type: "thinking", thinking: "", signature: "" },
        { type: "thinking_delta", thinking: "think " },
        { type: "signature_delta", signature: "c2ln" },
      ),
      ...blockEvents(1, { type: "text", text: "He" }, { type: "text_delta", text: "llo " }),
      ...blockEvents(
        2,
        { type: "tool_use", id: "t", name: "find", input: {} },
        { type: "input_json_delta", partial_json: '{"a":' },
        { type: "input_json_delta", partial_json: "1}" },
      ),
      ...messageEnd("tool_use"),
    ];
    const { meter } = await streamed(ofAnthropic, "messages", anthropicFrames(...events));
    expect(meter.text).toBe('think Hello find{"a":1}');
  });

  test("is every text of an answer of Anthropic's without usage", async () => {
    const content = [
      { type: "thinking", thinking: "think ", signature: "c2ln" },
      { type: "text", text: "Hello " },
      { type: "tool_use", id: "t", name: "find", input: { a: 1 } },
    ];
    const { meter } = await wholly(ofAnthropic, "messages", messageAnswer(content, "tool_use", { usage: null }));
    expect(meter).toMatchObject({ used: {}, text: 'think Hello find{"a":1}' });
  });

  test("that no schema knows hinders no recorded answer", async () => {
    const folder = join(import.meta.dirname, "../../fixtures/chat");
    const read = (file: string): { name: string; json: JsonObject }[] =>
      JSON.parse(readFileSync(join(folder, file), "utf8"));
    const isAnswer = ({ json }: { json: JsonObject }) =>
      !("error" in json) && hasMessages(json) && !JSON.stringify(json).includes("insufficient_system_resource");
    for (const { name, json } of read("answers.json").filter(isAnswer)) {
      const { meter, error, frames } = await wholly(ofOpenAi, "chat", json);
      expect([name, error, frames.length]).toEqual([name, undefined, 1]);
      const { input = 0, cacheRead = 0, cacheWrite = 0, output } = meter.used;
      const { prompt_tokens, completion_tokens, total_tokens } = (json.usage ?? {}) as Record<string, number>;
      const isSound = Number.isInteger(completion_tokens) && Number.isInteger(prompt_tokens);
      if (isSound) expect([name, input + cacheRead + cacheWrite + (output ?? 0)]).toEqual([name, total_tokens]);
      for (const count of Object.values(meter.used) as number[])
        expect([name, count >= 0, count % 1]).toEqual([name, true, 0]);
    }
    for (const { name, json } of read("chunks.json").filter(({ json }) => hasChoices(json))) {
      const chunks = [...helloChunks.slice(0, 2), json, chatChunk({}, "stop")];
      const { error } = await streamed(ofOpenAi, "chat", openaiFrames(...chunks) + done);
      expect([name, error]).toEqual([name, undefined]);
    }
  });
});

/** Reports whether a chunk is part of a successful answer. */
function hasChoices({ choices, error }: JsonObject): boolean {
  return Array.isArray(choices) && !error && !JSON.stringify(choices).includes('"abort"');
}

function hasMessages({ choices }: JsonObject): boolean {
  return Array.isArray(choices) && choices.some((choice) => Boolean((choice as JsonObject | null)?.message));
}

describe("a model that gave up", () => {
  test.each(["content_filter", "sensitive", "content_filter: SAFETY"])("is told of by %s", async (word) => {
    const usage = { prompt_tokens: 9, completion_tokens: 0 };
    const whole = await wholly(ofOpenAi, "chat", chatAnswer({ content: null }, word, { usage }));
    expect(whole.meter.hasGivenUp).toBe(true);
    const stream = await streamed(ofOpenAi, "chat", openaiFrames(chatChunk({}, word)) + done);
    expect(stream.meter.hasGivenUp).toBe(true);
  });

  test("is told of by Anthropic's refusal", async () => {
    const whole = await wholly(ofAnthropic, "messages", messageAnswer([], "refusal"));
    expect(whole.meter.hasGivenUp).toBe(true);
    const bytes = anthropicFrames(messageStart(), ...messageEnd("refusal"));
    expect((await streamed(ofAnthropic, "messages", bytes)).meter.hasGivenUp).toBe(true);
  });

  test.each(["stop", "length", "tool_calls", null])("is not told of by %s", async (word) => {
    const { meter } = await wholly(ofOpenAi, "chat", chatAnswer({ content: "Hello" }, word));
    expect(meter.hasGivenUp).toBe(false);
  });
});

describe("a stream that is cut, at every byte of it,", () => {
  /** How many of these frames are complete before the cut; the blank line after the last may be missing. */
  const arrived = (frames: readonly string[], cut: number) => {
    let end = 0;
    return frames.filter((frame) => {
      end += frame.length;
      return end - 2 <= cut;
    }).length;
  };

  test("has told what it brought of OpenAI's chunks, and an end where the usage has followed the last finish", async () => {
    const frames = [...[...helloChunks, usageChunk()].map((chunk) => openaiFrames(chunk)), done];
    const texts = ["", "Hel", "lo"];
    const bytes = frames.join("");
    for (let cut = 0; cut <= bytes.length; cut++) {
      const { meter, ends, error } = await streamed(ofOpenAi, "chat", bytes.slice(0, cut));
      const seen = arrived(frames, cut);
      const used = seen > helloChunks.length ? chatParts(9, 2) : {};
      const text = texts.slice(0, seen).join("");
      expect([cut, meter]).toEqual([cut, { used, text, hasGivenUp: false, hasEnded: error === undefined }]);
      // The last finish waits for the usage behind it, which is whole without the blank line after it where the stream ends there.
      expect([cut, ends.includes(true)]).toEqual([cut, cut >= bytes.length - done.length - 2]);
    }
  });

  test("has told what it brought of Anthropic's events, and an end where it was told why it stopped", async () => {
    const frames = helloEvents.map((event) => anthropicFrames(event));
    const texts = ["", "", "Hel", "lo"];
    const bytes = frames.join("");
    for (let cut = 0; cut <= bytes.length; cut++) {
      const { meter, error } = await streamed(ofAnthropic, "messages", bytes.slice(0, cut));
      const seen = arrived(frames, cut);
      const start = seen > 0 ? { input: 9, output: 0, reasoning: 0 } : {};
      const used = seen > frames.length - 2 ? { ...start, output: 2 } : start;
      const hasEnded = seen >= frames.length - 1;
      const text = texts.slice(0, seen).join("");
      expect([cut, meter]).toEqual([cut, { used, text, hasGivenUp: false, hasEnded }]);
      expect([cut, error === undefined]).toEqual([cut, hasEnded]);
    }
  });
});

describe("the end of an answer", () => {
  test("is told before the batch that holds it is handed over, and not before", async () => {
    const meter = recordingMeter();
    const asked = ask(openai, "chat", "stream", hello, meter);
    const exchange = await upstream.next();
    exchange.head(200, eventStream);
    const answer = await asked;
    if (answer.kind !== "stream") throw new Error("not a stream");
    const batches = answer.frames[Symbol.asyncIterator]();
    const finish = openaiFrames(chatChunk({}, "stop"));
    await exchange.write(openaiFrames(...helloChunks.slice(0, 3)));
    expect((await batches.next()).value).toHaveLength(3);
    expect(meter.kept).toMatchObject({ text: "Hello", hasEnded: false });
    exchange.end(finish + openaiFrames(usageChunk()) + done);
    expect((await batches.next()).value).toHaveLength(1);
    expect(meter.kept).toMatchObject({ used: chatParts(9, 2), hasEnded: true });
  });

  test("is told before the last chunk of the embedded model, with its usage or without", async () => {
    const tools = ["find", "sell"].map((name) => ({ type: "function", function: { name } }));
    for (const more of [
      {},
      { stream_options: { include_usage: true } },
      { n: 3 },
      { tools, tool_choice: "required" },
    ]) {
      const { frames, ends, meter } = await hear(embedded, "chat", "stream", { ...hello, ...more });
      expect(ends).toEqual(frames.map((_, i) => i === frames.length - 1));
      const whole = await hear(embedded, "chat", "whole", { ...hello, ...more });
      const { prompt_tokens, completion_tokens } = usageIn(whole);
      const used = { input: prompt_tokens, output: completion_tokens };
      expect([meter.used, whole.meter.used]).toEqual([used, used]);
      expect([meter.text === "", whole.meter.text]).toEqual([false, ""]);
    }
  });

  test("is never told of by the embedded model that breaks, which has told its input and what it wrote", async () => {
    const messages = [{ role: "user", content: "say one two three" }];
    const broken = { model: "m", messages, metadata: { simulate_break_after: "2" } };
    const { meter, error } = await hear(embedded, "chat", "stream", broken);
    expect(error).toBeDefined();
    expect(meter).toEqual({ used: { input: expect.any(Number) }, text: "one two", hasGivenUp: false, hasEnded: false });
  });

  test("is told of speech before its last event, by the embedded voices and by an upstream", async () => {
    const order = { model: "tts-1", input: "Hi.", voice: "nova", response_format: "pcm" };
    upstream.script = (exchange) => {
      exchange.head(200, { "content-type": "audio/pcm" });
      exchange.end(Buffer.alloc(64));
    };
    for (const provider of [embedded, openai]) {
      const { frames, ends, meter } = await hear(provider, "speech", "stream", order);
      expect(frames.length).toBeGreaterThan(1);
      expect(ends).toEqual(frames.map((_, i) => i === frames.length - 1));
      // Its characters are the gateway's to count.
      expect(meter.used).toEqual({});
    }
  });

  test("of embedded embeddings comes with their input", async () => {
    const { meter, frames } = await hear(embedded, "embeddings", "whole", { model: "m", input: ["Hello", "you"] });
    expect(meter.used).toEqual({ input: usageIn({ frames }).prompt_tokens });
  });
});
