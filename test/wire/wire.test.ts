/** The codec keeps what real clients and vendors send: JSON → message → protobuf binary → message → the same JSON. */
import { deepStrictEqual, strictEqual, throws } from "node:assert";
import { readFileSync } from "node:fs";
import { create, type DescMessage, fromBinary, type JsonObject, type JsonValue, toBinary } from "@bufbuild/protobuf";
import { describe, test } from "vitest";
import {
  ChatCompletionChunkSchema as chunk,
  FinishReason,
  CreateChatCompletionRequestSchema as input,
  ChatCompletionSchema as output,
  ReasoningEffort,
  Role,
  ToolChoiceMode,
} from "../../gen/modelgateway/v1/chat_pb.ts";
import { WireFault } from "../../src/wire/fault.ts";
import { binaryOptions, maxDepth } from "../../src/wire/json.ts";
import { readMessage } from "../../src/wire/read.ts";
import { Wire } from "../../src/wire/wire.ts";
import { writeMessage } from "../../src/wire/write.ts";
import { sameJson, throughBinary } from "../support/translations/round-trip.ts";

interface Sample {
  readonly name: string;
  readonly json: JsonObject;
  /** Has values of unexpected types: only the lenient reader accepts it. */
  readonly odd?: boolean;
  /** The JSON written back, where the vendor left out what clients require. */
  readonly written?: JsonObject;
}

function samples(kind: string): Sample[] {
  return JSON.parse(readFileSync(new URL(`../fixtures/chat/${kind}.json`, import.meta.url), "utf8")) as Sample[];
}

describe("a chat request comes back as it was sent", () => {
  test.each(samples("requests"))("$name", ({ json }) => {
    sameJson(throughBinary(input, json, false), json);
    sameJson(throughBinary(input, json, true), json);
  });
});

describe.each([
  ["an answer", "answers", output],
  ["a chunk", "chunks", chunk],
] as const)("%s comes back as its vendor wrote it", (_, kind, desc) => {
  test.each(samples(kind))("$name", ({ json, odd, written = json }) => {
    sameJson(throughBinary(desc, json, true), written);
    if (odd) throws(() => readMessage(desc, json, { lenient: false }), WireFault);
    else sameJson(throughBinary(desc, json, false), written);
  });
});

describe("a message read from JSON holds typed values", () => {
  const read = (json: JsonObject) => readMessage(input, json, { lenient: false });

  test("words become enum values, and an unknown word stays in extra", () => {
    strictEqual(read({ reasoning_effort: "max" }).reasoningEffort, ReasoningEffort.MAX);
    const future = read({ reasoning_effort: "ultra" });
    strictEqual(future.reasoningEffort, undefined);
    deepStrictEqual(future.extra, { reasoning_effort: "ultra" });
  });

  test("the JSON type selects the member of a union", () => {
    deepStrictEqual(read({ stop: "x" }).stop, { case: "stopText", value: "x" });
    strictEqual(read({ stop: ["x"] }).stop.case, "stopList");
    strictEqual(read({ stop: [] }).stop.case, "stopList");
    strictEqual(read({ stop: null }).stop.case, undefined);
    deepStrictEqual(read({ tool_choice: "auto" }).toolChoice, { case: "toolChoiceMode", value: ToolChoiceMode.AUTO });
    strictEqual(read({ tool_choice: { type: "function" } }).toolChoice.case, "toolChoiceNamed");
  });

  test("a whole number of 64 bits is a bigint, and absent is not zero", () => {
    strictEqual(read({ seed: 9007199254740991 }).seed, 9007199254740991n);
    strictEqual(read({ seed: 0 }).seed, 0n);
    strictEqual(read({}).seed, undefined);
    strictEqual(read({ temperature: 0 }).temperature, 0);
    strictEqual(read({}).temperature, undefined);
  });

  test("nothing is in extra where every key has a field", () => {
    const message = read({ model: "m", messages: [{ role: "user", content: [{ type: "text", text: "x" }] }] });
    strictEqual(message.extra, undefined);
    strictEqual(message.messages[0]?.role, Role.USER);
    strictEqual(message.messages[0]?.extra, undefined);
  });
});

describe("a lenient reader keeps what it can", () => {
  const read = (json: JsonValue) => readMessage(chunk, json, { lenient: true });

  test("a value of a wrong type is kept beside its empty field", () => {
    const message = read({ id: "c", usage: "none", choices: [{ index: 0, finish_reason: "eos", delta: { role: 7 } }] });
    strictEqual(message.usage, undefined);
    deepStrictEqual(message.extra, { usage: "none" });
    strictEqual(message.choices[0]?.finishReason, undefined);
    deepStrictEqual(message.choices[0]?.delta?.extra, { role: 7 });
  });

  test("half a character at the end of a piece does not lose the text", () => {
    strictEqual(
      read({ choices: [{ index: 0, delta: { content: "ok \ud83d" } }] }).choices[0]?.delta?.content,
      "ok \ufffd",
    );
  });

  test("only what cannot be kept is left out", () => {
    const deep = JSON.parse(`${"[".repeat(200_000)}${"]".repeat(200_000)}`) as JsonValue;
    const json = JSON.parse(
      '{"id":"c","__proto__":{"model":"spoof"},"x":{"a":{"__proto__":1}},"\\ud800":1,"y":"\\udc00"}',
    );
    const message = read({ ...json, deep, big: Number.POSITIVE_INFINITY, z: 1 });
    deepStrictEqual(message.extra, { y: "\ufffd", z: 1 });
    strictEqual(Object.getPrototypeOf(message.extra), Object.prototype);
    deepStrictEqual(throughBinary(chunk, { ...json, deep, z: 1 }, true), {
      ...{ id: "c", object: "", created: 0, model: "", choices: [] },
      ...{ y: "\ufffd", z: 1 },
    });
  });

  test("a recursive field is cut at the maximum depth", () => {
    let token: JsonObject = { token: "x" };
    for (let i = 0; i < 5000; i++) token = { token: "x", top_logprobs: [token] };
    const read = throughBinary(chunk, { choices: [{ index: 0, logprobs: { content: [token] } }] }, true);
    strictEqual(nesting(read), maxDepth);
  });

  test("only a value that is not an object is refused", () => {
    for (const json of [null, [], "x", 1, true]) throws(() => read(json), WireFault);
  });
});

describe("nesting is read, and survives protobuf, to the same depth everywhere", () => {
  const list = (levels: number): JsonValue => (levels === 0 ? 1 : [list(levels - 1)]);
  const object = (levels: number): JsonValue => (levels === 0 ? 1 : { a: object(levels - 1) });
  const mixed = (levels: number): JsonValue =>
    levels === 0 ? 1 : levels % 2 ? [mixed(levels - 1)] : { a: mixed(levels - 1) };
  const logprobs = (levels: number): JsonValue =>
    levels <= 2 ? { token: "x", vendor: list(levels - 1) } : { token: "x", top_logprobs: [logprobs(levels - 2)] };
  const request = (levels: number, deep: (levels: number) => JsonValue, around: (deep: JsonValue) => JsonObject) =>
    around(deep(levels - nesting(around(0))));

  const places: [name: string, desc: DescMessage, json: (levels: number) => JsonObject][] = [];
  for (const deep of [list, object, mixed]) {
    places.push(
      [`${deep.name} in extra`, input, (n) => request(n, deep, (x) => ({ x }))],
      [`${deep.name} in a part`, input, (n) => request(n, deep, (x) => ({ messages: [{ content: [{ x }] }] }))],
      [
        `${deep.name} in a tool's schema`,
        input,
        (n) => request(n, deep, (x) => ({ tools: [{ function: { parameters: { x } } }] })),
      ],
    );
  }
  places.push([
    "log probabilities",
    chunk,
    (n) =>
      request(n, logprobs, (x) => ({
        ...{ id: "", object: "", created: 0, model: "" },
        choices: [{ index: 0, logprobs: { content: [x] } }],
      })),
  ]);

  test.each(places)("%s", (_, desc, json) => {
    strictEqual(nesting(json(maxDepth)), maxDepth);
    sameJson(throughBinary(desc, json(maxDepth), false), json(maxDepth));
    throws(() => readMessage(desc, json(maxDepth + 1), { lenient: false }), WireFault);
  });
});

describe("a message from an RPC is written as clients expect", () => {
  test("fields that clients require are present, whatever was set", () => {
    deepStrictEqual(writeMessage(output, create(output)), { id: "", object: "", created: 0, model: "", choices: [] });
    deepStrictEqual(writeMessage(output, create(output, { choices: [{}], usage: {} })), {
      ...{ id: "", object: "", created: 0, model: "" },
      choices: [{ index: 0 }],
      usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 },
    });
  });

  test("a typed value takes precedence over one in extra, except a zero over null", () => {
    const message = create(output, {
      id: "x",
      model: "new",
      extra: { model: "old", id: null, created: null, choices: null },
    });
    deepStrictEqual(writeMessage(output, message), { id: "x", object: "", created: null, model: "new", choices: null });
  });

  test("an enum's number without a word is written where none may be, for its reader to refuse it, and else it is not", () => {
    const request = create(input, { messages: [{ role: 99 as never }, { role: 0 as never }] });
    deepStrictEqual((writeMessage(input, request) as JsonObject).messages, [{ role: 99 }, {}]);
    throws(() => Wire.ofJson(input, writeMessage(input, request) as JsonObject).message(), /got a number/);
    const message = create(chunk, {
      choices: [{ finishReason: FinishReason.UNSPECIFIED }, { finishReason: 99 as FinishReason }],
    });
    deepStrictEqual((writeMessage(chunk, message) as JsonObject).choices, [{ index: 0 }, { index: 0 }]);
  });

  test("a key `__proto__` from an RPC is a member like others, which requests are refused for", () => {
    const extra = JSON.parse('{"__proto__":{"stream":true},"a":1}') as JsonObject;
    const metadata = JSON.parse('{"__proto__":"x","b":"y"}') as Record<string, string>;
    const message = fromBinary(input, toBinary(input, create(input, { extra, metadata })), binaryOptions);
    const json = writeMessage(input, message) as JsonObject;
    strictEqual(JSON.stringify(json), '{"metadata":{"__proto__":"x","b":"y"},"__proto__":{"stream":true},"a":1}');
    strictEqual(Object.getPrototypeOf(json), Object.prototype);
    throws(() => Wire.ofJson(input, json).message(), /the key `__proto__` is not allowed/);
  });
});

describe("a Wire", () => {
  const text = Buffer.from('{ "model": "m", "seed": 12345678901234567890, "messages": [] }');

  test("keeps the form it came in and makes the others from it", () => {
    strictEqual(Wire.ofBytes(output, text).bytes(), text);
    const json = { model: "m", x: null };
    strictEqual(Wire.ofJson(input, json).json(), json);
    strictEqual(Wire.ofJson(input, json).bytes().toString(), '{"model":"m","x":null}');
    const message = create(input, { model: "m", maxTokens: 5 });
    strictEqual(Wire.ofMessage(input, message).message(), message);
    strictEqual(Wire.ofMessage(input, message).bytes().toString(), '{"model":"m","max_tokens":5}');
    strictEqual(Wire.ofBytes(input, Buffer.from('{"model":"m"}')).message().model, "m");
  });

  test("with changed members is another Wire, in all three forms", () => {
    const wire = Wire.ofBytes(input, Buffer.from('{"model":"m", "n":1, "seed":9007199254740993}'), true);
    const changed = wire.with({ model: "other", n: undefined, stream: true });
    strictEqual(changed.bytes().toString(), '{"model":"other", "seed":9007199254740993,"stream":true}');
    deepStrictEqual(changed.json(), { model: "other", seed: 9007199254740992, stream: true });
    strictEqual(changed.message().model, "other");
    strictEqual(wire.message().model, "m");
    strictEqual(wire.bytes().toString(), '{"model":"m", "n":1, "seed":9007199254740993}');
  });

  test("rebuilds the text where a reader downstream could see another member than the replaced one", () => {
    const changed = Wire.ofBytes(input, Buffer.from('{"\\u006dodel":"a","n":1}')).with({ model: "c" });
    strictEqual(changed.bytes().toString(), '{"model":"c","n":1}');
    // An upstream's answer may have duplicate members; a request may not.
    const twice = Buffer.from('{"model":"a","model":"b","n":1}');
    strictEqual(Wire.ofBytes(input, twice, true).with({ model: "c" }).bytes().toString(), '{"model":"c","n":1}');
    throws(() => Wire.ofBytes(input, twice).with({ model: "c" }), /twice/);
  });

  test("made from JSON or from a message can be changed, too", () => {
    strictEqual(Wire.ofJson(input, { n: 1 }).with({ n: 2 }).bytes().toString(), '{"n":2}');
    strictEqual(
      Wire.ofMessage(input, create(input, { n: 1 }))
        .with({ n: undefined })
        .bytes()
        .toString(),
      "{}",
    );
    strictEqual(
      Wire.ofMessage(input, create(input, { n: 1 }))
        .with({ n: 7 })
        .message().n,
      7,
    );
  });

  test("refuses to change text that is not a JSON object", () => {
    for (const broken of ["", "[]", '{"a":1', '{"a', '"', "nul", "{]", '{"a":1}}']) {
      throws(() => Wire.ofBytes(input, Buffer.from(broken)).with({ model: "c" }), WireFault);
    }
  });
});

function nesting(json: JsonValue): number {
  if (typeof json !== "object" || json === null) return 0;
  return 1 + Math.max(0, ...Object.values(json).map(nesting));
}
