/**
 * Chunks that differ in their text alone are translated unread, without a visible difference: the caller gets the
 * same bytes as where each chunk has something new and must be read. Upstreams are real sockets.
 */
import type { DescMessage, JsonObject } from "@bufbuild/protobuf";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { Family } from "../../gen/modelgateway/v1/access_pb.ts";
import { operations } from "../../src/call/operations.ts";
import { Reason, Refusal } from "../../src/call/refusals.ts";
import { framesOf } from "../../src/doors/rest/frames.ts";
import { completionsToChat } from "../../src/families/completions-to-chat/index.ts";
import { translateAll } from "../../src/families/index.ts";
import { messagesToChat } from "../../src/families/messages-to-chat/index.ts";
import type { Translation } from "../../src/families/translation.ts";
import type { Provider } from "../../src/providers/contract.ts";
import { createTemplateReader } from "../../src/providers/openai/delta-template.ts";
import { createOpenAiProvider } from "../../src/providers/openai/dialect.ts";
import { runNow } from "../../src/runtime/cooperative.ts";
import { encode } from "../../src/wire/encoded.ts";
import { Wire } from "../../src/wire/wire.ts";
import { recordingMeter, unbounded } from "../support/meter.ts";
import { eventStream, type ScriptedUpstream, startScriptedUpstream } from "../support/scripted-upstream.ts";
import { chatChunk, done, openaiFrames, usageChunk } from "../support/vendors.ts";

let upstream: ScriptedUpstream;
let provider: Provider;

beforeAll(async () => {
  upstream = await startScriptedUpstream();
  provider = createOpenAiProvider({ baseUrl: upstream.baseUrl, apiKey: undefined, createTemplateReader });
});
afterAll(async () => {
  await provider.close();
  await upstream.close();
});

interface Caller {
  readonly translation: Translation;
  readonly family: Family;
  readonly request: JsonObject;
}

const callers: Readonly<Record<string, Caller>> = {
  messages: {
    translation: messagesToChat as unknown as Translation,
    family: Family.ANTHROPIC,
    request: { model: "m", max_tokens: 9, messages: [{ role: "user", content: "hi" }] },
  },
  completions: {
    translation: completionsToChat as unknown as Translation,
    family: Family.OPENAI,
    request: { model: "m", prompt: "hi", echo: true, stream_options: { include_usage: true } },
  },
  "completions without usage": {
    translation: completionsToChat as unknown as Translation,
    family: Family.OPENAI,
    request: { model: "m", prompt: "hi" },
  },
};

/** The results of a stream. */
interface Outcome {
  readonly frames: Wire[];
  /** All that the caller's door writes. */
  readonly text: string;
  readonly metered: unknown;
  readonly reason: unknown;
}

/** Has the upstream answer with these bytes. */
async function outcomeOf({ translation, family, request }: Caller, bytes: string | Buffer): Promise<Outcome> {
  upstream.script = (exchange) => {
    exchange.head(200, eventStream);
    exchange.end(bytes);
  };
  const meter = recordingMeter();
  const asked = Wire.ofJson(operations[translation.from].input as DescMessage, request) as never;
  const translated = runNow(
    translateAll([translation], asked, {
      ...{ form: "stream", maxOutputTokens: undefined, answerId: "1", now: 1, estimateTokens: () => 1 },
    }),
  );
  const spoken = await provider.speaks.chat?.({
    ...{ id: "req_1", operation: "chat", form: "stream", model: "far", header: () => undefined },
    ...{ request: translated.request as never, signal: new AbortController().signal, meter },
    ...unbounded(),
  });
  const answer = translated.answer<"stream">(spoken as never);
  if (answer.kind !== "stream") throw new Error("the answer is no stream");
  const batches: (readonly Wire[])[] = [];
  let reason: unknown;
  try {
    for await (const batch of answer.frames as AsyncIterable<readonly Wire[]>) batches.push(batch);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    reason = error.reason;
  }
  const door = framesOf(family);
  const frames = batches.flat();
  const written = Buffer.concat(batches.map((batch) => door.frames(batch))).toString();
  return { frames, text: written, metered: meter.kept, reason };
}

type Json = Readonly<Record<string, unknown>>;

/** The same chunks, each with something new. */
const newEach = (chunks: readonly Json[]) => chunks.map((chunk, i) => ({ ...chunk, obfuscation: i }));

// Half of a surrogate pair, a line end that JSON allows, and words that look like what surrounds a text.
const odd = [
  ...["", " ", '"', "\\", "\n", "\u007f", "\u2028", "é", "二", "\ufeff", "😀", "\ud83d", "\ude00"],
  ...["text", "text_delta"],
];
const text = fc.oneof(
  { arbitrary: fc.string({ maxLength: 8, unit: "grapheme" }), weight: 3 },
  fc.string({ maxLength: 8 }),
  fc.constantFrom(...odd),
);
const told = (key: string) => fc.array(text, { maxLength: 6 }).map((texts) => texts.map((said) => ({ [key]: said })));
const call = fc
  .tuple(fc.nat(1), fc.constantFrom("{}", '{"a":', "1}", ""))
  .map(([index, args]) => [{ tool_calls: [{ index, id: `c${index}`, function: { name: "f", arguments: args } }] }]);
const run = fc.oneof(
  { arbitrary: told("content"), weight: 4 },
  { arbitrary: fc.constantFrom("reasoning_content", "reasoning").chain(told), weight: 2 },
  told("refusal"),
  told("content").map((deltas) => deltas.map((delta) => ({ role: "assistant", reasoning_content: "", ...delta }))),
  told("reasoning").map((deltas) => deltas.map((delta) => ({ reasoning_content: "", ...delta }))),
  call,
);
const choice = fc.oneof({ arbitrary: fc.constant({}), weight: 8 }, fc.constant({ index: 1 }));
const deltas = fc.array(fc.tuple(run, choice), { maxLength: 8 });

function chunksOf(runs: readonly (readonly [readonly Json[], Json])[]): Json[] {
  const said = runs.flatMap(([some, more]) => some.map((delta) => withChoice(chatChunk(delta), more)));
  return [...said, chatChunk({}, "stop"), usageChunk()].map((chunk) => ({ usage: null, ...chunk }));
}

function withChoice(chunk: Json, more: Json): Json {
  return { ...chunk, choices: (chunk.choices as Json[]).map((one) => ({ ...one, ...more })) };
}

const contents = (...texts: readonly string[]) => texts.map((content) => ({ content }));
const thoughts = [" ", " ", " "].map((reasoning_content) => ({ reasoning_content }));

/** The halves of a character, with what differs from the chunk before in its text alone between them: a text, thoughts, or another choice. */
const cutCharacters: (readonly [readonly Json[], Json])[][] = [
  [[contents(" ", "\ud83d", " ", "\ude00"), {}]],
  [
    [contents("\ud83d"), {}],
    [thoughts, {}],
    [contents("\ude00"), {}],
  ],
  [
    [contents("a", "b", "\ud83d"), {}],
    [contents("a", "b", "c", "d"), { index: 1 }],
    [contents("\ude00", "b"), {}],
  ],
];

describe.each(Object.entries(callers))("to a caller of %s", (_, caller) => {
  const said = (...texts: readonly string[]) => chunksOf([[texts.map((content) => ({ content })), {}]]);

  test("reasoning, a text, a call and more of the text come in the same bytes", async () => {
    const thoughts = ["I", " think", " so", "", "."].map((reasoning) => ({ reasoning }));
    const texts = ["Yes", ", ", "it is", "", " so", '"', "!"].map((content) => ({ content }));
    const called = [{ tool_calls: [{ index: 0, id: "c", function: { name: "f", arguments: "{}" } }] }];
    const chunks = chunksOf([thoughts, texts, called, texts].map((some) => [some, {}]));
    const { text: written, metered } = await outcomeOf(caller, openaiFrames(...chunks) + done);
    const read = await outcomeOf(caller, openaiFrames(...newEach(chunks)) + done);
    expect([written, metered]).toEqual([read.text, read.metered]);
  });

  test("any content comes in the same bytes, and is metered alike", async () => {
    await fc.assert(
      fc.asyncProperty(deltas, async (runs) => {
        const chunks = chunksOf(runs);
        const { frames, ...outcome } = await outcomeOf(caller, openaiFrames(...chunks) + done);
        const read = await outcomeOf(caller, openaiFrames(...newEach(chunks)) + done);
        expect(outcome).toEqual({ text: read.text, metered: read.metered, reason: read.reason });
        expect(frames.map((frame) => frame.message())).toEqual(read.frames.map((frame) => frame.message()));
      }),
      { numRuns: 150, examples: cutCharacters.map((runs) => [runs]) },
    );
  });

  test("a stream is stored as JSON, and reads as what was written", async () => {
    const { frames, text: written } = await outcomeOf(caller, openaiFrames(...said("a", "b", "c", "d", "é")) + done);
    const kept = frames.map((frame) => encode(frame));
    expect(kept.every(({ isJson }) => isJson)).toBe(true);
    expect(kept.map(({ bytes }) => Buffer.from(bytes).toString())).toEqual(written.match(/(?<=^data: ).*$/gm));
  });

  test("a text cut inside a character is the upstream's failure", async () => {
    const whole = Buffer.from(openaiFrames(...said("a", "b", "c", "é|")));
    const at = whole.indexOf("|");
    const cut = Buffer.concat([whole.subarray(0, at - 1), whole.subarray(at)]);
    const { text: written, reason } = await outcomeOf(caller, cut);
    expect(written).toContain('"c"');
    expect(reason).toBe(Reason.UPSTREAM_FAILED);
  });

  test("chunks of the same template are not parsed", async () => {
    const parse = vi.spyOn(JSON, "parse");
    const texts = Array.from({ length: 100 }, (_, i) => `${i} and more`);
    const { text: written } = await outcomeOf(caller, openaiFrames(...said(...texts)) + done);
    const parsed = parse.mock.calls.length;
    parse.mockRestore();
    for (const one of texts) expect(written).toContain(`"${one}"`);
    expect(parsed).toBeLessThan(10);
  });
});
