import { MessageStream } from "@anthropic-ai/sdk/lib/MessageStream";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import fc, { type Arbitrary } from "fast-check";
import { describe, expect, test, vi } from "vitest";
import type { Frames } from "../../../src/call/call.ts";
import { operations } from "../../../src/call/operations.ts";
import { Reason, Refusal, upstreamTimeout } from "../../../src/call/refusals.ts";
import { messagesToChat } from "../../../src/families/messages-to-chat/index.ts";
import type { Translated } from "../../../src/families/translation.ts";
import { createValidate } from "../../../src/pipeline/check/validate.ts";
import { runNow } from "../../../src/runtime/cooperative.ts";
import { readMessage } from "../../../src/wire/read.ts";
import { SseReader } from "../../../src/wire/sse.ts";
import { Wire } from "../../../src/wire/wire.ts";
import { waysToCut } from "../../support/translations/cuts.ts";
import { goldensOf } from "../../support/translations/goldens.ts";
import { expectStrict } from "../../support/translations/round-trip.ts";

const { input, whole, stream: event } = operations.messages;
const { input: chatInput, whole: completion, stream: chunk } = operations.chat;

interface Golden {
  readonly name: string;
  readonly context?: { readonly maxOutputTokens?: number };
  readonly request: JsonObject;
  readonly expectedRequest: JsonObject;
  readonly dropped: readonly string[];
  readonly answer?: JsonObject;
  readonly expectedAnswer?: JsonObject;
  /** The upstream's chunks. */
  readonly stream?: readonly JsonObject[];
  readonly expectedStream?: readonly JsonObject[];
  /** Expected in place of everything else. */
  readonly refused?: { readonly param: string; readonly message: string };
}

const goldens = goldensOf<Golden>("messages-to-chat");
const answered = goldens.filter(({ refused }) => !refused);
const streamed = goldens.filter((golden): golden is Golden & Required<Pick<Golden, "stream" | "expectedStream">> =>
  Boolean(golden.stream),
);

/** What every stream begins with. */
const estimateTokens = () => 20;

function translate({ request, context }: Pick<Golden, "request" | "context">): Translated<"messages", "chat"> {
  const form = request.stream === true ? "stream" : "whole";
  const maxOutputTokens = context?.maxOutputTokens;
  return runNow(
    messagesToChat.translate(Wire.ofJson(input, request), {
      ...{ form, maxOutputTokens, answerId: "01x", now: 1 },
      estimateTokens,
    }),
  );
}

const plain = () => translate({ request: { model: "m", max_tokens: 9, messages: [{ role: "user", content: "hi" }] } });

function wholeOf(translated: Translated<"messages", "chat">, answer: JsonObject): JsonObject {
  const body = Wire.ofBytes(completion, Buffer.from(JSON.stringify(answer)), true);
  const result = translated.answer<"whole">({ kind: "whole", body });
  if (result.kind !== "whole") throw new Error("a whole answer became a stream");
  return result.body.json();
}

type Chunks = Frames<typeof chunk>;

function eventsOf(translated: Translated<"messages", "chat">, frames: Chunks): Frames<typeof event> {
  const result = translated.answer<"stream">({ kind: "stream", frames });
  if (result.kind !== "stream") throw new Error("a stream became a whole answer");
  return result.frames;
}

async function* batches(...of: readonly (readonly JsonObject[])[]): Chunks {
  for (const batch of of) yield batch.map((json) => Wire.ofBytes(chunk, Buffer.from(JSON.stringify(json)), true));
}

/** The events of a stream, and what ended it if not its end. */
async function outcomeOf(frames: Frames<typeof event>): Promise<{ events: JsonObject[]; error: unknown }> {
  const events: JsonObject[] = [];
  try {
    for await (const batch of frames) {
      expect(batch.length).toBeGreaterThan(0);
      events.push(...batch.map((wire) => wire.json()));
    }
  } catch (error) {
    return { events, error };
  }
  return { events, error: undefined };
}

async function allEvents(frames: Frames<typeof event>): Promise<JsonObject[]> {
  const { events, error } = await outcomeOf(frames);
  if (error !== undefined) throw error;
  return events;
}

const validate = createValidate();

function expectSoundRequest(json: JsonObject): void {
  expectStrict(chatInput, json);
  validate(Wire.ofJson(chatInput, json));
}

// The rules of the Messages API.

const usageKeys = [
  ...["input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"],
  ...["cache_creation", "output_tokens_details", "server_tool_use", "service_tier", "speed", "inference_geo"],
].sort();
const finalUsageKeys = usageKeys.filter((key) => !/^(?:cache_creation|service_tier|speed|inference_geo)$/.test(key));
const messageKeys = [
  ...["id", "type", "role", "model", "content", "stop_reason", "stop_sequence", "stop_details", "container"],
  ...["diagnostics", "usage"],
].sort();
const stopReasons = ["end_turn", "max_tokens", "stop_sequence", "tool_use", "refusal"];
const blockKeys: Readonly<Record<string, readonly string[]>> = {
  text: ["citations", "text", "type"],
  thinking: ["signature", "thinking", "type"],
  tool_use: ["caller", "id", "input", "name", "type"],
};

function expectUsage(usage: JsonObject, keys: readonly string[]): void {
  expect(Object.keys(usage).sort()).toEqual(keys);
  for (const key of keys.filter((name) => /^(?:input|output|cache_.*_input)_tokens$/.test(name))) {
    expect(usage[key], key).toSatisfy((count) => Number.isInteger(count) && count >= 0);
  }
}

function expectBlock(block: JsonObject): void {
  expect(Object.keys(block).sort()).toEqual(blockKeys[block.type as string]);
  if (block.type === "text") expect(block).toMatchObject({ text: expect.any(String) });
  if (block.type === "thinking") expect(block).toMatchObject({ thinking: expect.any(String), signature: "" });
  if (block.type !== "tool_use") return;
  expect(block.id).toMatch(/^[A-Za-z0-9_-]+$/);
  expect(block.name).toMatch(/./);
  expect(block.input).toSatisfy((value) => typeof value === "object" && value !== null && !Array.isArray(value));
  expect(block.caller).toEqual({ type: "direct" });
}

function expectEnding(ending: JsonObject, blocks: readonly JsonObject[]): void {
  expect(stopReasons).toContain(ending.stop_reason);
  expect(typeof ending.stop_sequence).toBe(ending.stop_reason === "stop_sequence" ? "string" : "object");
  expect(ending.stop_details === null).toBe(ending.stop_reason !== "refusal");
  const hasCalls = blocks.some(({ type }) => type === "tool_use");
  if (ending.stop_reason === "tool_use") expect(hasCalls).toBe(true);
  if (hasCalls) expect(["tool_use", "max_tokens", "refusal"]).toContain(ending.stop_reason);
}

function expectDistinctIds(blocks: readonly JsonObject[]): void {
  const ids = blocks.filter(({ type }) => type === "tool_use").map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
}

function expectMessage(message: JsonObject): void {
  expectStrict(whole, message);
  expect(Object.keys(message).sort()).toEqual(messageKeys);
  expect(message).toMatchObject({
    id: "msg_01x",
    type: "message",
    role: "assistant",
    container: null,
    diagnostics: null,
  });
  const blocks = message.content as JsonObject[];
  blocks.forEach(expectBlock);
  expectDistinctIds(blocks);
  for (const { type, text, thinking } of blocks) if (type !== "tool_use") expect(text ?? thinking).not.toBe("");
  const order = ["thinking", "text", "tool_use"];
  const places = blocks.map(({ type }) => order.indexOf(type as string));
  expect(places).toEqual(places.toSorted());
  expectEnding(message, blocks);
  expectUsage(message.usage as JsonObject, usageKeys);
}

const deltaOf: Readonly<Record<string, string>> = {
  text: "text_delta",
  thinking: "thinking_delta",
  tool_use: "input_json_delta",
};

/** Checks a stream. `complete` is false for one that failed: then it must be the beginning of a valid stream. */
function expectEvents(events: readonly JsonObject[], complete = true): void {
  for (const json of events) expectStrict(event, json);
  const [start, ...rest] = events;
  if (!start && !complete) return;
  expectStart(start as JsonObject);
  const blocks: JsonObject[] = [];
  let open: { type: string; signed: boolean } | undefined;
  let ended = 0;
  for (const { type, index, content_block, delta, usage } of rest) {
    if (type === "content_block_start") {
      expect([open, index, ended]).toEqual([undefined, blocks.length, 0]);
      expectBlock(content_block as JsonObject);
      blocks.push(content_block as JsonObject);
      open = { type: (content_block as JsonObject).type as string, signed: false };
      expect(content_block).toMatchObject(open.type === "tool_use" ? { input: {} } : { [open.type]: "" });
      if (open.type === "text") expect(content_block).toHaveProperty("citations", []);
    } else if (type === "content_block_delta") {
      const { type: kind, ...piece } = delta as JsonObject;
      expect(index).toBe(blocks.length - 1);
      expect(open?.signed).toBe(false);
      if (kind === "signature_delta" && open?.type === "thinking") open.signed = true;
      else expect(kind).toBe(deltaOf[open?.type ?? ""]);
      if (kind !== "signature_delta") expect(Object.values(piece)).not.toContain("");
    } else if (type === "content_block_stop") {
      expect(index).toBe(blocks.length - 1);
      expect(open?.signed).toBe(open?.type === "thinking");
      open = undefined;
    } else if (type === "message_delta") {
      expect([open, ended++]).toEqual([undefined, 0]);
      const { container, ...ending } = delta as JsonObject;
      expect([Object.keys(ending).sort(), container]).toEqual([["stop_details", "stop_reason", "stop_sequence"], null]);
      expectEnding(ending, blocks);
      expectUsage(usage as JsonObject, finalUsageKeys);
    } else {
      expect([type, ended++]).toEqual(["message_stop", 1]);
    }
  }
  expectDistinctIds(blocks);
  expect(ended).toBe(complete ? 2 : 0);
}

function expectStart({ type, message, ...others }: JsonObject): void {
  expect([type, others]).toEqual(["message_start", {}]);
  const head = message as JsonObject;
  expect(Object.keys(head).sort()).toEqual(messageKeys);
  expect(head).toMatchObject({ content: [], stop_reason: null, stop_sequence: null, stop_details: null });
  expectUsage(head.usage as JsonObject, usageKeys);
}

/** Joins a stream into a message, as the SDK does, but keeps invalid JSON as `_raw`. */
function gathered(events: readonly JsonObject[]): JsonObject {
  let message: JsonObject = {};
  const blocks: JsonObject[] = [];
  const inputs: string[] = [];
  for (const { type, message: head, content_block, index, delta, usage } of events) {
    const i = index as number;
    const piece = (delta ?? {}) as JsonObject;
    const block = blocks[i] as JsonObject;
    if (type === "message_start") message = { ...(head as JsonObject) };
    if (type === "content_block_start") blocks[i] = { ...(content_block as JsonObject) };
    if (piece.type === "text_delta") block.text = `${block.text}${piece.text}`;
    if (piece.type === "thinking_delta") block.thinking = `${block.thinking}${piece.thinking}`;
    if (piece.type === "input_json_delta") inputs[i] = (inputs[i] ?? "") + piece.partial_json;
    if (type !== "message_delta") continue;
    const known = Object.entries(usage as JsonObject).filter(([, value]) => value !== null);
    message = { ...message, ...piece, usage: { ...(message.usage as JsonObject), ...Object.fromEntries(known) } };
  }
  for (const [i, text] of inputs.entries()) if (text !== undefined) (blocks[i] as JsonObject).input = parsed(text);
  return { ...message, content: blocks };
}

function parsed(text: string): JsonValue {
  try {
    return JSON.parse(text);
  } catch {
    return { _raw: text };
  }
}

async function gatheredBySdk(events: readonly JsonObject[]): Promise<JsonObject> {
  const bytes = new Blob(events.map((json) => `${JSON.stringify(json)}\n`)).stream();
  const { parsed_output, ...message } = await MessageStream.fromReadableStream(bytes).finalMessage();
  expect(parsed_output).toBe(null);
  return JSON.parse(JSON.stringify(message));
}

test("there are enough cases", () => {
  expect(answered.length).toBeGreaterThanOrEqual(35);
  expect(streamed.length).toBeGreaterThanOrEqual(15);
  expect(new Set(goldens.map(({ name }) => name)).size).toBe(goldens.length);
});

describe("a Messages request is translated:", () => {
  for (const golden of answered) {
    test(golden.name, () => {
      const { request, dropped } = translate(golden);
      expect(request.json()).toEqual(golden.expectedRequest);
      expect(dropped).toEqual(golden.dropped);
      expectSoundRequest(request.json());
    });

    test(`${golden.name}, alike over RPC`, () => {
      const message = readMessage(input, golden.request, { lenient: false });
      const { request, dropped } = runNow(
        messagesToChat.translate(Wire.ofMessage(input, message), {
          ...{ form: golden.request.stream === true ? "stream" : "whole", answerId: "01x", now: 1 },
          maxOutputTokens: golden.context?.maxOutputTokens,
          estimateTokens,
        }),
      );
      expect(request.json()).toEqual(golden.expectedRequest);
      expect(dropped.toSorted()).toEqual(golden.dropped.toSorted());
    });
  }
});

describe("refuses", () => {
  for (const { name, request, refused } of goldens.filter((golden) => golden.refused)) {
    test(name, () => {
      try {
        translate({ request });
      } catch (error) {
        expect(error).toBeInstanceOf(Refusal);
        expect(error).toMatchObject({ status: 400, ...refused });
        return;
      }
      expect.unreachable();
    });
  }

  test("an answer without a choice, or an unreadable one, as the upstream's failure", () => {
    for (const answer of [{ choices: [] }, { error: "no" }]) {
      expect(() => wholeOf(plain(), answer)).toThrow(expect.objectContaining({ reason: Reason.UPSTREAM_FAILED }));
    }
    const body = Wire.ofBytes(completion, Buffer.from("<html>"), true);
    expect(() => plain().answer<"whole">({ kind: "whole", body })).toThrow(expect.objectContaining({ status: 502 }));
  });
});

describe("a unary answer is translated:", () => {
  for (const golden of answered.filter(({ answer }) => answer)) {
    test(golden.name, () => {
      const message = wholeOf(translate(golden), golden.answer as JsonObject);
      expect(message).toEqual(golden.expectedAnswer);
      expectMessage(message);
    });
  }

  test("for every finish reason", () => {
    const ends = { stop: "end_turn", length: "max_tokens", content_filter: "refusal", eos: "end_turn" };
    for (const [finish, reason] of Object.entries(ends)) {
      const choices = [{ index: 0, message: { role: "assistant", content: "x" }, finish_reason: finish }];
      expect(wholeOf(plain(), { choices }).stop_reason).toBe(reason);
    }
  });
});

test("the reasoning effort follows the budget", () => {
  const efforts = [
    [1, "minimal"],
    [1023, "minimal"],
    [1024, "low"],
    [2047, "low"],
    [2048, "medium"],
    [4095, "medium"],
    [4096, "high"],
    [16_383, "high"],
    [16_384, "max"],
  ] as const;
  for (const [budget_tokens, effort] of efforts) {
    const thinking = { type: "enabled", budget_tokens };
    const request = { model: "m", max_tokens: 9, messages: [{ role: "user", content: "hi" }], thinking };
    expect(translate({ request }).request.json().reasoning_effort).toBe(effort);
  }
});

describe("a streamed answer is translated:", () => {
  for (const golden of streamed) {
    test(golden.name, async () => {
      const events = await allEvents(eventsOf(translate(golden), batches(golden.stream)));
      expect(events).toEqual(golden.expectedStream);
      expectEvents(events);
    });

    test(`${golden.name}, alike wherever the bytes are cut`, async () => {
      const frames = golden.stream.map((json) => `data: ${JSON.stringify(json)}\n\n`);
      const bytes = Buffer.from(`: keep-alive\n\n${frames.join("")}data: [DONE]\n\n`);
      for (const pieces of waysToCut(bytes)) {
        const events = await allEvents(eventsOf(translate(golden), framesOf(pieces)));
        expect(events, `cut at ${pieces[0]?.length}`).toEqual(golden.expectedStream);
      }
    });

    test(`${golden.name}, as the SDK reads it`, async () => {
      const message = gathered(golden.expectedStream);
      expect(await gatheredBySdk(golden.expectedStream)).toEqual(message);
      if (golden.expectedAnswer) expect(message).toEqual(golden.expectedAnswer);
    });
  }
});

/** Reads chunks as the provider does. */
async function* framesOf(pieces: readonly Buffer[]): Chunks {
  const reader = new SseReader();
  for (const piece of pieces) {
    const frames = reader.push(piece).filter(({ data }) => data.toString() !== "[DONE]");
    if (frames.length > 0) yield frames.map(({ data }) => Wire.ofBytes(chunk, data, true));
  }
}

function piece(delta: JsonObject, finish: string | null = null): JsonObject {
  return {
    id: "c",
    object: "chat.completion.chunk",
    created: 1,
    model: "v",
    choices: [{ index: 0, delta, finish_reason: finish }],
  };
}

const call = (index: number, id: string, text: string) =>
  piece({ tool_calls: [{ index, id, function: { name: "f", arguments: text } }] });

describe("a stream that fails", () => {
  test("without a finish is the upstream's failure, with its block left open", async () => {
    for (const chunks of [[], [piece({ content: "Hel" })], [piece({ content: "Hel" }, "")]]) {
      const { events, error } = await outcomeOf(eventsOf(plain(), batches(chunks)));
      expect(error).toMatchObject({ reason: Reason.UPSTREAM_FAILED, status: 502 });
      expectEvents(events, false);
      expect(events.map(({ type }) => type)).not.toContain("content_block_stop");
    }
  });

  test("of its upstream's failure passes the failure on, after what came before", async () => {
    const failure = upstreamTimeout();
    async function* broken(): Chunks {
      yield* batches([piece({ content: "Hel" })], [piece({ content: "lo" }, "stop")]);
      throw failure;
    }
    const { events, error } = await outcomeOf(eventsOf(plain(), broken()));
    expect(error).toBe(failure);
    expect(events.map(({ delta }) => (delta as JsonObject)?.text).filter(Boolean)).toEqual(["Hel", "lo"]);
    expectEvents(events, false);
  });

  test("continues a call that had ended", async () => {
    const chunks = [call(0, "a", "{}"), call(1, "b", ""), call(0, "a", " \n"), call(0, "a", '{"late":1}')];
    const { events, error } = await outcomeOf(eventsOf(plain(), batches(chunks)));
    expect(error).toMatchObject({ reason: Reason.UPSTREAM_FAILED });
    expectEvents(events, false);
  });

  test("with bytes that are not JSON keeps what came before them", async () => {
    async function* broken(): Chunks {
      const [good] = (await Array.fromAsync(batches([piece({ content: "Hel" })]))).flat() as Wire<typeof chunk>[];
      yield [good as Wire<typeof chunk>, Wire.ofBytes(chunk, Buffer.from("{"), true)];
    }
    const { events, error } = await outcomeOf(eventsOf(plain(), broken()));
    expect(error).toMatchObject({ reason: Reason.UPSTREAM_FAILED });
    expect(events).toHaveLength(3);
  });
});

test("a stream has a batch per batch, and passes on its caller's disconnect", async () => {
  let left = false;
  async function* endless(): Chunks {
    try {
      for (;;) yield* batches([piece({ content: "a" }), piece({ content: "b" })]);
    } finally {
      left = true;
    }
  }
  const sizes: number[] = [];
  for await (const batch of eventsOf(plain(), endless())) {
    sizes.push(batch.length);
    if (sizes.length === 3) break;
  }
  expect(sizes).toEqual([4, 2, 2]);
  expect(left).toBe(true);
});

describe("for any request", () => {
  test("the model gets a valid request or the caller a refusal, and nothing is lost unnamed", () => {
    let sound = 0;
    const once = (made: JsonObject) => {
      const { request, markers } = marked(made);
      let translated: Translated<"messages", "chat">;
      try {
        translated = translate({ request });
      } catch (error) {
        expect(error).toBeInstanceOf(Refusal);
        return;
      }
      sound += 1;
      const asked = translated.request.json();
      expectSoundRequest(asked);
      const text = JSON.stringify(asked);
      for (const [marker, path] of markers) {
        if (text.includes(marker)) continue;
        const named = translated.dropped.some(
          (name) => path === name || path.startsWith(`${name}.`) || path.startsWith(`${name}[`),
        );
        expect(named, `${path} is lost`).toBe(true);
      }
    };
    fc.assert(fc.property(anyRequest, once), { numRuns: 1000 });
    expect(sound).toBeGreaterThan(200);
  });
});

/** Makes unique texts, none of which may be lost. They are words: names of tools lose other signs in chat. */
const free = "§";

function marked(request: JsonObject): { request: JsonObject; markers: [marker: string, path: string][] } {
  const markers: [string, string][] = [];
  const walk = (value: JsonValue, path: string): JsonValue => {
    if (value === free) {
      const marker = `ö${markers.length}ö`;
      markers.push([marker, path]);
      return marker;
    }
    if (Array.isArray(value)) return value.map((item, i) => walk(item, `${path}[${i}]`));
    if (typeof value !== "object" || value === null) return value;
    const under = (key: string) => (path === "" ? key : `${path}.${key}`);
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, walk(item, under(key))]));
  };
  return { request: walk(request, "") as JsonObject, markers };
}

const text = fc.constant(free);
const rare = <T>(arb: Arbitrary<T>) => ({ arbitrary: arb, weight: 1 });
const often = <T>(arb: Arbitrary<T>) => ({ arbitrary: arb, weight: 6 });

/** Makes an object with some of the optional keys, and sometimes an unknown one. */
function made(required: Record<string, Arbitrary<JsonValue>>, optional: Record<string, Arbitrary<JsonValue>> = {}) {
  const known = fc.record({ ...required, ...optional }, { requiredKeys: Object.keys(required) });
  const odd = fc.oneof(
    often(fc.constant({})),
    rare(fc.constantFrom({ odd: free }, { cache_control: { type: "ephemeral" } }, { odd: null })),
  );
  return fc.tuple(known, odd).map(([a, b]) => ({ ...a, ...b }) as JsonObject);
}

const textBlocks = fc.array(made({ type: fc.constant("text"), text: fc.oneof(text, fc.constant("")) }), {
  maxLength: 3,
});
const sources = fc.oneof(
  often(made({ type: fc.constant("base64"), media_type: fc.constant("image/png"), data: text })),
  often(made({ type: fc.constant("url"), url: text })),
  rare(made({ type: fc.constantFrom("text", "content"), media_type: fc.constant("text/plain"), data: text })),
  rare(made({ type: fc.constant("content"), content: textBlocks })),
  rare(made({ type: fc.constant("file"), file_id: text })),
);
const name = fc.oneof(often(fc.constantFrom("f", "g")), rare(fc.constant("n".repeat(128))));
const someInput = fc.constantFrom<JsonValue>({}, { a: free, b: [free, 1, null] });
const plainBlock: Arbitrary<JsonObject> = fc.oneof(
  often(
    made(
      { type: fc.constant("text"), text },
      { citations: fc.constantFrom(null, [{ type: "char_location", cited_text: free }]) },
    ),
  ),
  made(
    { type: fc.constantFrom("image", "document"), source: sources },
    { title: text, context: text, citations: fc.constant({ enabled: true }) },
  ),
  made({ type: fc.constant("search_result"), source: text, title: text, content: textBlocks }),
  rare(made({ type: fc.constant("tool_reference"), tool_name: text })),
  rare(made({ type: fc.constantFrom("odd", "web_search_tool_result") }, { content: textBlocks })),
);
const toolResult = made(
  { type: fc.constant("tool_result"), tool_use_id: fc.constantFrom("t1", "t2") },
  {
    content: fc.oneof(text, fc.array(plainBlock, { maxLength: 3 }), fc.constant({ error: free })),
    is_error: fc.boolean(),
  },
);
const saidBlock: Arbitrary<JsonObject> = fc.oneof(
  often(made({ type: fc.constant("text"), text })),
  often(
    made(
      { type: fc.constant("tool_use"), id: text, name, input: someInput },
      { caller: fc.constantFrom({ type: "direct" }, { type: "odd", tool_id: free }) },
    ),
  ),
  made({ type: fc.constant("thinking"), thinking: text }, { signature: fc.oneof(text, fc.constant("")) }),
  made({ type: fc.constant("redacted_thinking"), data: text }),
  made({ type: fc.constant("server_tool_use"), id: text, name: text, input: someInput }),
  rare(plainBlock),
);
const message: Arbitrary<JsonObject> = fc.oneof(
  often(
    made({
      role: fc.constant("user"),
      content: fc.oneof(text, fc.array(fc.oneof(plainBlock, toolResult), { maxLength: 4 })),
    }),
  ),
  often(made({ role: fc.constant("assistant"), content: fc.oneof(text, fc.array(saidBlock, { maxLength: 4 })) })),
  rare(made({ role: fc.constant("system"), content: fc.oneof(text, textBlocks) })),
);
const tool: Arbitrary<JsonObject> = fc.oneof(
  often(
    made(
      { name },
      {
        type: fc.constant("custom"),
        description: text,
        input_schema: fc.constantFrom({ type: "object" }, { type: "object", properties: { a: { description: free } } }),
        strict: fc.boolean(),
      },
    ),
  ),
  rare(
    made(
      { type: fc.constant("web_search_20250305"), name: fc.constant("web_search") },
      {
        max_uses: fc.nat(),
        allowed_domains: fc.constant([free]),
        user_location: made({ type: fc.constant("approximate") }, { city: text, country: text }),
      },
    ),
  ),
  rare(made({ type: fc.constant("bash_20250124"), name: fc.constant("bash") })),
);
const anyRequest = made(
  {
    model: text,
    max_tokens: fc.oneof(often(fc.integer({ min: 1, max: 1e6 })), rare(fc.constant(0))),
    messages: fc.array(message, { minLength: 1, maxLength: 5 }),
  },
  {
    system: fc.oneof(
      text,
      textBlocks,
      fc.constant<JsonValue>([
        { type: "text", text: "x-anthropic-billing-header: 1" },
        { type: "text", text: free },
      ]),
    ),
    tools: fc.array(tool, { maxLength: 3 }),
    tool_choice: fc.oneof(
      made({ type: fc.constantFrom("auto", "any", "none", "odd") }, { disable_parallel_tool_use: fc.boolean() }),
      made({ type: fc.constant("tool"), name }),
    ),
    thinking: made(
      { type: fc.constantFrom("enabled", "disabled", "adaptive", "between_tools", "odd") },
      { budget_tokens: fc.nat(40_000), display: text },
    ),
    output_config: made(
      {},
      {
        effort: fc.constantFrom("low", "max", free),
        format: made({
          type: fc.constant("json_schema"),
          schema: fc.constantFrom(
            { type: "object", title: free },
            { anyOf: [{ type: ["object", "null"], additionalProperties: false }] },
          ),
        }),
      },
    ),
    stop_sequences: fc.array(text, { maxLength: 6 }),
    stream: fc.boolean(),
    metadata: made({}, { user_id: text, simulate_status: fc.constantFrom(429, free), team: text }),
    temperature: fc.double({ min: 0, max: 1, noNaN: true }),
    top_p: fc.double({ min: 0, max: 1, noNaN: true }),
    top_k: fc.nat(100),
    service_tier: text,
    speed: text,
    container: fc.oneof(text, fc.constant(null)),
  },
);

describe("for any stream of the upstream", () => {
  const odd = fc.constantFrom<JsonValue>(null, "", 0, [], {}, "x", -1, "\ud800");
  const callPiece = fc.record(
    {
      index: fc.oneof(often(fc.nat(2)), rare(odd)),
      id: fc.oneof(often(fc.constantFrom("a", "b", "c:1")), rare(odd)),
      type: fc.constantFrom("function", "custom", "odd"),
      function: fc.record(
        {
          name: fc.oneof(often(fc.constantFrom("f", "g")), rare(odd)),
          arguments: fc.oneof(often(fc.constantFrom("{", '"a":1', "}", "{}", " ")), rare(odd)),
        },
        { requiredKeys: [] },
      ),
    },
    { requiredKeys: [] },
  );
  const delta = fc.record(
    {
      role: fc.constantFrom("assistant", "", null),
      content: fc.oneof(often(fc.constantFrom("Hi", "世", "")), rare(odd)),
      reasoning_content: fc.oneof(fc.constant("Hm"), odd),
      reasoning: odd,
      refusal: fc.constantFrom(null, null, null, "No."),
      tool_calls: fc.oneof(often(fc.array(callPiece, { maxLength: 3 })), rare(odd)),
      function_call: fc.oneof(rare(fc.constant({ name: "old", arguments: "{}" })), often(fc.constant(null))),
    },
    { requiredKeys: [] },
  );
  const usage = fc.oneof(
    fc.constant({
      prompt_tokens: 9,
      completion_tokens: 2,
      total_tokens: 11,
      prompt_tokens_details: { cached_tokens: 20 },
    }),
    odd,
  );
  const anyChunk = fc.record(
    {
      id: fc.constant("c"),
      model: fc.constantFrom("v", ""),
      choices: fc.oneof(
        often(
          fc.array(
            fc.record({
              index: fc.constantFrom(0, 0, 0, 1),
              delta: fc.oneof(often(delta), rare(odd)),
              finish_reason: fc.oneof(
                often(fc.constant(null)),
                rare(fc.constantFrom("stop", "tool_calls", "length", "content_filter", "eos")),
              ),
            }),
            { maxLength: 2 },
          ),
        ),
        rare(odd),
      ),
      usage,
    },
    { requiredKeys: [] },
  ) as Arbitrary<JsonObject>;

  test("the events are valid, and the same in any batches, or the caller gets a refusal", async () => {
    let complete = 0;
    const once = async (chunks: JsonObject[], at: number) => {
      const { events, error } = await outcomeOf(eventsOf(plain(), batches(chunks)));
      if (error !== undefined) expect(error).toBeInstanceOf(Refusal);
      else complete += 1;
      expectEvents(events, error === undefined);
      const cut = await outcomeOf(
        eventsOf(plain(), batches(chunks.slice(0, at), ...chunks.slice(at).map((json) => [json]))),
      );
      expect(cut.events).toEqual(events);
    };
    await fc.assert(fc.asyncProperty(fc.array(anyChunk, { maxLength: 12 }), fc.nat(12), once), { numRuns: 1000 });
    expect(complete).toBeGreaterThan(100);
  });

  test("a stream and a unary answer are equal", async () => {
    const cuts = fc.array(fc.nat(40), { maxLength: 4 });
    const answer = fc.record({
      reasoning: fc.string({ maxLength: 12, unit: "grapheme" }),
      text: fc.string({ maxLength: 12, unit: "grapheme" }),
      calls: fc.array(
        fc.tuple(
          fc.dictionary(
            fc.string({ maxLength: 3 }).filter((key) => key !== "__proto__"),
            fc.string({ maxLength: 5 }),
            { maxKeys: 3 },
          ),
          cuts,
        ),
        { maxLength: 4 },
      ),
      finish: fc.constantFrom("stop", "length", "tool_calls", "content_filter", null),
      cuts,
      order: fc.array(fc.nat(3), { maxLength: 20 }),
    });
    const once = async ({
      reasoning,
      text: words,
      calls,
      finish,
      cuts: at,
      order,
    }: typeof answer extends Arbitrary<infer T> ? T : never) => {
      const toolCalls = calls.map(([arg], i) => ({
        id: `call_${i}`,
        type: "function",
        function: { name: `f${i}`, arguments: JSON.stringify(arg) },
      }));
      const body = {
        model: "v",
        choices: [
          {
            index: 0,
            message: { role: "assistant", reasoning_content: reasoning, content: words, tool_calls: toolCalls },
            finish_reason: finish ?? "eos",
          },
        ],
      };
      // The calls begin in order, and continue in any.
      const waiting = toolCalls.map((one, i) =>
        cutAt(one.function.arguments, calls[i]?.[1] ?? []).map((part) => ({ index: i, function: { arguments: part } })),
      );
      const begun = toolCalls.map((one, index) => ({ index, ...one, function: { ...one.function, arguments: "" } }));
      const turns = [...order, ...waiting.flatMap((parts, i) => parts.map(() => i))];
      const steps: JsonObject[] = [...begun, ...turns.flatMap((i) => waiting[i]?.splice(0, 1) ?? [])];
      const chunks = [
        ...cutAt(reasoning, at).map((part) => piece({ reasoning_content: part })),
        ...cutAt(words, at).map((part) => piece({ content: part })),
        ...steps.map((step) => piece({ tool_calls: [step] })),
        piece({}, finish ?? "eos"),
      ];
      const events = await allEvents(eventsOf(plain(), batches(chunks)));
      expectEvents(events);
      const expected = wholeOf(plain(), body);
      expectMessage(expected);
      expect(gathered(events)).toEqual(expected);
    };
    await fc.assert(fc.asyncProperty(answer, once), { numRuns: 500 });
  });
});

/** Cuts between characters, so that no piece ends inside one. */
function cutAt(whole: string, at: readonly number[]): string[] {
  const signs = Array.from(whole);
  const places = [0, ...at.map((place) => Math.min(place, signs.length)).sort((a, b) => a - b), signs.length];
  return places.slice(1).map((end, i) => signs.slice(places[i], end).join(""));
}

describe("tool inputs in very many pieces", () => {
  const callOf = (index: number | undefined, name: string, text: string) => ({
    ...{ id: "c", object: "chat.completion.chunk", created: 1, model: "m" },
    choices: [
      {
        index: 0,
        delta: {
          tool_calls: [
            {
              ...(index === undefined ? {} : { index, id: `call_${index}`, type: "function" }),
              function: { name, arguments: text },
            },
          ],
        },
      },
    ],
  });
  const end = { ...callOf(0, "f", ""), choices: [{ index: 0, delta: {}, finish_reason: "tool_calls" }] };

  /** The first input continues while a second call waits; and calls without index and id. */
  const streams: Readonly<Record<string, (pieces: number) => JsonObject[]>> = {
    "of a call that another waits for": (pieces) => [
      callOf(0, "f", '{"a":"'),
      callOf(1, "g", "{}"),
      ...Array.from({ length: pieces }, () => callOf(0, "", "0123456}9}")),
      callOf(0, "", '"}'),
      end,
    ],
    "of a call that says its name each time": (pieces) => [
      callOf(undefined, "f", '{"a":"'),
      ...Array.from({ length: pieces }, () => callOf(undefined, "f", "0123456}9}")),
      callOf(undefined, "f", '"}'),
      end,
    ],
  };

  for (const [name, chunksOf] of Object.entries(streams)) {
    test(`${name} are joined, and parsed a few times only`, async () => {
      const chunks = chunksOf(40_000);
      const wires = chunks.map((json) => Wire.ofJson(chunk, json, true));
      const parse = vi.spyOn(JSON, "parse");
      const copied = vi.spyOn(String.prototype, "trimEnd");
      try {
        const frames = (async function* () {
          for (const wire of wires) yield [wire];
        })();
        const events = await allEvents(eventsOf(plain(), frames));
        const deltas = events.filter(({ type }) => type === "content_block_delta");
        const inputs = deltas.map(({ delta }) => (delta as JsonObject).partial_json as string);
        expect(inputs.join("").length).toBeGreaterThan(400_000);
        expect(events.filter(({ type }) => type === "content_block_stop")).toHaveLength(
          name.includes("another") ? 2 : 1,
        );
        expect(parse.mock.calls.length).toBeLessThan(10);
        expect(copied.mock.calls.length).toBeLessThan(10);
      } finally {
        parse.mockRestore();
        copied.mockRestore();
      }
    });
  }
});
