/** What is refused in a request, with the path that clients see. No refusal quotes the request. */
import { deepStrictEqual, ok, strictEqual } from "node:assert";
import type { DescMessage } from "@bufbuild/protobuf";
import { describe, test, vi } from "vitest";
import {
  CreateChatCompletionRequestSchema as input,
  ChatCompletionSchema as output,
} from "../../gen/modelgateway/v1/chat_pb.ts";
import { WireFault } from "../../src/wire/fault.ts";
import { Wire } from "../../src/wire/wire.ts";

function faultOf(body: string | Uint8Array, desc: DescMessage = input): WireFault {
  try {
    Wire.ofBytes(desc, Buffer.from(body)).message();
  } catch (fault) {
    if (fault instanceof WireFault) return fault;
    throw fault;
  }
  throw new Error("it was not refused");
}

describe("a value of the wrong type is refused with its path", () => {
  const faults: [path: string, body: string, message: string][] = [
    ["model", '{"model":5}', "expected a string, got a number"],
    ["model", '{"model":["sesame"]}', "expected a string, got a list"],
    ["messages", '{"messages":"sesame"}', "expected a list, got a string"],
    ["messages", '{"messages":{"0":{"role":"user"}}}', "expected a list, got an object"],
    ["messages[1]", '{"messages":[{"role":"user"},"sesame"]}', "expected an object, got a string"],
    ["messages[0]", '{"messages":[null]}', "expected an object, got null"],
    ["messages[0]", '{"messages":[[]]}', "expected an object, got a list"],
    [
      "messages[0].role",
      '{"messages":[{"role":{}}]}',
      "expected one of system, developer, user, assistant, tool, function, got an object",
    ],
    ["messages[0].content", '{"messages":[{"content":7}]}', "expected a string or a list, got a number"],
    [
      "messages[0].content",
      '{"messages":[{"content":{"text":"sesame"}}]}',
      "expected a string or a list, got an object",
    ],
    ["messages[0].content[1]", '{"messages":[{"content":[{},"sesame"]}]}', "expected an object, got a string"],
    [
      "messages[1].content[0].image_url.url",
      '{"messages":[{},{"content":[{"type":"image_url","image_url":{"url":5}}]}]}',
      "expected a string, got a number",
    ],
    [
      "messages[0].content[0].image_url",
      '{"messages":[{"content":[{"type":"image_url","image_url":"sesame"}]}]}',
      "expected an object, got a string",
    ],
    [
      "messages[0].tool_calls[0].function.arguments",
      '{"messages":[{"tool_calls":[{"function":{"arguments":{"sesame":1}}}]}]}',
      "expected a string, got an object",
    ],
    ["tools[0].function.parameters", '{"tools":[{"function":{"parameters":[]}}]}', "expected an object, got a list"],
    ["tools[0].type", '{"tools":[{"type":1}]}', "expected one of function, custom, allowed_tools, got a number"],
    ["tool_choice", '{"tool_choice":[]}', "expected a string or an object, got a list"],
    [
      "tool_choice.allowed_tools.tools[0].function.name",
      '{"tool_choice":{"allowed_tools":{"tools":[{"function":{"name":true}}]}}}',
      "expected a string, got a boolean",
    ],
    ["stop[1]", '{"stop":["a",2]}', "expected a string, got a number"],
    ["stop[0]", '{"stop":[null]}', "expected a string, got null"],
    ["stop", '{"stop":false}', "expected a string or a list, got a boolean"],
    ["metadata.key", '{"metadata":{"key":1}}', "expected a string, got a number"],
    ["metadata.key", '{"metadata":{"key":null}}', "expected a string, got null"],
    ["metadata", '{"metadata":[]}', "expected an object, got a list"],
    ["logit_bias.50256", '{"logit_bias":{"50256":"-100"}}', "expected a number, got a string"],
    ["stream", '{"stream":"true"}', "expected true or false, got a string"],
    ["stream", '{"stream":1}', "expected true or false, got a number"],
    ["temperature", '{"temperature":"0.5"}', "expected a number, got a string"],
    ["max_tokens", '{"max_tokens":"-1"}', "expected a whole number from 0 to 4294967295, got a string"],
    ["max_tokens", '{"max_tokens":1e400}', "expected a number that a double can hold"],
    ["modalities[0]", '{"modalities":[{}]}', "expected a string, got an object"],
    [
      "reasoning_effort",
      '{"reasoning_effort":3}',
      "expected one of none, minimal, low, medium, high, xhigh, max, got a number",
    ],
    ["web_search_options", '{"web_search_options":true}', "expected an object, got a boolean"],
    ["functions[0].name", '{"functions":[{"name":0}]}', "expected a string, got a number"],
  ];

  test.each(faults)("%s in %s", (path, body, message) => {
    const fault = faultOf(body);
    strictEqual(fault.path, path);
    strictEqual(fault.message, message);
    strictEqual(fault.kind, "type");
  });

  test("an unknown word has the right type, and is refused as a wrong value", () => {
    const fault = faultOf('{"messages":[{"role":"sesame"}]}');
    strictEqual(fault.path, "messages[0].role");
    strictEqual(fault.message, "expected one of system, developer, user, assistant, tool, function");
    strictEqual(fault.kind, "value");
  });

  const whole = "expected a whole number from 0 to 4294967295";
  const long = "expected a whole number from -9007199254740991 to 9007199254740991";

  test.each([
    ["max_tokens", '{"max_tokens":-1}', `${whole}, got -1`],
    ["max_tokens", '{"max_tokens":1e21}', `${whole}, got 1e+21`],
    ["max_tokens", '{"max_tokens":1.5}', `${whole}, got 1.5`],
    ["max_tokens", '{"max_tokens":4294967296}', `${whole}, got 4294967296`],
    ["seed", '{"seed":9007199254740992}', `${long}, got 9007199254740992`],
    ["seed", '{"seed":-1e300}', `${long}, got -1e+300`],
  ])("so is a number out of range, and it is shown: %s in %s", (path, body, message) => {
    const { path: at, message: words, kind } = faultOf(body);
    deepStrictEqual([at, words, kind], [path, message, "value"]);
  });

  test("even in an answer, where the reader is strict", () => {
    const fault = faultOf('{"choices":[{"index":0,"message":{"content":[]}}]}', output);
    strictEqual(fault.path, "choices[0].message.content");
  });
});

describe("what cannot be kept is refused with its path", () => {
  const lone = "expected Unicode text, got a lone surrogate";
  const proto = "the key `__proto__` is not allowed";
  const number = "expected a number that a double can hold";
  const faults: [path: string, body: string, message: string][] = [
    ["messages[0].content", '{"messages":[{"content":"sesame \\ud83d"}]}', lone],
    ["messages[0].content[0].text", '{"messages":[{"content":[{"text":"\\udc00\\ud800"}]}]}', lone],
    ["stop[0]", '{"stop":["\\ud800x"]}', lone],
    ["metadata.a", '{"metadata":{"a":"\\ud800"}}', lone],
    ["metadata.\ufffd", '{"metadata":{"\\ud800":"a"}}', lone],
    ["logit_bias.\ufffd", '{"logit_bias":{"\\udfff":1}}', lone],
    ["vendor", '{"vendor":[{"a":["sesame\\ud800"]}]}', lone],
    ["vendor", '{"vendor":{"\\ud800":1}}', lone],
    ["\ufffd", '{"\\ud800":1}', lone],
    ["messages[0].\ufffd", '{"messages":[{"\\ud800":null}]}', lone],
    ["tools[0].function.parameters", '{"tools":[{"function":{"parameters":{"title":"\\ud800"}}}]}', lone],
    ["__proto__", '{"__proto__":{}}', proto],
    ["__proto__", '{"\\u005f_proto__":null}', proto],
    ["messages[0].content[0].__proto__", '{"messages":[{"content":[{"__proto__":{"type":"text"}}]}]}', proto],
    ["vendor.__proto__", '{"vendor":{"__proto__":{"sesame":true}}}', proto],
    ["vendor[0][0].a.__proto__", '{"vendor":[[{"a":{"__proto__":1}}]]}', proto],
    ["metadata.__proto__", '{"metadata":{"__proto__":"sesame"}}', proto],
    ["logit_bias.__proto__", '{"logit_bias":{"__proto__":1}}', proto],
    [
      "tools[0].function.parameters.properties.__proto__",
      '{"tools":[{"function":{"parameters":{"properties":{"__proto__":{"type":"string"}}}}}]}',
      proto,
    ],
    ["temperature", '{"temperature":1e400}', number],
    ["logit_bias.1", '{"logit_bias":{"1":-1e999}}', number],
    ["vendor", '{"vendor":[1e309]}', number],
  ];

  test.each(faults)("%s in %s", (path, body, message) => {
    const fault = faultOf(body);
    strictEqual(fault.path, path);
    strictEqual(fault.message, message);
    strictEqual(fault.kind, "type");
    strictEqual(Object.hasOwn(Object.prototype, "sesame"), false);
  });
});

describe.each([101, 400])("%i levels of nesting are refused, not attempted", (levels) => {
  const lists = (inside: number) => `${"[".repeat(inside)}${"]".repeat(inside)}`;
  const objects = (inside: number) => `${'{"a":'.repeat(inside)}1${"}".repeat(inside)}`;
  const bodies: [path: string, body: string][] = [
    ["vendor", `{"vendor":${lists(levels - 1)}}`],
    ["vendor", `{"vendor":${objects(levels - 1)}}`],
    ["a", objects(levels)],
    ["tools[0].function.parameters", `{"tools":[{"function":{"parameters":${objects(levels - 4)}}}]}`],
    ["web_search_options", `{"web_search_options":${objects(levels - 1)}}`],
    ["messages[0].content[0].x", `{"messages":[{"content":[{"x":${lists(levels - 5)}}]}]}`],
    ["metadata.a", `{"metadata":{"a":${lists(levels - 2)}}}`],
    ["stop[0]", `{"stop":${lists(levels - 1)}}`],
    ["messages[0]", `{"messages":${lists(levels - 1)}}`],
  ];

  test.each(bodies)("%s", (path, body) => {
    strictEqual(faultOf(body).path, path);
  });

  test("in a field that holds its own type", () => {
    const turn = '{"allowed_tools":{"tools":[';
    const turns = Math.ceil(levels / 3);
    const fault = faultOf(`{"tool_choice":${turn.repeat(turns)}${"]}}".repeat(turns)}}`);
    strictEqual(fault.message, "nested deeper than 100 levels");
    ok(fault.path.startsWith("tool_choice.allowed_tools.tools[0].allowed_tools"));
  });

  test("where the body is a list", () => {
    strictEqual(faultOf(lists(levels)).kind, "malformed");
  });

  test("where the body never ends", () => {
    strictEqual(faultOf("[".repeat(levels)).message, "the body is not JSON");
    strictEqual(faultOf('{"a":'.repeat(levels)).message, "the body is not JSON");
  });
});

test.each([501, 5_000, 200_000])("%i levels of nesting are refused before they are parsed", (levels) => {
  const parse = vi.spyOn(JSON, "parse");
  try {
    for (const body of [
      `{"vendor":${"[".repeat(levels)}${"]".repeat(levels)}}`,
      `{"metadata":${'{"a":'.repeat(levels)}1${"}".repeat(levels)}}`,
      "[".repeat(levels),
      '{"a":'.repeat(levels),
    ]) {
      const fault = faultOf(body);
      strictEqual(fault.kind, "malformed");
      strictEqual(fault.message, "it is nested deeper than 100 levels");
    }
    strictEqual(parse.mock.calls.length, 0);
  } finally {
    parse.mockRestore();
  }
});

describe("a body that is not a JSON object is malformed, and has no path", () => {
  const notJson = "the body is not JSON";
  const notUtf8 = "the body is not UTF-8";
  const bodies: [name: string, body: string | Uint8Array, message: string][] = [
    ["nothing", "", notJson],
    ["white space", " \r\n\t", notJson],
    ["a form", "model=m&prompt=sesame", notJson],
    ["a cut object", '{"model":"sesame', notJson],
    ["a trailing comma", '{"model":"m",}', notJson],
    ["single quotes", "{'model':'sesame'}", notJson],
    ["a comment", '{"model":"m"} // sesame', notJson],
    ["two objects", "{}{}", notJson],
    ["not a number", '{"temperature":NaN}', notJson],
    ["a raw line break in a string", '{"model":"ses\name"}', notJson],
    ["a byte order mark", "\ufeff{}", notJson],
    ["a null byte after it", "{}\0", notJson],
    ["UTF-16", Buffer.from('{"model":"m"}', "utf16le"), notJson],
    ["Latin-1", Buffer.from('{"model":"é"}', "latin1"), notUtf8],
    ["a cut character", Buffer.from('{"model":"é"}').subarray(0, 11), notUtf8],
    ["a surrogate in UTF-8", Uint8Array.of(0x22, 0xed, 0xa0, 0x80, 0x22), notUtf8],
    ["an overlong slash", Uint8Array.of(0x22, 0xc0, 0xaf, 0x22), notUtf8],
    ["a list", '[{"model":"sesame"}]', "the body is not a JSON object but a list"],
    ["a string", '"sesame"', "the body is not a JSON object but a string"],
    ["a number", "1", "the body is not a JSON object but a number"],
    ["a word", "true", "the body is not a JSON object but a boolean"],
    ["null", "null", "the body is not a JSON object but null"],
  ];

  test.each(bodies)("%s", (_, body, message) => {
    const fault = faultOf(body);
    strictEqual(fault.kind, "malformed");
    strictEqual(fault.message, message);
    strictEqual(fault.path, "");
  });
});

describe("too many members are refused before they are built", () => {
  const many = (length: number, item: (i: number) => string) => Array.from({ length }, (_, i) => item(i)).join();

  test.each([
    ["messages", "messages", `{"messages":[${many(20_001, () => "{}")}]}`],
    ["members of the request", "", `{${many(20_001, (i) => `"k${i}":0`)}}`],
    ["members of metadata", "metadata", `{"metadata":{${many(20_001, (i) => `"k${i}":""`)}}}`],
    ["members of what no schema knows", "vendor", `{"vendor":{${many(20_001, (i) => `"k${i}":0`)}}}`],
  ])("%s", (_, path, body) => {
    const fault = faultOf(body);
    strictEqual(fault.path, path);
    strictEqual(fault.message, "expected at most 20000 members");
  });
});

describe("a body with too many parts", () => {
  for (const [name, body] of [
    ["brackets that never close", "[".repeat(1_000_000)],
    ["lists", `{"a":[${"[],".repeat(100_000)}[]]}`],
    ["members", `{${Array.from({ length: 100_001 }, (_, i) => `"k${i}":0`).join(",")}}`],
  ] as const) {
    test(`is refused before it is parsed: ${name}`, () => {
      const parse = vi.spyOn(JSON, "parse");
      try {
        strictEqual(faultOf(body).kind, "malformed");
        strictEqual(parse.mock.calls.length, 0);
      } finally {
        parse.mockRestore();
      }
    });
  }

  test("is not a string full of structural characters and escaped quotes", () => {
    const text = `${'[{:"'.repeat(200_000)}\\`;
    const wire = Wire.ofBytes(input, Buffer.from(JSON.stringify({ model: text })));
    strictEqual(wire.message().model, text);
  });

  test("is not a list of a million numbers, but a longer one", () => {
    const listOf = (length: number) => JSON.stringify({ vendor: Array.from({ length }, (_, i) => i) });
    ok(Wire.ofBytes(input, Buffer.from(listOf(1_000_001))).json());
    const parse = vi.spyOn(JSON, "parse");
    try {
      strictEqual(faultOf(listOf(2 ** 20 + 1)).message, "it has more than 1048576 items of lists");
      strictEqual(parse.mock.calls.length, 0);
    } finally {
      parse.mockRestore();
    }
  });

  test("may come from an upstream", () => {
    const answer = Buffer.from(`{"vendor":[${"[],".repeat(500_000)}[]]}`);
    ok(Wire.ofBytes(output, answer, true).json());
  });
});
