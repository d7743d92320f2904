/**
 * The quick check is sure of ordinary requests, and never of a message that the validator refuses.
 */
import { ok } from "node:assert";
import {
  create,
  type DescField,
  type DescMessage,
  type DescService,
  type JsonObject,
  type Message,
  ScalarType,
} from "@bufbuild/protobuf";
import { createValidator } from "@bufbuild/protovalidate";
import fc, { type Arbitrary } from "fast-check";
import { describe, test } from "vitest";
import { CreateChatCompletionRequestSchema as chat } from "../gen/modelgateway/v1/chat_pb.ts";
import { CreateEmbeddingsRequestSchema as embeddings } from "../gen/modelgateway/v1/embeddings_pb.ts";
import { InferenceService } from "../gen/modelgateway/v1/inference_pb.ts";
import { KeyService } from "../gen/modelgateway/v1/keys_pb.ts";
import { CreateMessageRequestSchema as messages } from "../gen/modelgateway/v1/messages_pb.ts";
import { OperatorService } from "../gen/modelgateway/v1/operator_pb.ts";
import { CreateSpeechRequestSchema as speech } from "../gen/modelgateway/v1/speech_pb.ts";
import { quickCheckOf } from "../src/pipeline/quick-check.ts";
import { Wire } from "../src/wire/wire.ts";

const validator = createValidator();
const isSound = (desc: DescMessage, message: Message) => validator.validate(desc, message).kind === "valid";
const isSure = (desc: DescMessage, message: Message) => quickCheckOf(desc)(message);

const said = [{ role: "user", content: "Hello" }];
const named = { model: "m", messages: said };

describe("it is sure of", () => {
  const ordinary: readonly (readonly [name: string, desc: DescMessage, json: JsonObject])[] = [
    ["a chat", chat, { ...named, temperature: 0.5, max_tokens: 100, n: 2, stop: ["a"], logit_bias: { 5: -100 } }],
    ["a chat with tools", chat, { ...named, tools: [{ type: "function", function: { name: "f", parameters: {} } }] }],
    ["a chat with models to fall back to", chat, { ...named, models: ["a", "b"] }],
    ["a message", messages, { ...named, max_tokens: 100, system: "You are" }],
    ["texts to embed", embeddings, { model: "m", input: ["a", "b"], dimensions: 5 }],
    ["nothing to embed", embeddings, {}],
    ["speech", speech, { model: "m", input: "Hello", voice: "alloy" }],
  ];
  test.each(ordinary)("%s", (_, desc, json) => {
    const message = Wire.ofJson(desc, json).message();
    ok(isSure(desc, message));
    ok(isSound(desc, message));
  });
});

describe("what it is sure of is sound", () => {
  const services: readonly DescService[] = [InferenceService, KeyService, OperatorService];
  const inputs = new Set(services.flatMap(({ methods }) => methods.map(({ input }) => input)));
  test.each([...inputs].map((desc) => [desc.name, desc] as const))("%s", (_, desc) => {
    fc.assert(
      fc.property(messageOf(desc, 4), (message) => {
        if (isSure(desc, message)) ok(isSound(desc, message));
      }),
      { numRuns: 300 },
    );
  });

  test("also of each bound alone, where all else is as it should be", () => {
    const one = Wire.ofJson(chat, named).message();
    for (const field of chat.fields) {
      fc.assert(
        fc.property(fieldOf(field, 4), (value) => {
          const message = { ...one, ...(create(chat, initOf([[field, value]])) as object), model: "m" };
          const whole = field.name === "messages" ? message : { ...message, messages: one.messages };
          if (isSure(chat, whole)) ok(isSound(chat, whole));
        }),
        { numRuns: 50 },
      );
    }
  });
});

/** Makes messages whose values are at their bounds and beside them, as RPC callers may send them. */
function messageOf(desc: DescMessage, room: number): Arbitrary<Message> {
  const fields = desc.fields.filter(({ message }) => !message || room > 0);
  const values = fields.map((field) => fc.option(fieldOf(field, room - 1), { nil: undefined, freq: 2 }));
  return fc.tuple(...values).map((all) => create(desc, initOf(all.map((value, i) => [fields[i] as DescField, value]))));
}

function initOf(values: readonly (readonly [field: DescField, value: unknown])[]): Record<string, unknown> {
  const init: Record<string, unknown> = {};
  for (const [{ oneof, localName }, value] of values) {
    if (value === undefined) continue;
    if (oneof) init[oneof.localName] = { case: localName, value };
    else init[localName] = value;
  }
  return init;
}

function fieldOf(field: DescField, room: number): Arbitrary<unknown> {
  const item = itemOf(field, room);
  if (field.fieldKind === "list")
    return fc.oneof(
      fc.array(item, { maxLength: 3 }),
      item.map((one) => Array(9).fill(one)),
    );
  return field.fieldKind === "map" ? fc.dictionary(fc.constantFrom("a", "b"), item) : item;
}

const texts = [
  "",
  "a",
  "a\u0000",
  "me@example.com",
  "\u{1F600}".repeat(100),
  ...[50, 64, 199, 200, 201, 255].map((n) => "a".repeat(n)),
];
const numbers = [-101, -100, -3, -2, -1, 0, 0.25, 1, 2, 3, 4, 5, 20, 21, 100, 101, 128, 129, 1000, 1001, 2 ** 31];

function itemOf({ message, enum: words, scalar }: DescField, room: number): Arbitrary<unknown> {
  if (message?.typeName === "google.protobuf.Struct") return fc.constant({ a: 1 });
  if (message) return messageOf(message, room);
  if (words) return fc.constantFrom(99, ...words.values.map(({ number }) => number));
  switch (scalar) {
    case ScalarType.STRING:
      return fc.constantFrom(...texts);
    case ScalarType.BOOL:
      return fc.boolean();
    case ScalarType.BYTES:
      return fc.constant(new Uint8Array(1));
    case ScalarType.DOUBLE:
      return fc.constantFrom(Number.NaN, Number.POSITIVE_INFINITY, ...numbers);
    case ScalarType.INT64:
      return fc.constantFrom(...numbers.filter(Number.isInteger).map(BigInt), 10n ** 15n, 10n ** 15n + 1n);
  }
  return fc.constantFrom(...numbers.filter((number) => Number.isInteger(number) && number >= 0));
}
