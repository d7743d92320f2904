import type { JsonObject } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { ChatCompletionChunkSchema, ChatCompletionSchema } from "../../../gen/modelgateway/v1/chat_pb.ts";
import {
  CreateResponseRequestSchema,
  ModelResponseSchema,
  ResponseStreamEventSchema,
} from "../../../gen/modelgateway/v1/responses_pb.ts";
import type { Answer, Frames } from "../../../src/call/call.ts";
import type { Form } from "../../../src/call/operations.ts";
import { Refusal, upstreamFailed } from "../../../src/call/refusals.ts";
import { responsesToChat } from "../../../src/families/responses-to-chat/index.ts";
import type { TranslationContext } from "../../../src/families/translation.ts";
import { runNow } from "../../../src/runtime/cooperative.ts";
import { SseReader } from "../../../src/wire/sse.ts";
import { Wire } from "../../../src/wire/wire.ts";
import { type Batches, framesOf, goldensOf } from "../../support/translations/goldens.ts";
import { expectStrict } from "../../support/translations/round-trip.ts";

interface Golden {
  readonly name: string;
  readonly request: JsonObject;
  readonly context?: Partial<TranslationContext>;
  /** The upstream's request for a unary answer. For a stream it also has stream options. */
  readonly upstream: JsonObject;
  readonly dropped: readonly string[];
  /** The upstream's unary answer, and the caller's. */
  readonly answer?: JsonObject;
  readonly response?: JsonObject;
  /** The upstream's chunks, and the caller's events. */
  readonly chunks?: readonly JsonObject[];
  readonly events?: readonly JsonObject[];
}

const goldens = goldensOf<Golden>("responses-to-chat");

function translate(request: JsonObject, form: Form, context: Partial<TranslationContext> = {}) {
  const whole = {
    form,
    maxOutputTokens: undefined,
    answerId: "7qb",
    now: 1800000000,
    estimateTokens: () => 0,
    ...context,
  };
  return runNow(responsesToChat.translate(Wire.ofJson(CreateResponseRequestSchema, request), whole));
}

async function collected(answer: Answer, events: JsonObject[] = []): Promise<JsonObject[]> {
  if (answer.kind !== "stream") throw new Error("the answer is no stream");
  for await (const batch of answer.frames) {
    expect(batch.length).toBeGreaterThan(0);
    events.push(...batch.map((event) => JSON.parse(event.bytes().toString())));
  }
  return events;
}

function streamed({ request, context }: Golden, batches: Batches): Promise<JsonObject[]> {
  return collected(translate(request, "stream", context).answer({ kind: "stream", frames: framesOf(batches) }));
}

function whole({ request, context, answer }: Golden): JsonObject {
  const body = Wire.ofJson(ChatCompletionSchema, answer as JsonObject, true);
  const translated = translate(request, "whole", context).answer({ kind: "whole", body });
  if (translated.kind !== "whole") throw new Error("the answer is not whole");
  return JSON.parse(translated.body.bytes().toString()) as JsonObject;
}

function essence({ status, incomplete_details, model, output, usage }: JsonObject): JsonObject {
  return { status, incomplete_details, model, output, usage } as JsonObject;
}

function brief({ sequence_number: _, ...event }: JsonObject): JsonObject {
  return event.response
    ? { ...event, response: (event.response as JsonObject).status as string }
    : (event as JsonObject);
}

for (const golden of goldens) {
  describe(golden.name, () => {
    test("is translated for the chat model", () => {
      const { request, dropped } = translate(golden.request, "whole", golden.context);
      expect(request.json()).toEqual(golden.upstream);
      expect(dropped).toEqual(golden.dropped);
      expect(translate(golden.request, "stream", golden.context).request.json()).toEqual({
        ...golden.upstream,
        stream: true,
        stream_options: { include_usage: true },
      });
    });

    test("is translated alike from a typed request", () => {
      const message = Wire.ofJson(CreateResponseRequestSchema, golden.request).message();
      const typed = Wire.ofMessage(CreateResponseRequestSchema, message);
      const context = {
        form: "whole",
        maxOutputTokens: undefined,
        answerId: "7qb",
        now: 0,
        estimateTokens: () => 0,
        ...golden.context,
      } as const;
      const { request, dropped } = runNow(responsesToChat.translate(typed, context));
      expect(request.json()).toEqual(golden.upstream);
      expect([...dropped].sort()).toEqual([...golden.dropped].sort());
    });

    if (golden.answer)
      test("has a unary answer", () => {
        const response = whole(golden);
        expect(essence(response)).toEqual(golden.response);
        expectStrict(ModelResponseSchema, response);
      });

    if (golden.chunks)
      test("has a streamed answer", async () => {
        const chunks = golden.chunks as JsonObject[];
        const events = await streamed(
          golden,
          chunks.map((chunk) => [chunk]),
        );
        expect(events.map(brief)).toEqual(golden.events);
        expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, i) => i));
        for (const event of events) expectStrict(ResponseStreamEventSchema, event);
        expect(await streamed(golden, [chunks])).toEqual(events);
        expectWellFormed(events);
      });

    if (golden.answer && golden.chunks)
      test("ends its stream in the unary response", async () => {
        const events = await streamed(golden, [golden.chunks as JsonObject[]]);
        expect(events.at(-1)?.response).toEqual(whole(golden));
      });
  });
}

/** Every item begins and ends once, with its pieces in between, and the final response has what the items said. */
function expectWellFormed(events: readonly JsonObject[]): void {
  const open = new Map<unknown, string>();
  const ended: JsonObject[] = [];
  for (const { type, output_index, item, delta } of events) {
    if (type === "response.output_item.added") {
      expect(open.size + ended.filter(Boolean).length).toBe(output_index);
      open.set(output_index, "");
    } else if (type === "response.output_item.done") {
      expect(open.has(output_index)).toBe(true);
      open.delete(output_index);
      ended[output_index as number] = item as JsonObject;
      const { arguments: text, input } = item as { arguments?: string; input?: string };
      if (text !== undefined || input !== undefined) expect(text ?? input).toBeTypeOf("string");
    } else if (delta !== undefined) expect(open.has(output_index)).toBe(true);
  }
  expect(open.size).toBe(0);
  expect(events.at(-1)?.response).toMatchObject({ output: ended });
}

test("there are at least 25 golden files", () => {
  expect(goldens.length).toBeGreaterThanOrEqual(25);
});

test("a stream makes the same events wherever its bytes are cut", async () => {
  for (const golden of goldens.filter(({ chunks }) => chunks)) {
    const chunks = golden.chunks as JsonObject[];
    const bytes = Buffer.from(chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join(""));
    const expected = await streamed(golden, [chunks]);
    const step = Math.max(1, Math.floor(bytes.length / 150));
    for (let at = 1; at < bytes.length; at += step) {
      const reader = new SseReader();
      const batches = [bytes.subarray(0, at), bytes.subarray(at)].map((piece) =>
        reader.push(Buffer.from(piece)).map(({ data }) => JSON.parse(data.toString()) as JsonObject),
      );
      expect(await streamed(golden, batches), `${golden.name} cut at ${at}`).toEqual(expected);
    }
  }
});

describe("a caller of responses is refused, with the field and the reason,", () => {
  const user = (part: JsonObject) => ({ input: [{ role: "user", content: [part] }] });
  const refused: Record<string, readonly [JsonObject, param: string, words: RegExp]> = {
    "a prompt template": [{ prompt: { id: "p" } }, "prompt", /no prompt templates/],
    "an image by its id": [user({ type: "input_image", file_id: "f" }), "input[0].content[0]", /`image_url` only/],
    "a file by its address": [user({ type: "input_file", file_url: "u" }), "input[0].content[0]", /`file_data` only/],
    "content of another kind": [user({ type: "input_smell" }), "input[0].content[0].type", /cannot be given/],
    "a message without a role": [{ input: [{ content: "x" }] }, "input[0].role", /Missing/],
    "a message of a tool's": [{ input: [{ role: "tool", content: "x" }] }, "input[0].role", /expected user/],
    "a call without its id": [{ input: [{ type: "function_call", name: "f" }] }, "input[0].call_id", /Missing/],
    "a call without a name": [{ input: [{ type: "function_call", call_id: "c" }] }, "input[0].name", /Missing/],
    "a result without its call": [{ input: [{ type: "function_call_output" }] }, "input[0].call_id", /Missing/],
    "a reference that was not resolved": [{ input: [{ type: "item_reference", id: "msg_1" }] }, "input", /msg_1/],
    "a tool without a name": [{ tools: [{ type: "function" }] }, "tools[0].name", /Missing/],
    "a choice of a vendor's tool": [{ tool_choice: { type: "web_search" } }, "tool_choice", /no tools but/],
    "a schema that is not there": [{ text: { format: { type: "json_schema" } } }, "text.format.schema", /Missing/],
    "a key of chat of the wrong type": [{ seed: "x" }, "seed", /whole number/],
  };

  for (const [name, [request, param, words]] of Object.entries(refused)) {
    test(name, () => {
      let refusal: unknown;
      try {
        translate({ model: "m", ...request }, "whole", { customTools: true });
      } catch (error) {
        refusal = error;
      }
      expect(refusal).toBeInstanceOf(Refusal);
      expect(refusal).toMatchObject({ param, message: expect.stringMatching(words) });
    });
  }
});

describe("a stream", () => {
  const asked = { model: "m", input: "x" };
  const chunk = { id: "c", created: 1, model: "m", choices: [{ index: 0, delta: { content: "Hi" } }] };

  test("that fails gives its caller what came before, then the failure", async () => {
    const failure = upstreamFailed("it broke off its answer");
    const answer = translate(asked, "stream").answer({ kind: "stream", frames: framesOf([[chunk]], failure) });
    const events: JsonObject[] = [];
    await expect(collected(answer, events)).rejects.toBe(failure);
    expect(events.at(-1)).toMatchObject({ type: "response.output_text.delta", delta: "Hi" });
  });

  test("without a finish reason fails", async () => {
    const answer = translate(asked, "stream").answer({ kind: "stream", frames: framesOf([[chunk]]) });
    await expect(collected(answer)).rejects.toThrow(/broke off/);
  });

  test("stops at the upstream when its caller disconnects", async () => {
    let left = false;
    async function* endless(): Frames<typeof ChatCompletionChunkSchema> {
      try {
        while (true) yield [Wire.ofJson(ChatCompletionChunkSchema, chunk, true)];
      } finally {
        left = true;
      }
    }
    const answer = translate(asked, "stream").answer({ kind: "stream", frames: endless() });
    if (answer.kind !== "stream") throw new Error("the answer is no stream");
    for await (const _ of answer.frames) break;
    expect(left).toBe(true);
  });
});

test("an answer without a choice is the upstream's failure", () => {
  const body = Wire.ofJson(ChatCompletionSchema, { id: "c", choices: [] }, true);
  expect(() => translate({ model: "m" }, "whole").answer({ kind: "whole", body })).toThrow(/its answer is empty/);
});
