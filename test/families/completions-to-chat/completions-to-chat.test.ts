import type { DescMessage, JsonObject } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { ChatCompletionChunkSchema, ChatCompletionSchema } from "../../../gen/modelgateway/v1/chat_pb.ts";
import { CompletionSchema, CreateCompletionRequestSchema } from "../../../gen/modelgateway/v1/completions_pb.ts";
import type { Answer, Frames } from "../../../src/call/call.ts";
import type { Form } from "../../../src/call/operations.ts";
import { asRefusal, Refusal, upstreamFailed } from "../../../src/call/refusals.ts";
import { completionsToChat } from "../../../src/families/completions-to-chat/index.ts";
import type { TranslationContext } from "../../../src/families/translation.ts";
import { runNow } from "../../../src/runtime/cooperative.ts";
import { readMessage } from "../../../src/wire/read.ts";
import { Wire } from "../../../src/wire/wire.ts";
import { type Batches, framesOf, goldensOf } from "../../support/translations/goldens.ts";

interface Golden {
  readonly name: string;
  readonly request: JsonObject;
  readonly context?: Partial<TranslationContext>;
  /** The upstream's request for a stream. For a unary answer it is the same without stream options. */
  readonly upstream: JsonObject;
  readonly dropped: readonly string[];
  /** The upstream's unary answer, and the caller's. */
  readonly answer: JsonObject;
  readonly completion: JsonObject;
  /** The upstream's chunks by batch, and the caller's. */
  readonly batches: readonly (readonly JsonObject[])[];
  readonly pieces: readonly (readonly JsonObject[])[];
}

const goldens = goldensOf<Golden>("completions-to-chat");

function translate(request: JsonObject, form: Form, context: Partial<TranslationContext> = {}) {
  const whole = {
    form,
    maxOutputTokens: undefined,
    answerId: "7qb",
    now: 1800000000,
    estimateTokens: () => 0,
    ...context,
  };
  return runNow(completionsToChat.translate(Wire.ofJson(CreateCompletionRequestSchema, request), whole));
}

async function collected(answer: Answer, pieces: JsonObject[][] = []): Promise<JsonObject[][]> {
  if (answer.kind !== "stream") throw new Error("the answer is no stream");
  for await (const batch of answer.frames) pieces.push(batch.map((piece) => JSON.parse(piece.bytes().toString())));
  return pieces;
}

function streamed({ request, context }: Golden, batches: Batches): Promise<JsonObject[][]> {
  return collected(translate(request, "stream", context).answer({ kind: "stream", frames: framesOf(batches) }));
}

function whole({ request, context, answer }: Golden): JsonObject {
  const body = Wire.ofJson(ChatCompletionSchema, answer, true);
  const translated = translate(request, "whole", context).answer({ kind: "whole", body });
  if (translated.kind !== "whole") throw new Error("the answer is not whole");
  return JSON.parse(translated.body.bytes().toString()) as JsonObject;
}

/** Joins pieces as a client does. */
function joined(pieces: readonly JsonObject[]): JsonObject {
  const choices = new Map<number, JsonObject>();
  let usage: JsonObject | undefined;
  for (const piece of pieces) {
    usage = (piece.usage as JsonObject | null | undefined) ?? usage;
    for (const { index, text, logprobs, finish_reason } of piece.choices as JsonObject[]) {
      const choice = choices.get(index as number) ?? { index, text: "", logprobs: null, finish_reason: null };
      if (choice.finish_reason !== null && finish_reason !== null) throw new Error("a choice ends twice");
      choices.set(
        index as number,
        {
          index,
          text: `${choice.text}${text}`,
          logprobs: mergedLists(choice.logprobs as JsonObject | null, logprobs as JsonObject | null),
          finish_reason: finish_reason ?? choice.finish_reason ?? null,
        } as JsonObject,
      );
    }
  }
  const ordered = [...choices.values()].sort((a, b) => (a.index as number) - (b.index as number));
  return { choices: ordered, ...(usage ? { usage } : {}) };
}

function mergedLists(first: JsonObject | null, second: JsonObject | null): JsonObject | null {
  if (!first || !second) return first ?? second;
  return Object.fromEntries(
    Object.keys(first).map((key) => [key, [...(first[key] as JsonObject[]), ...(second[key] as JsonObject[])]]),
  );
}

/** Reports whether clients with strict types accept it. */
function expectStrict(desc: DescMessage, json: JsonObject): void {
  expect(() => readMessage(desc, json, { lenient: false })).not.toThrow();
}

for (const golden of goldens) {
  describe(golden.name, () => {
    test("is translated for the chat model", () => {
      const { request, dropped } = translate(golden.request, "stream", golden.context);
      expect(request.json()).toEqual(golden.upstream);
      expect(dropped).toEqual(golden.dropped);
      const { stream_options, ...unstreamed } = golden.upstream;
      expect(translate(golden.request, "whole", golden.context).request.json()).toEqual(unstreamed);
      expect(request.message().messages).toHaveLength(1);
    });

    test("has a unary answer", () => {
      const completion = whole(golden);
      expect(completion).toEqual(golden.completion);
      expectStrict(CompletionSchema, completion);
      for (const { finish_reason } of completion.choices as JsonObject[]) expect(finish_reason).toBeTypeOf("string");
    });

    test("has a streamed answer", async () => {
      const pieces = await streamed(golden, golden.batches);
      expect(pieces).toEqual(golden.pieces);
      for (const piece of pieces.flat()) expectStrict(CompletionSchema, piece);
    });

    test("is the same unary and streamed", async () => {
      const { choices, usage } = whole(golden);
      const parts = joined((await streamed(golden, golden.batches)).flat());
      expect(parts.choices).toEqual(choices);
      if (parts.usage) expect(parts.usage).toEqual(usage);
    });

    test("has the same pieces however its chunks come", async () => {
      const chunks = golden.batches.flat();
      const expected = golden.pieces.flat();
      const oneByOne = await streamed(
        golden,
        chunks.map((chunk) => [chunk]),
      );
      expect(oneByOne.flat()).toEqual(expected);
      expect(oneByOne.every((batch) => batch.length > 0)).toBe(true);
      expect((await streamed(golden, [chunks])).flat()).toEqual(expected);
    });
  });
}

test("there are at least 20 golden files", () => {
  expect(goldens.length).toBeGreaterThanOrEqual(20);
});

describe("a completion caller is refused, with the field and the reason,", () => {
  const refused: Record<string, readonly [JsonObject, param: string, words: RegExp]> = {
    "the tokens of a prompt": [{ prompt: [1, 2, 3] }, "prompt", /send the prompt as text/],
    "the tokens of several prompts": [{ prompt: [[1, 2], [3]] }, "prompt", /send the prompt as text/],
    "tokens beside texts": [{ prompt: ["a", [1, 2]] }, "prompt", /send the prompt as text/],
    "a key of chat of the wrong type": [{ prompt: "x", metadata: { a: 1 } }, "metadata.a", /expected a string/],
  };

  for (const [name, [request, param, words]] of Object.entries(refused)) {
    test(name, () => {
      let refusal: unknown;
      try {
        translate(request, "whole");
      } catch (error) {
        refusal = error;
      }
      expect(refusal).toBeInstanceOf(Refusal);
      expect(refusal).toMatchObject({ status: 400, param, message: expect.stringMatching(words) });
    });
  }
});

describe("a stream", () => {
  const asked = { prompt: "x" };
  const chunk = { id: "c", created: 1, model: "m", choices: [{ index: 0, delta: { content: "Hi" } }] };

  test("that fails gives its caller what came before, then the failure", async () => {
    const failure = upstreamFailed("it broke off its answer");
    const answer = translate(asked, "stream").answer({ kind: "stream", frames: framesOf([[chunk]], failure) });
    const pieces: JsonObject[][] = [];
    await expect(collected(answer, pieces)).rejects.toBe(failure);
    expect(pieces.flat().map(({ choices }) => (choices as JsonObject[])[0])).toMatchObject([
      { text: "Hi", finish_reason: null },
    ]);
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

  test("without chunks has no pieces", async () => {
    expect(await collected(translate(asked, "stream").answer({ kind: "stream", frames: framesOf([]) }))).toEqual([]);
  });
});

test("a typed request is translated alike", () => {
  for (const golden of goldens) {
    const wire = Wire.ofJson(CreateCompletionRequestSchema, golden.request);
    const unset = { maxOutputTokens: undefined, answerId: "7qb", now: 0, estimateTokens: () => 0 };
    const context = { form: "stream", ...unset, ...golden.context } as const;
    const { request, dropped } = runNow(
      completionsToChat.translate(Wire.ofMessage(wire.desc, wire.message()), context),
    );
    expect(request.json(), golden.name).toEqual(golden.upstream);
    expect([...dropped].sort(), golden.name).toEqual([...golden.dropped].sort());
  }
});

test("an answer without a choice is the upstream's failure", () => {
  const body = Wire.ofJson(ChatCompletionSchema, { id: "c", choices: [] }, true);
  expect(() => translate({ prompt: "x" }, "whole").answer({ kind: "whole", body })).toThrow(/its answer is empty/);
});

test("a fault of the request itself keeps its path", () => {
  let refusal: Refusal | undefined;
  try {
    translate({ prompt: "x", max_tokens: "5" }, "whole");
  } catch (error) {
    refusal = asRefusal(error);
  }
  expect(refusal).toMatchObject({ status: 400, param: "max_tokens" });
});
