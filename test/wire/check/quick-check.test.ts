/** The quick check accepts ordinary requests, and never one that the reader or the validator refuses. */
import { ok, strictEqual } from "node:assert";
import { readFileSync } from "node:fs";
import {
  create,
  type DescField,
  type DescMessage,
  type DescService,
  type JsonObject,
  type JsonValue,
  type Message,
  ScalarType,
} from "@bufbuild/protobuf";
import { createValidator } from "@bufbuild/protovalidate";
import fc, { type Arbitrary } from "fast-check";
import { describe, test } from "vitest";
import { CreateChatCompletionRequestSchema as chat } from "../../../gen/modelgateway/v1/chat_pb.ts";
import { CreateCompletionRequestSchema as completions } from "../../../gen/modelgateway/v1/completions_pb.ts";
import { CreateEmbeddingsRequestSchema as embeddings } from "../../../gen/modelgateway/v1/embeddings_pb.ts";
import { InferenceService } from "../../../gen/modelgateway/v1/inference_pb.ts";
import { CreateKeyRequestSchema, KeyService } from "../../../gen/modelgateway/v1/keys_pb.ts";
import { CreateMessageRequestSchema as messages } from "../../../gen/modelgateway/v1/messages_pb.ts";
import {
  CreateAccountRequestSchema,
  CreateLinkRequestSchema,
  CreateRedeemCodesRequestSchema,
  OperatorService,
  RecordEntryRequestSchema,
} from "../../../gen/modelgateway/v1/operator_pb.ts";
import { CreateResponseRequestSchema as responses } from "../../../gen/modelgateway/v1/responses_pb.ts";
import { CreateSpeechRequestSchema as speech } from "../../../gen/modelgateway/v1/speech_pb.ts";
import { runNow } from "../../../src/runtime/cooperative.ts";
import { isLongSurelyValid } from "../../../src/wire/check/long-check.ts";
import { isSurelyValidRequest as isSureAtOnce } from "../../../src/wire/check/quick-check.ts";
import { WireFault } from "../../../src/wire/fault.ts";
import { readMessage } from "../../../src/wire/read.ts";
import { exactNumber } from "../../../src/wire/scan/exact-number.ts";
import { Wire } from "../../../src/wire/wire.ts";

const validator = createValidator();

/** Runs the check at once and in turns: both agree. */
function isSurelySound(desc: DescMessage, json: JsonObject): boolean {
  const isSure = isSureAtOnce(desc, json);
  strictEqual(runNow(isLongSurelyValid(desc, json)), isSure);
  return isSure;
}

/** Reports whether the request is read and keeps its bounds. */
function isSound(desc: DescMessage, json: JsonObject): boolean {
  try {
    return validator.validate(desc, readMessage(desc, json, { lenient: false })).kind === "valid";
  } catch (fault) {
    if (fault instanceof WireFault) return false;
    throw fault;
  }
}

const said = [{ role: "user", content: "Hello" }];
const named = { model: "m", messages: said };
const picture = { type: "image_url", image_url: { url: "data:image/png;base64,AA==", detail: "low" } };
const called = { id: "1", type: "function", function: { name: "f", arguments: "{}" } };
const fetched = { type: "tool_result", tool_use_id: "1", content: [{ type: "text", text: "a" }] };
const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "AA==" } };
const schema = { type: "object", properties: { a: { type: "string" } } };

const ordinary: readonly (readonly [name: string, desc: DescMessage, json: JsonObject])[] = [
  ["a chat", chat, { ...named, temperature: 0.5, max_tokens: 100, n: 2, stop: ["a"], logit_bias: { 5: -100 } }],
  ["a chat with tools", chat, { ...named, tools: [{ type: "function", function: { name: "f", parameters: schema } }] }],
  [
    "a chat with a schema for its answer",
    chat,
    { ...named, response_format: { type: "json_schema", json_schema: { name: "s", schema } } },
  ],
  ["a chat with models to fall back to", chat, { ...named, models: ["a", "b"] }],
  [
    "a chat of parts",
    chat,
    { model: "m", messages: [{ role: "user", content: [{ type: "text", text: "a" }, picture] }] },
  ],
  [
    "a chat with a tool's result",
    chat,
    {
      model: "m",
      messages: [
        { role: "assistant", content: null, tool_calls: [called] },
        { role: "tool", tool_call_id: "1", content: "{}" },
      ],
    },
  ],
  [
    "a chat with nulls and what nobody knows",
    chat,
    { ...named, seed: null, stop: null, top_k: 5, template: { a: [1] } },
  ],
  ["a chat with a word of the future", chat, { ...named, reasoning_effort: "ultra", tool_choice: "often" }],
  ["a message", messages, { ...named, max_tokens: 100, system: "You are" }],
  [
    "a message with a tool's result",
    messages,
    { model: "m", max_tokens: 5, messages: [{ role: "user", content: [image, fetched] }] },
  ],
  ["a prompt of tokens", completions, { model: "m", prompt: [1, 2], max_tokens: 5 }],
  ["prompts", completions, { model: "m", prompt: ["a", "b"], echo: true }],
  ["texts to embed", embeddings, { model: "m", input: ["a", "b"], dimensions: 5 }],
  ["nothing to embed", embeddings, {}],
  ["a response", responses, { model: "m", input: [{ role: "user", content: "Hello" }], store: false }],
  ["speech", speech, { model: "m", input: "Hello", voice: "alloy" }],
  ["an account", CreateAccountRequestSchema, { name: " Ada & sons " }],
  ["an account of other scripts", CreateAccountRequestSchema, { name: "研发 Müller ひらカタ 한글 Я" }],
  [
    "a key",
    CreateKeyRequestSchema,
    {
      name: "a",
      credit_limit: "12.5",
      expires_at: "2030-01-31T12:00:00Z",
      tags: ["b"],
      owner: "c",
      allowed_ips: ["::1"],
    },
  ],
  ["a recharge", RecordEntryRequestSchema, { account: "a", kind: "recharge", amount: "1000000000.000000" }],
  ["codes", CreateRedeemCodesRequestSchema, { amount: "0.01", count: 3, expires_at: "2030-01-31T12:00:00+01:00" }],
  ["an invitation", CreateLinkRequestSchema, { account: "a", email: "ada.l+1@mail-2.example.com" }],
];

describe("the quick check accepts", () => {
  test.each(ordinary)("%s", (_, desc, json) => {
    ok(isSurelySound(desc, json));
    ok(isSound(desc, json));
  });

  const { length, ...sent } = JSON.parse(
    readFileSync(new URL("../../fixtures/chat/requests.json", import.meta.url), "utf8"),
  );
  test.each(Object.values(sent) as { name: string; json: JsonObject }[])("what clients send: $name", ({ json }) => {
    const whole = { ...json, ...named };
    strictEqual(isSurelySound(chat, whole), isSound(chat, whole));
  });
});

describe("what the quick check accepts is valid", () => {
  const services: readonly DescService[] = [InferenceService, KeyService, OperatorService];
  const inputs = new Set(services.flatMap(({ methods }) => methods.map(({ input }) => input)));
  test.each([...inputs].map((desc) => [desc.name, desc] as const))("%s", (_, desc) => {
    fc.assert(
      fc.property(messageOf(desc, 4), (message) => {
        const json = Wire.ofMessage(desc, message).json();
        if (isSurelySound(desc, json)) ok(isSound(desc, json));
      }),
      { numRuns: 300 },
    );
  });

  test("for each bound alone, with everything else valid", () => {
    for (const field of chat.fields) {
      fc.assert(
        fc.property(fieldOf(field, 4), (value) => {
          const one = Wire.ofMessage(chat, create(chat, initOf([[field, value]]))).json();
          const json = { ...named, ...one, model: "m", ...(field.name === "messages" ? {} : { messages: said }) };
          if (isSurelySound(chat, json)) ok(isSound(chat, json));
        }),
        { numRuns: 50 },
      );
    }
  });

  test("for names, addresses, amounts and moments at their bounds", () => {
    const texts = [
      "",
      " ",
      "a",
      " a",
      "a ",
      "a\u0007",
      "a\n",
      "\u00a0",
      "\u200b",
      "é",
      "\u00ad",
      "\u3000",
      "研\u0007",
      "😀",
      "中".repeat(200),
      "中".repeat(201),
      "a".repeat(200),
      "a".repeat(201),
    ];
    const addresses = [
      "a@b",
      "a@b.",
      "@b",
      "a@-b",
      "a@b-",
      "a b@c",
      "a@b_c",
      `a@${"b".repeat(63)}`,
      `a@${"b".repeat(64)}`,
      "ſ@b",
    ];
    const amounts = [
      "0",
      "0.00",
      "-0",
      "-1",
      "0.000001",
      "0.0000001",
      "1000000000",
      "1000000000.000001",
      "1e3",
      "+1",
      "1.",
      1,
    ];
    const moments = [
      "2030-01-31T12:00:00Z",
      "2030-02-30T12:00:00Z",
      "2030-01-31T24:00:00Z",
      "2030-01-31",
      "0000-01-01T00:00:00Z",
    ];
    const others = [null, "", "0", "0.5", "-1", 1, 0, "a", "a\u0007", [], [""], ["a"], ["10.0.0.1"], { a: 1 }] as const;
    const members = [
      "credit_limit",
      "expires_at",
      "owner",
      "tags",
      "requests_per_minute",
      "max_concurrent",
      "allowed_ips",
    ];
    const cases: readonly (readonly [DescMessage, readonly JsonObject[]])[] = [
      [CreateAccountRequestSchema, [...texts, ...addresses].map((name) => ({ name }))],
      [CreateLinkRequestSchema, [...texts, ...addresses].map((email) => ({ email }))],
      [RecordEntryRequestSchema, amounts.map((amount) => ({ account: "a", kind: "grant", amount }))],
      [
        CreateKeyRequestSchema,
        members.flatMap((one) => others.map((value) => ({ name: "a", [one]: value as JsonValue }))),
      ],
      [CreateRedeemCodesRequestSchema, moments.map((expires_at) => ({ amount: "1", expires_at }))],
    ];
    for (const [desc, all] of cases) {
      for (const json of all) if (isSurelySound(desc, json)) ok(isSound(desc, json), JSON.stringify(json));
    }
  });

  test.each(ordinary)("for %s with a number somewhere that no double holds", (_, desc, json) => {
    for (let at = 0; at < placesOf(json).length; at++) {
      const odd = structuredClone(json);
      const [holder, key] = placesOf(odd)[at] as [JsonObject, string];
      holder[key] = exactNumber("1234567890123456789");
      if (isSurelySound(desc, odd)) ok(isSound(desc, odd), JSON.stringify(odd));
    }
  });

  test("for forbidden keys in a map", () => {
    for (const key of ["a", "\ud800", "__proto__"]) {
      const json = { ...named, metadata: JSON.parse(`{${JSON.stringify(key)}: "b"}`) };
      strictEqual(isSurelySound(chat, json), isSound(chat, json), key);
    }
  });

  test("for messages at the maximum depth, and deeper", () => {
    let content: JsonValue = "a";
    for (let depth = 0; depth < 60; depth++) {
      const json: JsonObject = { model: "m", max_tokens: 5, messages: [{ role: "user", content }] };
      if (isSurelySound(messages, json)) ok(isSound(messages, json), `${depth}`);
      content = [{ ...fetched, content }];
    }
    ok(!isSound(messages, { model: "m", max_tokens: 5, messages: [{ role: "user", content }] }));
  });

  test("for the maximum number of members and messages, and one more", () => {
    const numbered = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, 1]));
    for (const most of [20_000, 20_001]) {
      const messages = Array(most).fill(said[0]);
      for (const json of [
        { ...named, messages },
        { ...named, ...numbered(most - 2) },
        { ...named, logit_bias: numbered(most) },
        { ...named, metadata: numbered(most) },
        { ...named, unknown: numbered(most) },
        { ...named, web_search_options: numbered(most) },
      ])
        if (isSurelySound(chat, json)) ok(isSound(chat, json), Object.keys(json).slice(0, 3).join());
    }
  });

  test.each(ordinary)("for %s with an odd value somewhere", (_, desc, json) => {
    let sure = 0;
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 3 }), (changes) => {
        const odd = structuredClone(json);
        for (const one of changes) apply(one, odd);
        if (!isSurelySound(desc, odd)) return;
        sure++;
        ok(isSound(desc, odd));
      }),
      { numRuns: 500 },
    );
    ok(sure > 50, `it was sure of ${sure} alone`);
  });
});

/** Mutation replaces a value, or adds a sibling. */
interface Change {
  /** Index among all places. */
  readonly at: number;
  /** Undefined: replaces the value. */
  readonly key: string | undefined;
  /** Index among the odd values. */
  readonly value: number;
}

const nested = (depth: number, inner: JsonValue) => {
  let value = inner;
  for (let i = 0; i < depth; i++) value = i % 2 === 0 ? [value] : { content: value };
  return value;
};

const oddValues: readonly JsonValue[] = [
  ...[null, true, 0, 1, -1, 0.5, 2 ** 32, 1e300, Number.POSITIVE_INFINITY],
  ...["", "a", "user", "ultra", "\ud800", "a".repeat(201)],
  ...[[], [1], [1, "a"], ["a"], ["a", 1], [null], [[1]], [[1], ["a"]], [{}], Array(9).fill("a")],
  ...[{}, { a: 1 }, { a: "\ud800" }, { "\ud800": 1 }, JSON.parse('{"__proto__": 1}'), { a: Number.NEGATIVE_INFINITY }],
  ...[{ type: "text", text: "a" }, [{ type: "text", text: "a" }], { Type: "text" }, said, [{ role: "user" }]],
  ...[47, 48, 49, 50, 51, 95, 96, 97, 98, 99, 100, 101].map((depth) => nested(depth, 1)),
];
const oddKeys = [
  ...["a", "Model", "ROLE", "\ud800", "__proto__", "extra", "role", "content", "type", "name", "text", "index"],
  ...[...chat.fields, ...messages.fields, ...responses.fields].map(({ name }) => name),
];
const change = fc.record<Change>({
  at: fc.nat(),
  key: fc.option(fc.constantFrom(...oddKeys), { nil: undefined }),
  value: fc.nat(oddValues.length - 1),
});

function apply({ at, key, value }: Change, json: JsonObject): void {
  const places = [...placesOf(json), [json, "a"] as const];
  const [holder, own] = places[at % places.length] as (typeof places)[number];
  // Defines the member as the parser does, even for `__proto__`.
  const here = { value: copied(oddValues[value]), enumerable: true, configurable: true, writable: true };
  Object.defineProperty(holder, Array.isArray(holder) ? own : (key ?? own), here);
}

/** Copies a value, so that a change in one place does not show in another. */
function copied(value: JsonValue | undefined): JsonValue {
  if (typeof value === "object" && value !== null) return structuredClone(value);
  return value ?? null;
}

/** Lists every list and object with each of its keys. */
function placesOf(value: JsonValue): [JsonObject | JsonValue[], string][] {
  if (typeof value !== "object" || value === null) return [];
  const holder = value as JsonObject;
  const keys = Object.keys(holder).slice(0, 20);
  return keys.flatMap((key) => [[holder, key] as [JsonObject, string], ...placesOf(holder[key] as JsonValue)]);
}

/** Makes messages with values at and beside their bounds, as RPC callers may send them. */
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
