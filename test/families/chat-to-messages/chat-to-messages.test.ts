import { describe, expect, test } from "vitest";
import {
  type ChatCompletionChunkSchema,
  ChatCompletionSchema,
  CreateChatCompletionRequestSchema,
} from "../../../gen/modelgateway/v1/chat_pb.ts";
import { MessageSchema, MessageStreamEventSchema } from "../../../gen/modelgateway/v1/messages_pb.ts";
import type { Frames } from "../../../src/call/call.ts";
import type { Form } from "../../../src/call/operations.ts";
import { Reason, Refusal } from "../../../src/call/refusals.ts";
import { chatToMessages } from "../../../src/families/chat-to-messages/index.ts";
import { runNow } from "../../../src/runtime/cooperative.ts";
import type { JsonObject } from "../../../src/wire/json.ts";
import { readMessage } from "../../../src/wire/read.ts";
import { SseReader } from "../../../src/wire/sse.ts";
import { Wire } from "../../../src/wire/wire.ts";
import { waysToCut } from "../../support/translations/cuts.ts";
import { goldensOf } from "../../support/translations/goldens.ts";

interface Case {
  readonly name: string;
  readonly request: JsonObject;
  readonly context?: { readonly maxOutputTokens: number };
  readonly expectedRequest: JsonObject;
  readonly dropped: readonly string[];
  /** The parameter that the request is refused for; nothing else is expected then. */
  readonly refused?: string;
  readonly answer?: JsonObject;
  readonly expectedAnswer?: JsonObject;
  /** The upstream's events. */
  readonly stream?: readonly JsonObject[];
  readonly expectedStream?: readonly Piece[];
}

/** What a chunk has besides the members of all chunks: one of these. */
interface Piece {
  readonly delta?: JsonObject;
  readonly finish?: string;
  readonly usage?: JsonObject;
}

const cases = goldensOf<Case>("chat-to-messages");
const answered = cases.filter(({ answer }) => answer !== undefined);
const streamed = cases.filter(({ stream }) => stream !== undefined);

const id = "chatcmpl-a1";
const created = 1_790_000_000;

function translate({ request, context }: Case, form: Form = "whole", typed = false) {
  const json = Wire.ofJson(CreateChatCompletionRequestSchema, request);
  const wire = typed ? Wire.ofMessage(CreateChatCompletionRequestSchema, json.message()) : json;
  const maxOutputTokens = context?.maxOutputTokens;
  return runNow(
    chatToMessages.translate(wire, {
      form,
      maxOutputTokens,
      answerId: "a1",
      now: created,
      estimateTokens: () => 0,
    }),
  );
}

describe("the request", () => {
  for (const golden of cases.filter(({ refused }) => refused === undefined)) {
    test(`is translated: ${golden.name}`, () => {
      const { expectedRequest, dropped } = golden;
      const whole = translate(golden);
      expect(whole.request.json()).toEqual(expectedRequest);
      expect(whole.dropped).toEqual(dropped);
      const stream = translate(golden, "stream");
      expect(stream.request.json()).toEqual({ ...expectedRequest, stream: true });
      expect(stream.dropped).toEqual(dropped);
    });

    test(`is the same for a typed caller: ${golden.name}`, () => {
      const typed = translate(golden, "whole", true);
      expect(typed.request.json()).toEqual(golden.expectedRequest);
      expect([...typed.dropped].sort()).toEqual([...golden.dropped].sort());
    });
  }

  for (const golden of cases) {
    if (golden.refused === undefined) continue;
    test(`is refused: ${golden.name}`, () => {
      const refusal = thrownBy(() => translate(golden));
      expect(refusal).toBeInstanceOf(Refusal);
      expect(refusal).toMatchObject({ reason: Reason.INVALID_VALUE, status: 400, param: golden.refused });
    });
  }
});

function thrownBy(act: () => unknown): unknown {
  try {
    act();
  } catch (error) {
    return error;
  }
  return undefined;
}

describe("the unary answer", () => {
  for (const golden of answered) {
    test(`is translated: ${golden.name}`, () => {
      const completion = wholeAnswer(golden);
      expect(completion).toEqual(golden.expectedAnswer);
      checkCompletion(completion);
      readMessage(ChatCompletionSchema, completion, { lenient: false });
    });
  }

  test("that cannot be read is the upstream's failure", () => {
    const { answer } = translate(answered[0] as Case);
    const body = Wire.ofBytes(MessageSchema, Buffer.from("[]"), true);
    expect(thrownBy(() => answer({ kind: "whole", body }))).toMatchObject({ reason: Reason.UPSTREAM_FAILED });
  });
});

function wholeAnswer(golden: Case): JsonObject {
  const body = Wire.ofBytes(MessageSchema, Buffer.from(JSON.stringify(golden.answer)), true);
  const answer = translate(golden).answer<"whole">({ kind: "whole", body });
  if (answer.kind !== "whole") throw new Error("the answer is not whole");
  return answer.body.json();
}

describe("the stream", () => {
  for (const golden of streamed) {
    test(`is translated: ${golden.name}`, async () => {
      const chunks = await read(golden, [bytesOf(golden)]);
      expect(chunks).toEqual(chunksOf(golden));
      checkChunks(chunks);
    });

    test(`is the same wherever its bytes are cut: ${golden.name}`, async () => {
      const bytes = bytesOf(golden);
      const expected = await read(golden, [bytes]);
      for (const pieces of waysToCut(bytes)) {
        expect(await read(golden, pieces), `cut at ${pieces[0]?.length}`).toEqual(expected);
      }
    });

    test(`fails where it breaks off, after what came before: ${golden.name}`, async () => {
      const events = golden.stream as readonly JsonObject[];
      const all = chunksOf(golden);
      for (let n = 0; n <= events.findIndex(({ type }) => type === "message_stop"); n++) {
        const seen: JsonObject[] = [];
        const broken = read({ ...golden, stream: events.slice(0, n) }, undefined, seen);
        await expect(broken, `after ${n} events`).rejects.toMatchObject({ reason: Reason.UPSTREAM_FAILED });
        expect(seen).toEqual(all.slice(0, seen.length));
        expect(seen.some(({ choices, usage }) => usage && (choices as unknown[]).length === 0)).toBe(false);
      }
    });
  }

  for (const golden of streamed.filter(({ answer }) => answer !== undefined)) {
    test(`joined is the unary answer: ${golden.name}`, async () => {
      const chunks = await read(golden, [bytesOf(golden)]);
      const { choices, usage } = wholeAnswer(golden) as {
        choices: { message: JsonObject; finish_reason: string }[];
      } & JsonObject;
      const { content, ...message } = choices[0]?.message ?? {};
      const { usage: streamedUsage, ...rest } = together(chunks);
      expect(rest).toEqual({ finish_reason: choices[0]?.finish_reason, ...message, content: content ?? "" });
      if (streamedUsage !== undefined) expect(streamedUsage).toEqual(usage);
    });
  }

  test("has one batch for everything that came at once, and none for events without content", async () => {
    const golden = named("a plain question, as the OpenAI SDK sends it");
    const events = eventsOf(golden.stream ?? []);
    const batches: number[] = [];
    for await (const batch of framesOf(golden, [events.slice(0, 4), events.slice(2, 3), events.slice(5)])) {
      batches.push(batch.length);
    }
    expect(batches).toEqual([2, 3]);
  });

  test("passes an upstream's failure on unchanged, after what came before it", async () => {
    const golden = named("a plain question, as the OpenAI SDK sends it");
    const failure = new Error("the upstream's own");
    const { answer } = translate(golden, "stream");
    async function* frames(): Frames<typeof MessageStreamEventSchema> {
      yield eventsOf((golden.stream ?? []).slice(0, 4));
      throw failure;
    }
    const seen: JsonObject[] = [];
    await expect(drain(answer<"stream">({ kind: "stream", frames: frames() }), seen)).rejects.toBe(failure);
    expect(seen).toEqual(chunksOf(golden).slice(0, 2));
  });

  test("fails on an event that is not JSON, after what came before it in the same batch", async () => {
    const golden = named("a plain question, as the OpenAI SDK sends it");
    const broken = Wire.ofBytes(MessageStreamEventSchema, Buffer.from('{"type":'), true);
    const frames = framesOf(golden, [[...eventsOf((golden.stream ?? []).slice(0, 4)), broken]]);
    const seen: JsonObject[] = [];
    await expect(drain({ kind: "stream", frames }, seen)).rejects.toMatchObject({ reason: Reason.UPSTREAM_FAILED });
    expect(seen).toEqual(chunksOf(golden).slice(0, 2));
  });

  test("stops the upstream when the caller disconnects", async () => {
    const golden = named("a plain question, as the OpenAI SDK sends it");
    let stopped = false;
    async function* frames(): Frames<typeof MessageStreamEventSchema> {
      try {
        for (const event of eventsOf(golden.stream ?? [])) yield [event];
      } finally {
        stopped = true;
      }
    }
    const answer = translate(golden, "stream").answer<"stream">({ kind: "stream", frames: frames() });
    if (answer.kind !== "stream") throw new Error("the answer is not a stream");
    for await (const _ of answer.frames) break;
    expect(stopped).toBe(true);
  });
});

function named(name: string): Case {
  return cases.find((golden) => golden.name === name) as Case;
}

function eventsOf(stream: readonly JsonObject[]): Wire<typeof MessageStreamEventSchema>[] {
  return stream.map((event) => Wire.ofBytes(MessageStreamEventSchema, Buffer.from(JSON.stringify(event)), true));
}

function bytesOf({ stream = [] }: Case): Buffer {
  return Buffer.from(stream.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(""));
}

type Chunks = Frames<typeof ChatCompletionChunkSchema>;

function framesOf(golden: Case, batches: readonly (readonly Wire<typeof MessageStreamEventSchema>[])[]): Chunks {
  async function* frames(): Frames<typeof MessageStreamEventSchema> {
    yield* batches;
  }
  const answer = translate(golden, "stream").answer<"stream">({ kind: "stream", frames: frames() });
  if (answer.kind !== "stream") throw new Error("the answer is not a stream");
  return answer.frames;
}

/** Reads the chunks of a stream that comes in these pieces. */
async function read(golden: Case, pieces: readonly Buffer[] = [bytesOf(golden)], seen: JsonObject[] = []) {
  const reader = new SseReader();
  const batches = pieces.map((piece) =>
    reader.push(piece).map(({ data }) => Wire.ofBytes(MessageStreamEventSchema, data, true)),
  );
  return drain({ kind: "stream", frames: framesOf(golden, batches) }, seen);
}

async function drain(answer: { kind: "stream"; frames: Chunks } | { kind: "whole" }, seen: JsonObject[]) {
  if (answer.kind !== "stream") throw new Error("the answer is not a stream");
  for await (const batch of answer.frames) for (const chunk of batch) seen.push(chunk.json());
  return seen;
}

/** Writes the expected pieces as chunks. */
function chunksOf({ request, expectedStream = [] }: Case): JsonObject[] {
  const includeUsage = (request.stream_options as JsonObject | undefined)?.include_usage === true;
  return expectedStream.map(({ delta = {}, finish = null, usage }) => ({
    id,
    object: "chat.completion.chunk",
    created,
    model: "claude-upstream-1",
    choices: usage ? [] : [{ index: 0, delta, logprobs: null, finish_reason: finish }],
    ...(includeUsage ? { usage: usage ?? null } : {}),
  }));
}

/** Joins chunks as clients do. */
function together(chunks: readonly JsonObject[]): JsonObject {
  const message: Record<string, unknown> = { refusal: null };
  const calls: JsonObject[] = [];
  for (const { choices, usage } of chunks) {
    if (usage) message.usage = usage;
    for (const { delta, finish_reason } of choices as { delta: JsonObject; finish_reason: string | null }[]) {
      if (finish_reason !== null) message.finish_reason = finish_reason;
      for (const { index, ...call } of (delta.tool_calls ?? []) as ({ index: number } & JsonObject)[]) {
        calls[index] = grown(calls[index] ?? {}, call);
      }
      const { tool_calls: _, ...rest } = delta;
      Object.assign(message, grown(message as JsonObject, rest));
    }
  }
  return { ...(message as JsonObject), ...(calls.length > 0 ? { tool_calls: calls } : {}) };
}

/** Texts and lists grow, objects grow by their members; an id or type comes once. */
function grown(before: JsonObject, more: JsonObject): JsonObject {
  const after: JsonObject = { ...before };
  for (const [key, value] of Object.entries(more)) {
    const old = before[key] ?? null;
    if (old === null) after[key] = value;
    else if (typeof old === "string") after[key] = old + value;
    else if (Array.isArray(old)) after[key] = [...old, ...(value as JsonObject[])];
    else after[key] = grown(old as JsonObject, value as JsonObject);
  }
  return after;
}

const finishReasons = ["stop", "length", "tool_calls", "content_filter", "function_call"];
const text = expect.any(String);
const count = expect.any(Number);

/** What strict clients require of a completion. */
function checkCompletion(completion: JsonObject): void {
  expect(completion).toMatchObject({ id: text, object: "chat.completion", created: count, model: text });
  checkUsage(completion.usage as JsonObject);
  const [choice, ...others] = completion.choices as { message: JsonObject; finish_reason: string }[];
  expect(others).toEqual([]);
  expect(choice).toMatchObject({ index: 0, logprobs: null, message: { role: "assistant" } });
  expect(finishReasons).toContain(choice?.finish_reason);
  const { content, refusal, tool_calls: calls, annotations } = choice?.message ?? {};
  for (const value of [content, refusal]) expect(value === null || typeof value === "string").toBe(true);
  if (calls !== undefined) expect((calls as unknown[]).length).toBeGreaterThan(0);
  for (const call of (calls ?? []) as JsonObject[]) {
    if (call.type === "custom") expect(call).toMatchObject({ id: text, custom: { name: text, input: text } });
    else expect(call).toMatchObject({ id: text, type: "function", function: { name: text, arguments: text } });
  }
  for (const annotation of (annotations ?? []) as JsonObject[]) {
    const citation = { start_index: count, end_index: count, title: text, url: text };
    expect(annotation).toMatchObject({ type: "url_citation", url_citation: citation });
  }
}

function checkUsage(usage: JsonObject): void {
  const { prompt_tokens: input, completion_tokens: output, total_tokens: total } = usage as Record<string, number>;
  expect(usage).toMatchObject({ prompt_tokens: count, completion_tokens: count, total_tokens: count });
  expect(total).toBe((input ?? 0) + (output ?? 0));
  const { cached_tokens = 0, cache_write_tokens = 0 } = usage.prompt_tokens_details as Record<string, number>;
  expect((input ?? 0) - cached_tokens - cache_write_tokens).toBeGreaterThanOrEqual(0);
}

/** What the clients' helpers require. */
function checkChunks(chunks: readonly JsonObject[]): void {
  const choices = chunks.flatMap((chunk) => chunk.choices as { delta: JsonObject; finish_reason: string | null }[]);
  expect(choices[0]?.delta).toEqual({ role: "assistant", content: "" });
  expect(choices.filter(({ delta }) => "role" in delta).length).toBe(1);
  const reasons = choices.map(({ finish_reason }) => finish_reason).filter((reason) => reason !== null);
  expect(reasons.length).toBe(1);
  expect(finishReasons).toContain(reasons[0]);
  expect(choices.at(-1)?.finish_reason).toBe(reasons[0]);
  const known: JsonObject[] = [];
  for (const { delta } of choices) {
    for (const call of (delta.tool_calls ?? []) as ({ index: number } & JsonObject)[]) {
      if (call.index === known.length) {
        expect(call).toMatchObject({ id: text, type: /^(?:function|custom)$/.exec(String(call.type))?.[0] });
        known.push(call);
      } else {
        expect(known[call.index]).toBeDefined();
        expect(Object.keys(call).sort()).toEqual([call.custom ? "custom" : "function", "index"]);
      }
      if (!call.custom) expect(call.function).toMatchObject({ arguments: text });
    }
  }
}
