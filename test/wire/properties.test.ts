/**
 * The codec's promises over generated JSON: made from the descriptors, made at random, and made by breaking the
 * corpus.
 */
import { match, ok } from "node:assert";
import { readFileSync } from "node:fs";
import {
  type DescField,
  type DescMessage,
  type DescOneof,
  getOption,
  type JsonObject,
  type JsonValue,
  ScalarType,
} from "@bufbuild/protobuf";
import fc, { type Arbitrary } from "fast-check";
import { describe, test } from "vitest";
import {
  ChatCompletionChunkSchema as chunk,
  CreateChatCompletionRequestSchema as input,
  ChatCompletionSchema as output,
} from "../../gen/modelgateway/v1/chat_pb.ts";
import { transparent, wire, word } from "../../gen/modelgateway/v1/wire_pb.ts";
import { WireFault } from "../../src/wire/fault.ts";
import { isObject } from "../../src/wire/is-object.ts";
import { readMessage } from "../../src/wire/read.ts";
import { writeMessage } from "../../src/wire/write.ts";
import { sameJson, throughBinary } from "../support/translations/round-trip.ts";

const kinds = [
  ["a request", input, "requests"],
  ["an answer", output, "answers"],
  ["a chunk", chunk, "chunks"],
] as const;

// The keys and words of all three schemas, for random values.
const schemaKeys: string[] = [];
const schemaWords: string[] = [];
collect(input, new Set());
collect(output, new Set());
collect(chunk, new Set());

function collect(desc: DescMessage, seen: Set<string>): void {
  if (seen.has(desc.typeName) || desc.file.name.startsWith("google/")) return;
  seen.add(desc.typeName);
  schemaKeys.push(...desc.members.map((member) => member.name));
  for (const field of desc.fields) {
    for (const value of field.enum?.values ?? []) schemaWords.push(getOption(value, word));
    if (field.message) collect(field.message, seen);
  }
}

/** Appears in texts, so that a quotation would show. */
const marker = "sesame";

/** Fields written as zero even where the JSON that was read had none. */
const alwaysWritten = new Set(["id", "object", "created", "model", "choices", "index"]);
for (const key of ["prompt_tokens", "completion_tokens", "total_tokens"]) alwaysWritten.add(key);

const faultTexts =
  /^(expected (a|an|one of|true or false|Unicode)\b[\w ,.+-]*|nested deeper than 100 levels|the key `__proto__` is not allowed)$/;

describe.each(kinds)("%s made from its descriptor", (_, desc) => {
  test("comes back the same from a strict and from a lenient reader", () => {
    fc.assert(
      fc.property(messageOf(desc), (json) => {
        sameJson(throughBinary(desc, json, false), json);
        sameJson(throughBinary(desc, json, true), json);
      }),
      { numRuns: 150 },
    );
  });
});

describe.each(kinds)("%s made at random", (_, desc, kind) => {
  const docs = corpus(kind);
  const clean = fc.oneof(objectOf(cleanValue), mutated(docs, cleanValue));
  const wild = fc.oneof(objectOf(wildValue), mutated(docs, wildValue));

  test("comes back from a lenient reader with nothing lost, and nothing added but what clients require", () => {
    fc.assert(
      fc.property(clean, (json) => {
        const written = throughBinary(desc, json, true);
        sameJson(withoutAdded(written, json), json);
      }),
      { numRuns: 500 },
    );
  });

  test("comes back from a strict reader, or is refused with a path and without a quotation", () => {
    fc.assert(
      fc.property(fc.oneof(clean, wild), (json) => {
        const written = refusedOr(json, () => throughBinary(desc, json, false));
        if (written !== undefined) sameJson(withoutAdded(written, json), json);
      }),
      { numRuns: 1000, examples: [[{ n: 1e21 }], [{ index: 1e21, choices: [{ index: 1e21 }] }]] },
    );
  });

  test("never makes a lenient reader throw, and leaves nothing harmful", () => {
    fc.assert(
      fc.property(wild, (json) => {
        const message = readMessage(desc, json, { lenient: true });
        assertHarmless(writeMessage(desc, message));
        assertHarmless(throughBinary(desc, json, true));
      }),
      { numRuns: 500 },
    );
  });
});

function refusedOr<T>(json: JsonValue, read: () => T): T | undefined {
  try {
    return read();
  } catch (fault) {
    if (!(fault instanceof WireFault)) throw fault;
    ok(fault.kind === "type" || fault.kind === "value");
    match(fault.message, faultTexts);
    ok(!fault.message.includes(marker));
    ok(fault.path.isWellFormed());
    const start = Object.keys(json as JsonObject).map((key) => key.toWellFormed());
    ok(start.some((key) => fault.path.startsWith(key)));
    return undefined;
  }
}

/** Removes the zeros written for fields that `json` did not have. */
function withoutAdded(written: JsonValue, json: JsonValue): JsonValue {
  if (Array.isArray(written) && Array.isArray(json)) {
    return written.map((item, i) => (i < json.length ? withoutAdded(item, json[i] as JsonValue) : item));
  }
  if (!isObject(written) || !isObject(json)) return written;
  const kept = Object.entries(written).filter(([key, value]) => {
    const zero = value === 0 || value === "" || (Array.isArray(value) && value.length === 0);
    return Object.hasOwn(json, key) || !zero || !alwaysWritten.has(key);
  });
  return Object.fromEntries(
    kept.map(([key, value]) => [key, Object.hasOwn(json, key) ? withoutAdded(value, json[key] as JsonValue) : value]),
  );
}

function assertHarmless(json: JsonValue): void {
  if (typeof json === "string") ok(json.isWellFormed());
  if (typeof json === "number") ok(Number.isFinite(json));
  if (typeof json !== "object" || json === null) return;
  ok(Array.isArray(json) || Object.getPrototypeOf(json) === Object.prototype);
  for (const [key, value] of Object.entries(json)) {
    ok(key !== "__proto__" && key.isWellFormed());
    assertHarmless(value as JsonValue);
  }
}

// Values that no schema describes.

function awkwardKey(): Arbitrary<string> {
  const known = ["extra", "text", "parts", "case", "value", "$typeName", "$unknown", "", "0", "7", "-1", "a.b", "[0]"];
  const inherited = ["constructor", "toString", "hasOwnProperty", "valueOf", "prototype", "__defineGetter__"];
  return fc.oneof(
    fc.constantFrom(...known, ...inherited),
    fc.string({ unit: "binary", maxLength: 6 }).filter(notProto),
  );
}

function notProto(key: string): boolean {
  return key !== "__proto__";
}

function text(): Arbitrary<string> {
  return fc.oneof(fc.constantFrom("", marker, "\u0000", "😀", "\u2028"), fc.string({ unit: "binary", maxLength: 12 }));
}

function finite(): Arbitrary<number> {
  const double = fc.double({ noNaN: true, noDefaultInfinity: true });
  return fc.oneof(double, fc.integer(), fc.constantFrom(0, 0.1, 1e21, 2 ** 53 - 1, 5e-324));
}

/** Makes random JSON, often with the keys and words of the schema. */
function cleanValue(): Arbitrary<JsonValue> {
  return jsonOf(fc.oneof(fc.constant(null), fc.boolean(), finite(), text(), fc.constantFrom(...schemaWords)), anyKey());
}

/** Makes JSON that may also hold what cannot be kept. */
function wildValue(): Arbitrary<JsonValue> {
  const lone = fc.constantFrom("\ud800", `${marker}\udfff`, "\udc00\ud800");
  const infinite = fc.constantFrom(Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY);
  const leaf = fc.oneof(fc.constant(null), finite(), text(), fc.constantFrom(...schemaWords), lone, infinite);
  const deep = fc.integer({ min: 90, max: 3000 }).map((levels) => {
    let value: JsonValue = 1;
    for (let i = 0; i < levels; i++) value = i % 2 ? [value] : { a: value };
    return value;
  });
  return jsonOf(fc.oneof({ weight: 30, arbitrary: leaf }, deep), fc.oneof(anyKey(), lone, fc.constant("__proto__")));
}

function anyKey(): Arbitrary<string> {
  return fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...schemaKeys) }, awkwardKey());
}

function jsonOf(leaf: Arbitrary<JsonValue>, key: Arbitrary<string>): Arbitrary<JsonValue> {
  return fc.letrec<{ value: JsonValue }>((tie) => ({
    value: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      leaf,
      fc.array(tie("value"), { maxLength: 4 }),
      // Setting an entry defines an own property, even for `__proto__`, as the JSON parser does.
      fc.array(fc.tuple(key, tie("value")), { maxLength: 6 }).map((entries) => Object.fromEntries(entries)),
    ),
  })).value;
}

function objectOf(value: () => Arbitrary<JsonValue>): Arbitrary<JsonObject> {
  return fc.array(fc.tuple(anyKey(), value()), { maxLength: 8 }).map((entries) => Object.fromEntries(entries));
}

/** Changes one place of a document: replaces it, removes it, wraps it, or adds a sibling. */
function mutated(docs: readonly JsonObject[], value: () => Arbitrary<JsonValue>): Arbitrary<JsonObject> {
  const change = fc.constantFrom("replace", "remove", "wrap", "beside");
  return fc.tuple(fc.constantFrom(...docs), fc.nat(), change, anyKey(), value()).map(([doc, at, how, key, put]) => {
    const copy = structuredClone(doc);
    const places = placesOf(copy);
    const place = places[at % places.length];
    if (!place) return { ...copy, [key]: put };
    const [parent, name] = place;
    if (how === "replace") parent[name] = put;
    else if (how === "wrap") parent[name] = [parent[name] as JsonValue];
    else if (Array.isArray(parent))
      parent.splice(Number(name), how === "remove" ? 1 : 0, ...(how === "remove" ? [] : [put]));
    else if (how === "remove") delete parent[name];
    else Object.defineProperty(parent, key, { value: put, enumerable: true, configurable: true, writable: true });
    return copy;
  });
}

type Place = [parent: Record<string, JsonValue>, name: string];

function placesOf(json: JsonValue): Place[] {
  if (typeof json !== "object" || json === null) return [];
  const parent = json as Record<string, JsonValue>;
  return Object.keys(parent).flatMap((name) => [[parent, name] as Place, ...placesOf(parent[name] as JsonValue)]);
}

function corpus(kind: string): JsonObject[] {
  const file = readFileSync(new URL(`../fixtures/chat/${kind}.json`, import.meta.url), "utf8");
  return (JSON.parse(file) as { json: JsonObject }[]).map(({ json }) => json);
}

// Values by descriptor. This reads the wire options by itself, so that it cannot share a mistake with the codec.

function messageOf(desc: DescMessage, room = 5): Arbitrary<JsonObject> {
  const required: Record<string, Arbitrary<JsonValue>> = {};
  const optional: Record<string, Arbitrary<JsonValue>> = {};
  let extra: Arbitrary<JsonObject> = fc.constant({});
  for (const member of desc.members) {
    if (member.kind === "oneof") {
      optional[member.name] = orNull(unionOf(member, room));
    } else if (getOption(member, wire).extra) {
      const taken = new Set(desc.members.map((other) => other.name));
      extra = dictionaryOf(
        awkwardKey().filter((key) => !taken.has(key)),
        anything(),
      );
    } else {
      (getOption(member, wire).always ? required : optional)[member.name] = orNull(fieldOf(member, room));
    }
  }
  const known = fc.record({ ...required, ...optional }, { requiredKeys: Object.keys(required) });
  return fc.tuple(known, extra).map(([keys, more]) => ({ ...keys, ...more }));
}

function unionOf(oneof: DescOneof, room: number): Arbitrary<JsonValue> {
  return fc.oneof(...oneof.fields.map((field) => fieldOf(field, room)));
}

function fieldOf(field: DescField, room: number): Arbitrary<JsonValue> {
  if (field.fieldKind === "list") return fc.array(itemOf(field, room), { maxLength: 3 });
  if (field.fieldKind === "map") return dictionaryOf(awkwardKey(), itemOf(field, room));
  return itemOf(field, room);
}

function itemOf(field: DescField, room: number): Arbitrary<JsonValue> {
  if (field.message) {
    const { message } = field;
    if (message.typeName === "google.protobuf.Struct") return dictionaryOf(awkwardKey(), anything());
    if (getOption(message, transparent)) return fieldOf(message.fields[0] as DescField, room);
    return room === 0 ? fc.constant({}) : fc.constant(room - 1).chain((less) => messageOf(message, less));
  }
  if (field.enum) {
    const words = fc.constantFrom(...field.enum.values.map((value) => getOption(value, word)).filter(Boolean));
    return getOption(field, wire).open ? fc.oneof({ weight: 3, arbitrary: words }, text()) : words;
  }
  switch (field.scalar) {
    case ScalarType.STRING:
      return text();
    case ScalarType.BOOL:
      return fc.boolean();
    case ScalarType.DOUBLE:
      return finite();
    case ScalarType.UINT32:
      return fc.oneof(fc.nat({ max: 10 }), fc.integer({ min: 0, max: 2 ** 32 - 1 }), fc.constant(2 ** 32 - 1));
    case ScalarType.INT64:
      return fc.maxSafeInteger();
  }
  throw new Error(`${field.toString()} has a type that this test cannot make`);
}

function anything(): Arbitrary<JsonValue> {
  return jsonOf(fc.oneof(fc.constant(null), fc.boolean(), finite(), text()), awkwardKey());
}

function dictionaryOf(key: Arbitrary<string>, value: Arbitrary<JsonValue>): Arbitrary<JsonObject> {
  return fc.array(fc.tuple(key, value), { maxLength: 3 }).map((entries) => Object.fromEntries(entries));
}

function orNull(value: Arbitrary<JsonValue>): Arbitrary<JsonValue> {
  return fc.oneof({ weight: 5, arbitrary: value }, fc.constant(null));
}
