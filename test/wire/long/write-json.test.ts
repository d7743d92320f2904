/** Long JSON is written in turns, with the result of `JSON.stringify`. */
import { ok, strictEqual } from "node:assert";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import fc from "fast-check";
import { test } from "vitest";
import { CreateChatCompletionRequestSchema } from "../../../gen/modelgateway/v1/chat_pb.ts";
import { runNow } from "../../../src/runtime/cooperative.ts";
import { canonicalText, writeCanonical } from "../../../src/wire/canonical.ts";
import { jsonBytes, writeJson } from "../../../src/wire/long/write-json.ts";
import { Wire } from "../../../src/wire/wire.ts";

const text = fc.oneof(
  fc.string({ unit: "binary", maxLength: 20 }),
  fc
    .tuple(fc.constantFrom("a", "é\n", "🙂", "\ud83d", '"\\', "x🙂\ude42"), fc.integer({ min: 60_000, max: 140_000 }))
    .map(([of, length]) => of.repeat(length).slice(0, length)),
);
const { json } = fc.letrec<{ json: JsonValue }>((tie) => ({
  json: fc.oneof(
    { depthSize: "small" },
    text,
    fc.constantFrom<JsonValue>(null, true, false, 7, -0, 1.5e300, "", [], {}),
    fc.array(tie("json"), { maxLength: 4 }),
    fc.dictionary(text, tie("json"), { maxKeys: 4 }),
  ),
}));

test("any value is written as by JSON.stringify", () => {
  fc.assert(
    fc.property(json, (value) => {
      strictEqual(runNow(jsonBytes(value)).toString(), Buffer.from(JSON.stringify(value)).toString());
    }),
    { numRuns: 60, endOnFailure: true },
  );
});

test("undefined members are left out, and members are sorted on request", () => {
  const value = { b: [1, undefined], a: undefined, c: { z: 1, y: "é" } } as unknown as JsonValue;
  strictEqual(runNow(jsonBytes(value)).toString(), JSON.stringify(value));
  let sorted = "";
  const take = (more: string) => {
    sorted += more;
  };
  runNow(writeJson(value, take, true));
  strictEqual(sorted, '{"b":[1,null],"c":{"y":"é","z":1}}');
});

test("the canonical text of a long message is the same in parts", () => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.oneof(text, fc.constantFrom("1", "10", "9", "b", "a")), json, { maxKeys: 5 }),
      (more) => {
        const request = Wire.ofJson(CreateChatCompletionRequestSchema, { model: "m", stream: true }, true).message();
        const message = { ...request, extra: more as JsonObject };
        let parts = "";
        const take = (part: string) => {
          parts += part;
        };
        runNow(writeCanonical(CreateChatCompletionRequestSchema, message, ["stream"], take));
        strictEqual(parts, canonicalText(CreateChatCompletionRequestSchema, message, ["stream"]));
      },
    ),
    { numRuns: 60, endOnFailure: true },
  );
});

test("megabytes are written in small parts, with a turn between them", () => {
  const value = { messages: Array.from({ length: 20_000 }, (_, i) => ({ role: "user", content: `${i}`.repeat(20) })) };
  const work = jsonBytes({ ...value, text: "a".repeat(1_000_000) });
  let turns = 0;
  while (!work.next().done) turns++;
  ok(turns > 30, `${turns} turns`);
});

test("a request is written in turns before its bytes are needed", async () => {
  const request = Wire.ofJson(CreateChatCompletionRequestSchema, { model: "m", user: "a".repeat(500_000) });
  let isWritten = false;
  const writing = Promise.resolve(request.writeInSlices()).then(() => {
    isWritten = true;
  });
  let rounds = 0;
  for (; !isWritten; rounds++) await new Promise(setImmediate);
  await writing;
  ok(rounds > 0);
  strictEqual(request.bytes().toString(), JSON.stringify(request.json()));
  strictEqual(request.writeInSlices(), request);
});
