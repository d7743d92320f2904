/** An outline has everything but the vectors, and what only looks like a vector is left to the parser. */
import { deepStrictEqual, strictEqual, throws } from "node:assert";
import type { JsonValue } from "@bufbuild/protobuf";
import fc, { type Arbitrary } from "fast-check";
import { describe, test } from "vitest";
import { EmbeddingListSchema } from "../../../gen/modelgateway/v1/embeddings_pb.ts";
import { encodeVectors } from "../../../src/families/embeddings-encoding.ts";
import { runNow } from "../../../src/runtime/cooperative.ts";
import { readOutline } from "../../../src/wire/scan/outline.ts";
import { Wire } from "../../../src/wire/wire.ts";

const outline = (text: string) => runNow(readOutline(Buffer.from(text)));

describe("vectors are left with one zero", () => {
  const cases: [name: string, text: string, expected: JsonValue][] = [
    ["one", '{"data":[{"embedding":[1,-2.5e-3]}],"n":1}', { data: [{ embedding: [0] }], n: 1 }],
    ["several", '[{"embedding":[1]},{"embedding":[2],"é":"ö"}]', [{ embedding: [0] }, { embedding: [0], é: "ö" }]],
    ["and empty where they are", '[{"embedding":[1]},{"embedding":[ ]}]', [{ embedding: [0] }, { embedding: [] }]],
    ["in wide text", '{"embedding" :\r\n\t[ 1 ,\n 2 ]}', { embedding: [0] }],
    ["beside base64", '[{"embedding":"AACAPw=="},{"embedding":[2]}]', [{ embedding: "AACAPw==" }, { embedding: [0] }]],
    ["under a key that ends alike", '{"a\\"embedding":[1],"b":2}', { 'a"embedding': [0], b: 2 }],
    [
      "and not where a text says the same",
      '{"a":"\\"embedding\\":[1,2]","b":["embedding",[1]],"embedding":[3]}',
      { a: '"embedding":[1,2]', b: ["embedding", [1]], embedding: [0] },
    ],
  ];
  test.each(cases)("%s", (_, text, expected) => deepStrictEqual(outline(text), expected));
});

describe("the parser gets", () => {
  test.each([
    ["a text without vectors", '{"a":[1,2]}'],
    ["a list of nothing", '{"embedding":[ ]}'],
    ["a list with null in it", '{"embedding":[1,null]}'],
    ["a list with a number that is none", '{"embedding":[1,NaN]}'],
    ["a list with Infinity in it", '{"embedding":[-Infinity]}'],
    ["a list with a word in capitals", '{"embedding":[1,INFINITY]}'],
    ["a list with true in it", '{"embedding":[1,true]}'],
    ["a list with false in it", '{"embedding":[1,false]}'],
    ["a list with an object in it", '{"embedding":[{"a":1},2]}'],
    ["a list with texts", '{"embedding":["]"]}'],
    ["a list of lists", '{"embedding":[[1]]}'],
    ["a list that never ends", '{"embedding":[1,2'],
    ["a list that ends otherwise", '{"embedding":[1,2}]'],
    ["a text that breaks off after its vectors", '{"embedding":[1,2],"a":'],
    ["a text that is no JSON before its vectors", '{"a" "embedding":[1,2]}'],
    ["a key inside of another text", '"a"embedding":[1]"'],
  ])("%s", (_, text) => strictEqual(outline(text), undefined));

  test("what is no UTF-8", () => {
    strictEqual(runNow(readOutline(Buffer.from('{"é":1,"embedding":[1]}', "latin1"))), undefined);
  });
});

test("any JSON is read as the parser reads it, except for its vectors", () => {
  const key = fc.constantFrom("embedding", "a", 'b"', "\\", '"embedding":[1]');
  const leaf = fc.oneof(fc.double({ noNaN: true, noDefaultInfinity: true }), key, fc.constant(null), fc.boolean());
  const value: Arbitrary<JsonValue> = fc.letrec<{ value: JsonValue }>((tie) => ({
    value: fc.oneof(
      { depthSize: "small" },
      leaf,
      fc.array(fc.integer(), { maxLength: 3 }),
      fc.array(tie("value"), { maxLength: 3 }),
      fc.dictionary(key, tie("value"), { maxKeys: 3 }),
    ),
  })).value;
  fc.assert(
    fc.property(value, fc.constantFrom(0, 1), (json, indent) => {
      const read = outline(JSON.stringify(json, null, indent));
      if (read !== undefined) deepStrictEqual(read, withoutVectors(JSON.parse(JSON.stringify(json))));
    }),
    { numRuns: 2000 },
  );
});

describe("an answer in bytes", () => {
  const answered = (vector: string) =>
    Wire.ofBytes(
      EmbeddingListSchema,
      Buffer.from(`{"data":[{"object":"embedding","index":0,"embedding":${vector}}],"more":1.0}`),
      true,
    );

  test("is passed on without parsing its numbers", () => {
    // A parser would not read the second.
    for (const vector of ["[1.0,2]", "[1.0.0,2]"]) {
      const answer = answered(vector);
      strictEqual(encodeVectors(answer, "float"), answer);
    }
  });

  test("is refused where a vector is empty, however long the others are", () => {
    const long = JSON.stringify(Array.from({ length: 50_000 }, (_, i) => i / 7));
    const bytes = Buffer.from(`{"data":[{"index":0,"embedding":${long}},{"index":1,"embedding":[]}]}`);
    throws(() => encodeVectors(Wire.ofBytes(EmbeddingListSchema, bytes, true), "float"), { status: 502 });
  });

  test("is parsed where its vectors must change, or are out of order", () => {
    deepStrictEqual(encodeVectors(answered("[1.0]"), "base64").json(), {
      data: [{ object: "embedding", index: 0, embedding: "AACAPw==" }],
      more: 1,
    });
    const bytes = Buffer.from('{"data":[{"index":1,"embedding":[1.0]},{"index":0,"embedding":[2.0]}]}');
    deepStrictEqual(encodeVectors(Wire.ofBytes(EmbeddingListSchema, bytes, true), "float").json().data, [
      { object: "embedding", index: 0, embedding: [2] },
      { object: "embedding", index: 1, embedding: [1] },
    ]);
  });
});

function withoutVectors(json: JsonValue): JsonValue {
  if (Array.isArray(json)) return json.map(withoutVectors);
  if (typeof json !== "object" || json === null) return json;
  const members = Object.entries(json).map(([key, value]) => {
    const isVector = key === "embedding" && Array.isArray(value) && value.every((item) => typeof item === "number");
    return [key, isVector ? value.slice(0, 1).map(() => 0) : withoutVectors(value)] as const;
  });
  return Object.fromEntries(members);
}
