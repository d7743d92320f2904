import type { JsonObject } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { ChatCompletionSchema, CreateChatCompletionRequestSchema } from "../../../gen/modelgateway/v1/chat_pb.ts";
import { CreateMessageRequestSchema } from "../../../gen/modelgateway/v1/messages_pb.ts";
import {
  CreateResponseRequestSchema,
  ModelResponseSchema,
  ResponseStreamEventSchema,
} from "../../../gen/modelgateway/v1/responses_pb.ts";
import type { Answer, Frames } from "../../../src/call/call.ts";
import { Reason, Refusal, upstreamTimeout } from "../../../src/call/refusals.ts";
import { chatToResponses } from "../../../src/families/chat-to-responses/index.ts";
import { translateAll } from "../../../src/families/index.ts";
import { messagesToChat } from "../../../src/families/messages-to-chat/index.ts";
import type { Translation, TranslationContext } from "../../../src/families/translation.ts";
import { runNow } from "../../../src/runtime/cooperative.ts";
import { readMessage } from "../../../src/wire/read.ts";
import { SseReader } from "../../../src/wire/sse.ts";
import { Wire } from "../../../src/wire/wire.ts";
import { waysToCut } from "../../support/translations/cuts.ts";
import { goldensOf } from "../../support/translations/goldens.ts";
import { anthropicFrames, outputMessage, responseAnswer, responseEvents } from "../../support/vendors.ts";

interface Golden {
  readonly name: string;
  readonly context?: Partial<TranslationContext>;
  readonly request: JsonObject;
  readonly upstream: JsonObject;
  readonly dropped: readonly string[];
  /** The upstream's unary answer, and the caller's. */
  readonly answer?: JsonObject;
  readonly completion?: JsonObject;
  /** The upstream's events, and the caller's chunks. */
  readonly events?: readonly JsonObject[];
  readonly chunks?: readonly JsonObject[];
}

const goldens = goldensOf<Golden>("chat-to-responses");
const answered = goldens.filter(({ answer }) => answer);

const plain: TranslationContext = {
  ...{ form: "whole", maxOutputTokens: undefined, answerId: "7qb", now: 1800000000 },
  estimateTokens: () => 20,
};

function translate({ request, context }: Pick<Golden, "request" | "context">) {
  const wire = Wire.ofJson(CreateChatCompletionRequestSchema, request);
  return runNow(chatToResponses.translate(wire, { ...plain, ...context }));
}

type Events = Frames<typeof ResponseStreamEventSchema>;

async function* batches(...of: readonly (readonly JsonObject[])[]): Events {
  for (const batch of of)
    yield batch.map((event) => Wire.ofBytes(ResponseStreamEventSchema, Buffer.from(JSON.stringify(event)), true));
}

/** Reads a stream that comes in pieces. */
async function* framesOf(pieces: readonly Buffer[]): Events {
  const reader = new SseReader();
  for (const piece of pieces) {
    const frames = reader.push(piece);
    if (frames.length > 0) yield frames.map(({ data }) => Wire.ofBytes(ResponseStreamEventSchema, data, true));
  }
}

async function collected(answer: Answer): Promise<JsonObject[]> {
  if (answer.kind !== "stream") throw new Error("the answer is no stream");
  const told: JsonObject[] = [];
  for await (const batch of answer.frames) {
    if (batch.length === 0) expect.fail("a batch is empty");
    told.push(...batch.map((chunk) => chunk.json()));
  }
  return told;
}

function chunksOf(golden: Golden, frames: Events): Promise<JsonObject[]> {
  return collected(translate(golden).answer<"stream">({ kind: "stream", frames }));
}

function brief({ id, object, created, model, ...rest }: JsonObject): JsonObject {
  expect([id, object, created, typeof model]).toEqual(["chatcmpl-7qb", "chat.completion.chunk", 1800000000, "string"]);
  return rest as JsonObject;
}

describe.each(goldens)("$name", (golden) => {
  test("becomes a valid request for a response", () => {
    const { request, dropped } = translate(golden);
    expect(request.json()).toEqual(golden.upstream);
    expect(dropped).toEqual(golden.dropped);
    expect(() => readMessage(CreateResponseRequestSchema, request.json(), { lenient: false })).not.toThrow();
  });

  test("becomes the same from a typed request", () => {
    const message = Wire.ofJson(CreateChatCompletionRequestSchema, golden.request).message();
    const typed = Wire.ofMessage(CreateChatCompletionRequestSchema, message);
    const { request } = runNow(chatToResponses.translate(typed, { ...plain, ...golden.context }));
    expect(request.json()).toEqual(golden.upstream);
  });

  test("asks for a stream where the caller does", () => {
    const { request } = translate({ ...golden, context: { ...golden.context, form: "stream" } });
    expect(request.json()).toEqual({ ...golden.upstream, stream: true });
  });
});

describe.each(answered)("the answer to $name", (golden) => {
  test("is a chat completion", () => {
    const body = Wire.ofJson(ModelResponseSchema, golden.answer as JsonObject, true);
    const told = translate(golden).answer<"whole">({ kind: "whole", body });
    if (told.kind !== "whole") throw new Error("the answer is not whole");
    expect(told.body.json()).toEqual(golden.completion);
    expect(() => readMessage(ChatCompletionSchema, told.body.json(), { lenient: false })).not.toThrow();
  });

  test("has the same chunks, cut at every byte", async () => {
    const bytes = Buffer.from(anthropicFrames(...(golden.events ?? [])));
    const whole = await chunksOf(golden, framesOf([bytes]));
    expect(whole.map(brief)).toEqual(golden.chunks);
    for (const pieces of waysToCut(bytes)) {
      expect(await chunksOf(golden, framesOf(pieces)), `cut at ${pieces[0]?.length}`).toEqual(whole);
    }
  });

  test("is the same streamed and unary", async () => {
    const chunks = await chunksOf(golden, batches(...(golden.events ?? []).map((event) => [event])));
    const said = { content: "", reasoning_content: "", refusal: "" };
    for (const { choices } of chunks) {
      const [choice] = choices as JsonObject[];
      const delta = (choice?.delta ?? {}) as JsonObject;
      for (const key of ["content", "reasoning_content", "refusal"] as const) said[key] += (delta[key] ?? "") as string;
    }
    const [{ message }] = (golden.completion as JsonObject).choices as unknown as [{ message: JsonObject }];
    const { content, reasoning_content = "", refusal } = message;
    expect(said).toEqual({ content: content ?? "", reasoning_content, refusal: refusal ?? "" });
  });

  test.each([1, 2, 5])("fails where the stream breaks off %i events before its end", async (missing) => {
    const events = (golden.events ?? []).slice(0, -missing);
    await expect(chunksOf(golden, batches(events))).rejects.toMatchObject({ reason: Reason.UPSTREAM_FAILED });
  });
});

test("a caller of a failing stream gets what came before, and then the same failure", async () => {
  const failure = upstreamTimeout();
  async function* failing(): Events {
    yield* batches(responseEvents(responseAnswer([outputMessage("Hello")])).slice(0, 5) as JsonObject[]);
    throw failure;
  }
  const told: JsonObject[] = [];
  const answer = translate({ request: { model: "m", messages: [] } }).answer<"stream">({
    kind: "stream",
    frames: failing(),
  });
  const reading = async () => {
    if (answer.kind === "stream")
      for await (const batch of answer.frames) told.push(...batch.map((chunk) => chunk.json()));
  };
  await expect(reading()).rejects.toBe(failure);
  expect(told.map(({ choices }) => (choices as unknown as [{ delta: JsonObject }])[0].delta.content)).toEqual([
    "",
    "Hel",
  ]);
});

describe("a chat caller is refused", () => {
  const cases: Readonly<Record<string, readonly [JsonObject, param: string]>> = {
    "several choices": [{ n: 2 }, "n"],
    sound: [
      { messages: [{ role: "user", content: [{ type: "input_audio", input_audio: { data: "AA", format: "wav" } }] }] },
      "messages[0].content[0].input_audio",
    ],
    "an image without an address": [
      { messages: [{ role: "user", content: [{ type: "image_url", image_url: {} }] }] },
      "messages[0].content[0].image_url.url",
    ],
    "a file without anything in it": [
      { messages: [{ role: "user", content: [{ type: "file", file: {} }] }] },
      "messages[0].content[0].file.file_data",
    ],
    "content that nobody knows": [
      { messages: [{ role: "user", content: [{ type: "novel" }] }] },
      "messages[0].content[0].type",
    ],
  };

  test.each(Object.entries(cases))("%s", (_, [more, param]) => {
    const request = { model: "m", messages: [{ role: "user", content: "hi" }], ...more };
    const refusal = (() => {
      try {
        translate({ request });
      } catch (error) {
        return error;
      }
      return undefined;
    })();
    expect(refusal).toBeInstanceOf(Refusal);
    expect(refusal).toMatchObject({ status: 400, param });
  });
});

test("the output bound is at most the model's maximum", () => {
  const request = { model: "m", messages: [{ role: "user", content: "hi" }], max_tokens: 100_000 };
  const { request: asked } = translate({ request, context: { maxOutputTokens: 4096 } });
  expect(asked.json().max_output_tokens).toBe(4096);
});

describe("a caller of the Messages API", () => {
  const way = [messagesToChat, chatToResponses] as unknown as readonly Translation[];
  const reasoningItems = { upstream: "far", areAskedFor: true, taken: "encrypted" } as const;
  const tool = { name: "weather", input_schema: { type: "object", properties: { city: { type: "string" } } } };
  const first = {
    model: "m",
    max_tokens: 100,
    system: "Be brief.",
    thinking: { type: "adaptive" },
    output_config: { effort: "high" },
    messages: [{ role: "user", content: "How warm?" }],
    tools: [tool],
  };
  const call = {
    ...{ id: "fc_v1", type: "function_call", status: "completed", call_id: "call_1", name: "weather" },
    arguments: '{"city":"Rome"}',
  };
  const hidden = { id: "rs_v1", type: "reasoning", summary: [], encrypted_content: "gAAA-rs_v1" };
  const shown = { ...hidden, summary: [{ type: "summary_text", text: "Where?" }] };

  const along = (request: JsonObject, context: Partial<TranslationContext> = {}) =>
    runNow(
      translateAll(way, Wire.ofJson(CreateMessageRequestSchema, request), { ...plain, reasoningItems, ...context }),
    );

  test("is translated twice, in its own words", () => {
    const { request, dropped } = along(first);
    expect(dropped).toEqual([]);
    expect(request.json()).toEqual({
      model: "m",
      input: [
        { type: "message", role: "system", content: "Be brief." },
        { type: "message", role: "user", content: "How warm?" },
      ],
      tools: [{ type: "function", name: "weather", parameters: tool.input_schema, strict: false }],
      max_output_tokens: 100,
      reasoning: { effort: "high" },
      include: ["reasoning.encrypted_content"],
      store: false,
    });
  });

  test.each([
    ["shown", shown],
    ["hidden", hidden],
  ])("sends reasoning that is %s back with its tool results, unary and streamed", async (_, thought) => {
    const response = responseAnswer([thought, call]) as JsonObject;
    const whole = along(first).answer({ kind: "whole", body: Wire.ofJson(ModelResponseSchema, response, true) });
    const streamed = along(first, { form: "stream" }).answer({
      kind: "stream",
      frames: batches(responseEvents(response) as JsonObject[]),
    } as never);
    if (whole.kind !== "whole") throw new Error("the answer is not whole");
    const { content, stop_reason } = whole.body.json() as { content: JsonObject[]; stop_reason: string };
    expect(stop_reason).toBe("tool_use");
    expect(blocksIn(await collected(streamed))).toEqual(
      content.map(({ caller: _c, citations: _d, ...block }) => block),
    );
    const results = { role: "user", content: [{ type: "tool_result", tool_use_id: "call_1", content: "20" }] };
    const next = { ...first, messages: [...first.messages, { role: "assistant", content }, results] };
    const { request, dropped } = along(next);
    expect(dropped).toEqual([]);
    const { status: _s, id: _i, ...called } = call;
    const output = { type: "function_call_output", call_id: "call_1", output: "20" };
    expect((request.json().input as JsonObject[]).slice(2)).toEqual([thought, called, output]);
    // Another upstream could not read it.
    const elsewhere = along(next, { reasoningItems: { ...reasoningItems, upstream: "near" } });
    expect((elsewhere.request.json().input as JsonObject[]).slice(2)).toEqual([called, output]);
  });

  test("gets no sealed reasoning from a server of chat", () => {
    const content = [
      { type: "redacted_thinking", data: "reasoning:e30" },
      { type: "text", text: "Hello" },
    ];
    const messages = [...first.messages, { role: "assistant", content }, { role: "user", content: "And?" }];
    const wire = Wire.ofJson(CreateMessageRequestSchema, { ...first, messages });
    const { request, dropped } = runNow(messagesToChat.translate(wire, plain));
    expect((request.json().messages as JsonObject[])[2]).toEqual({ role: "assistant", content: "Hello" });
    expect(dropped).toEqual(["messages[1].content[0]"]);
  });
});

/** Joins the blocks of a streamed message. */
function blocksIn(events: readonly JsonObject[]): JsonObject[] {
  const blocks: Record<string, unknown>[] = [];
  let input = "";
  for (const { type, content_block: begun, delta } of events) {
    const block = blocks.at(-1);
    const { thinking = "", signature = "", partial_json = "" } = (delta ?? {}) as Record<string, string>;
    if (type === "content_block_start") {
      const { caller: _c, citations: _d, ...known } = begun as JsonObject;
      blocks.push({ ...known });
      input = "";
    } else if (type === "content_block_delta" && block) {
      input += partial_json;
      if (block.type === "thinking") {
        block.thinking = `${block.thinking}${thinking}`;
        block.signature = `${block.signature}${signature}`;
      }
    } else if (type === "content_block_stop" && block?.type === "tool_use") block.input = JSON.parse(input);
  }
  return blocks as JsonObject[];
}
