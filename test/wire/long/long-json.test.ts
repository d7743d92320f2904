/**
 * A long request is read piece by piece, in turns, with the result of `JSON.parse`. Long plain strings may be
 * skipped: fillers of the same length stand in their places.
 */
import { deepStrictEqual, notStrictEqual, strictEqual, throws } from "node:assert";
import type { DescMessage, JsonObject, JsonValue } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, test } from "vitest";
import { CreateChatCompletionRequestSchema } from "../../../gen/modelgateway/v1/chat_pb.ts";
import { CreateEmbeddingsRequestSchema, EmbeddingListSchema } from "../../../gen/modelgateway/v1/embeddings_pb.ts";
import { CreateResponseRequestSchema } from "../../../gen/modelgateway/v1/responses_pb.ts";
import { createValidate } from "../../../src/pipeline/check/validate.ts";
import { runNow } from "../../../src/runtime/cooperative.ts";
import type { WireFault } from "../../../src/wire/fault.ts";
import { readLongRequest, readMembers } from "../../../src/wire/json.ts";
import { readLongMessage } from "../../../src/wire/long/read-long.ts";
import { readMessage } from "../../../src/wire/read.ts";
import { type OmittedText, restoreOmitted } from "../../../src/wire/scan/build.ts";
import { Wire } from "../../../src/wire/wire.ts";

const read = (text: string, leftOut?: OmittedText[]) => runNow(readMembers(Buffer.from(text), leftOut)).value;
const long = (length: number, of = "iVBORw0KGgo+/=") => of.repeat(Math.ceil(length / of.length)).slice(0, length);
const image = long(100_000);

/** Returns a value with all its long strings made equal. */
function leveled(value: JsonValue): JsonValue {
  if (typeof value === "string") return value.length < 32_768 ? value : `a text of ${value.length}`;
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(leveled);
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, leveled(member)]));
}

/** Any JSON, with strings, lists and objects long enough to be cut, and with all spellings. */
const text = fc.oneof(
  fc.string({ unit: "binary", maxLength: 20 }),
  fc.integer({ min: 32_768, max: 140_000 }).map((length) => long(length)),
  fc.integer({ min: 30_000, max: 70_000 }).map((length) => long(length, 'two words, "quoted"\n')),
  fc.integer({ min: 30_000, max: 700_000 }).map((length) => long(length, "日本語と絵文字🙂\u0001")),
  fc.integer({ min: 250_000, max: 300_000 }).map((length) => long(length, "\\")),
);
const { json } = fc.letrec<{ json: JsonValue }>((tie) => ({
  json: fc.oneof(
    { depthSize: "small" },
    { arbitrary: text, weight: 3 },
    fc.constantFrom<JsonValue>(null, true, 7, 1.5, -0, 1e300, "", [], {}),
    fc.integer({ min: 1, max: 30_000 }).map((length) => Array.from({ length }, (_, i) => i * 1.5)),
    fc
      .integer({ min: 1, max: 6_000 })
      .map((length) => Object.fromEntries(Array.from({ length }, (_, i) => [`k${(i * 7) % length}é`, [i, { i }]]))),
    fc.array(tie("json"), { maxLength: 4 }),
    fc.dictionary(fc.oneof(fc.string({ maxLength: 5 }), fc.constantFrom("1", "content")), tie("json"), { maxKeys: 4 }),
  ),
}));
const said = fc.tuple(fc.array(json, { maxLength: 6 }), fc.constantFrom(0, 1, 3));

test("long JSON is read as the parser reads it, completely or without its long plain strings, which are restored later", {
  timeout: 120_000,
}, () => {
  let past = 0;
  fc.assert(
    fc.property(said, ([value, indent]) => {
      const written = JSON.stringify({ value }, null, indent);
      const expected = JSON.parse(written);
      deepStrictEqual(read(written), expected);
      const leftOut: OmittedText[] = [];
      const outline = read(written, leftOut);
      if (leftOut.length > 0) past++;
      deepStrictEqual(leveled(outline), leveled(expected));
      restoreOmitted(Buffer.from(written), leftOut);
      deepStrictEqual(outline, expected);
    }),
    { numRuns: 40, endOnFailure: true },
  );
  // Enough of them had a string to skip.
  strictEqual(past > 1, true);
});

/** Parses as the parser does, which accepts duplicate members; one character may create one. */
function readOrTwice(written: string): JsonValue {
  try {
    return read(written);
  } catch (fault) {
    if (/this member twice/.test(String(fault))) return "twice";
    throw fault;
  }
}

test("long JSON is refused wherever the parser refuses it", () => {
  const signs = ['"', "\\", ",", ":", "[", "]", "{", "}", "1", "\n", "\u0001", "x", ".", "e", "u", "tru", "  ", "-"];
  fc.assert(
    fc.property(said, fc.nat(), fc.constantFrom(...signs), fc.nat(3), ([value, indent], at, sign, cut) => {
      const whole = JSON.stringify({ value }, null, indent);
      const place = at % whole.length;
      const written = `${whole.slice(0, place)}${sign}${whole.slice(place + cut)}`.toWellFormed();
      let expected: unknown;
      try {
        expected = JSON.parse(written);
      } catch {
        throws(() => read(written), /not JSON|a name is longer|a number has more/);
        return;
      }
      const ours = readOrTwice(written);
      if (ours !== "twice") deepStrictEqual(ours, expected);
    }),
    { numRuns: 60, endOnFailure: true },
  );
});

describe("a caller is refused", () => {
  test.each([
    ["a text with a line break in it", `{"a":"${image}\n"}`],
    ["a text with a control character at its end", `{"a":"${image}\u0001"}`],
    ["a text with a broken escape in it", `{"a":"${image}\\x${image}"}`],
    ["a line break in the name of what is long", `{"a\n":"${image}"}`],
    ["what is cut off", `{"a":"${image}"`],
    ["what goes on behind its end", `{"a":"${image}"}{}`],
    ["a list with a comma too many", `{"a":["${image}",]}`],
    ["a list with a comma too few", `{"a":["${image}" 1]}`],
    ["a list that begins with a comma", `{"a":[,"${image}"]}`],
    ["a member without a value", `{"a":"${image}","b":}`],
    ["a member without a name", `{"a":"${image}",:1}`],
    ["a list that ends as an object", `{"a":["${image}"}}`],
  ])("%s", (_, text) => throws(() => read(text), /not JSON/));

  test("a string with a control character in any position", () => {
    for (let at = 0; at < 64; at++) {
      throws(() => read(`{"a":"${image.slice(0, 40_000 + at)}\u001f${image}"}`), /not JSON/, `at ${at}`);
    }
  });

  test("bytes that are not UTF-8", () => {
    throws(() => runNow(readLongRequest(Buffer.from(`{"a":"${image}","b":"é"}`, "latin1"))), /not UTF-8/);
  });
});

describe("a message with long lists", () => {
  const many = Array.from({ length: 1_000 }, (_, i) => ({
    role: i % 2 ? "assistant" : "user",
    content: `${i}`,
    odd: i,
  }));
  test.each<[string, DescMessage, JsonObject]>([
    ["of messages", CreateChatCompletionRequestSchema, { model: "m", messages: many, more: { a: [1] } }],
    ["of items where a text may stand", CreateResponseRequestSchema, { model: "m", input: many }],
    [
      "of texts",
      CreateChatCompletionRequestSchema,
      { model: "m", messages: [], stop: many.map(({ content }) => content) },
    ],
    ["of numbers", CreateEmbeddingsRequestSchema, { model: "m", input: many.map(({ odd }) => odd) }],
  ])("%s is read in turns as at once", (_, desc, json) => {
    deepStrictEqual(runNow(readLongMessage(desc, json)), readMessage(desc, json, { lenient: false }));
  });

  test("is refused as a short one where an item does not fit", () => {
    const faulty = { model: "m", messages: [...many, { role: 7 }] };
    const request = Wire.ofJson(CreateChatCompletionRequestSchema, faulty);
    runNow(request.readLongMessage());
    const where = { path: `messages[${many.length}].role` };
    throws(() => readMessage(CreateChatCompletionRequestSchema, faulty, { lenient: false }), where);
    throws(() => request.message(), where);
  });

  test.each<[string, JsonObject]>([
    ["before the list", { user: {}, messages: [...many, 7], stop: {} }],
    ["in the list", { messages: [...many, 7], user: {}, stop: {} }],
    ["between two lists", { messages: many, user: {}, tools: [...many, 7] }],
    ["in a second list", { messages: many, tools: [...many, 7], user: {} }],
    ["behind the list", { messages: many, user: {}, stop: {} }],
  ])("is refused for the first of several faults, which stands %s", (_, faulty) => {
    const faultOf = (read: () => unknown): string => {
      try {
        read();
      } catch (fault) {
        return `${(fault as WireFault).path}: ${(fault as WireFault).message}`;
      }
      return "none";
    };
    const desc = CreateChatCompletionRequestSchema;
    const plain = faultOf(() => readMessage(desc, faulty, { lenient: false }));
    notStrictEqual(plain, "none");
    const inTurns = faultOf(() => runNow(readLongMessage(desc, faulty)));
    strictEqual(inTurns, plain);
  });
});

describe("a long answer of vectors", () => {
  const answer: JsonObject = {
    object: "list",
    data: Array.from({ length: 9 }, (_, index) => ({ index, embedding: [index, 0.5] })),
  };
  const text = Buffer.from(JSON.stringify({ ...answer, model: image }));

  test("that was read without them is read with them in turns", async () => {
    const wire = Wire.ofBytes(EmbeddingListSchema, text, true);
    await wire.parseInSlices(true);
    deepStrictEqual((wire.outline().data as JsonObject[])[3], { index: 3, embedding: [0] });
    strictEqual(wire.parseInSlices(true), wire);
    notStrictEqual(wire.parseInSlices(), wire);
    await wire.parseInSlices();
    deepStrictEqual(wire.json(), { ...answer, model: image });
    strictEqual(wire.parseInSlices(), wire);
  });
});

describe("a request with an image in it", () => {
  const said = (more: object = {}): JsonObject => ({
    model: "gpt",
    messages: [
      { role: "user", content: [{ type: "image_url", image_url: { url: `data:image/png;base64,${image}` } }] },
    ],
    ...more,
  });
  const wire = (json: JsonObject) => Wire.ofBytes(CreateChatCompletionRequestSchema, Buffer.from(JSON.stringify(json)));
  const urlIn = ({ messages }: JsonObject) => JSON.stringify(messages).length;

  test("gives its full JSON, before and after its outline", () => {
    for (const first of ["json", "outline"] as const) {
      const request = wire(said());
      request[first]();
      deepStrictEqual(request.json(), said());
      strictEqual(urlIn(request.outline()), urlIn(said()));
    }
  });

  test("is read in turns before it is needed", async () => {
    const request = wire(said());
    const prepared = request.parseInSlices();
    let turns = 0;
    let isRead = false;
    const reading = Promise.resolve(prepared).then(() => {
      isRead = true;
    });
    for (; !isRead; turns++) await new Promise(setImmediate);
    await reading;
    strictEqual(turns > 0, true);
    strictEqual(request.parseInSlices(), request);
    deepStrictEqual(request.json(), said());
  });

  test("keeps its bytes where another member is set, and then gives its full JSON, too", () => {
    const request = wire(said());
    strictEqual(request.outline().model, "gpt");
    const other = request.with({ model: "other", stream: true });
    deepStrictEqual([other.outline().model, other.outline().stream], ["other", true]);
    deepStrictEqual(JSON.parse(other.bytes().toString()), said({ model: "other", stream: true }));
    deepStrictEqual(other.json(), said({ model: "other", stream: true }));
    deepStrictEqual(request.json(), said());
  });

  test("is validated, even by the length of its strings", () => {
    const validate = createValidate();
    validate(wire(said()));
    const faults: readonly [JsonObject, RegExp][] = [
      [said({ safety_identifier: image }), /safety_identifier|64/],
      [said({ temperature: image }), /expected a number/],
      [said({ reasoning_effort: 3 }), /expected/],
    ];
    for (const [json, words] of faults) throws(() => validate(wire(json)), words);
  });

  test("is refused where it is not JSON", () => {
    for (const text of [`{"a":"${image}\n"}`, `{"a":"${image}"`]) {
      const request = Wire.ofBytes(CreateChatCompletionRequestSchema, Buffer.from(text));
      throws(() => request.outline(), /not JSON/);
    }
  });
});
