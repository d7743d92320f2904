/**
 * A request is read past its long plain texts: others of their length stand in what is read, all else is as it was said, and
 * what only looks like a long text is left to the parser.
 */
import { deepStrictEqual, strictEqual, throws } from "node:assert";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, test } from "vitest";
import { CreateChatCompletionRequestSchema } from "../gen/modelgateway/v1/chat_pb.ts";
import { createValidate } from "../src/pipeline/validate.ts";
import { readPastLongTexts } from "../src/wire/long-texts.ts";
import { Wire } from "../src/wire/wire.ts";

const read = (text: string) => readPastLongTexts(Buffer.from(text));
const long = (length: number, of = "iVBORw0KGgo+/=") => of.repeat(Math.ceil(length / of.length)).slice(0, length);
const image = long(100_000);

/** A value with all its long texts made alike. */
function leveled(value: JsonValue): JsonValue {
  if (typeof value === "string") return value.length < 32_768 ? value : `a text of ${value.length}`;
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(leveled);
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, leveled(member)]));
}

test("of any JSON everything is read but long texts, whose lengths are", () => {
  const text = fc.oneof(
    fc.string({ unit: "binary", maxLength: 20 }),
    fc.integer({ min: 32_768, max: 140_000 }).map((length) => long(length)),
    fc.integer({ min: 30_000, max: 70_000 }).map((length) => long(length, 'two words, "quoted"\n')),
    fc.integer({ min: 30_000, max: 70_000 }).map((length) => long(length, "日本語と絵文字🙂")),
  );
  const { json } = fc.letrec<{ json: JsonValue }>((tie) => ({
    json: fc.oneof(
      { depthSize: "small" },
      text,
      fc.constantFrom<JsonValue>(null, true, 7, 1.5, "", []),
      fc.array(tie("json"), { maxLength: 4 }),
      fc.dictionary(fc.oneof(fc.string({ maxLength: 5 }), fc.constantFrom("1", "content")), tie("json"), {
        maxKeys: 4,
      }),
    ),
  }));
  let passed = 0;
  fc.assert(
    fc.property(fc.array(json, { maxLength: 6 }), fc.constantFrom(0, 1, 3), (said, indent) => {
      const value = read(JSON.stringify(said, null, indent));
      if (value === undefined) return;
      passed++;
      deepStrictEqual(leveled(value), leveled(JSON.parse(JSON.stringify(said)) as JsonValue));
    }),
    { numRuns: 300, seed: 1, endOnFailure: true },
  );
  // Enough of them had a text to be passed over.
  strictEqual(passed > 50, true);
});

describe("left to the parser is", () => {
  const numbers = `[${"1,".repeat(20_000)}1]`;
  test.each([
    ["a short request", `{"a":"${long(40_000)}"}`],
    ["a text with an escape", `{"a":"${image}\\n${image}"}`.replaceAll("V", "\\u0041")],
    ["a text with another alphabet", `{"a":"${image}é","b":1}`],
    ["a text with a line break in it", `{"a":"${image}\n"}`],
    ["a text with a control character at its end", `{"a":"${image}\u0001"}`],
    ["a key", `{"${image}":1}`],
    ["a member that is said twice", `{"a":"${image}","a":"b"}`],
    ["what is no text", `{"a":"b","c":${numbers},"d":${numbers},"e":"f"}`],
    ["what is no JSON", `{"a":"${image}"`],
    ["what nests too deep", `${"[".repeat(100_000)}"${image}"${"]".repeat(100_000)}`],
  ])("%s", (_, text) => strictEqual(read(text), undefined));

  test("a text with a control character, wherever it stands", () => {
    for (let at = 0; at < 64; at++) {
      const text = `{"a":"${image.slice(0, 40_000 + at)}\u001f${image}"}`;
      strictEqual(read(text), undefined, `at ${at}`);
    }
  });

  test("what is no UTF-8", () => {
    const text = Buffer.from(`{"a":"${image}","b":"é"}`, "latin1");
    strictEqual(readPastLongTexts(text), undefined);
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

  test("is told in full to who asks, before and after its outline was", () => {
    for (const first of ["json", "outline"] as const) {
      const request = wire(said());
      request[first]();
      deepStrictEqual(request.json(), said());
      strictEqual(urlIn(request.outline()), urlIn(said()));
    }
  });

  test("keeps its bytes where another member is set, and is told in full then, too", () => {
    const request = wire(said());
    strictEqual(request.outline().model, "gpt");
    const other = request.with({ model: "other", stream: true });
    deepStrictEqual([other.outline().model, other.outline().stream], ["other", true]);
    deepStrictEqual(JSON.parse(other.bytes().toString()), said({ model: "other", stream: true }));
    deepStrictEqual(other.json(), said({ model: "other", stream: true }));
    deepStrictEqual(request.json(), said());
  });

  test("is held to its contract, also by the length of its texts", () => {
    const validate = createValidate([CreateChatCompletionRequestSchema]);
    validate(wire(said()));
    const faults: readonly [JsonObject, RegExp][] = [
      [said({ safety_identifier: image }), /safety_identifier|64/],
      [said({ temperature: image }), /expected a number/],
      [said({ reasoning_effort: 3 }), /expected/],
    ];
    for (const [json, words] of faults) throws(() => validate(wire(json)), words);
  });

  test("is refused as any other where it is no JSON", () => {
    for (const text of [`{"a":"${image}\n"}`, `{"a":"${image}"`]) {
      const request = Wire.ofBytes(CreateChatCompletionRequestSchema, Buffer.from(text));
      throws(() => request.outline(), /not JSON/);
    }
  });
});
