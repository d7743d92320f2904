/**
 * No request can be read in two ways: an object with a duplicate member is refused with its path, at any depth and in
 * any spelling, and other ambiguous input is refused or kept as it is.
 */
import { deepStrictEqual, ok, strictEqual } from "node:assert";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, test } from "vitest";
import { CreateChatCompletionRequestSchema as chat } from "../../gen/modelgateway/v1/chat_pb.ts";
import { asRefusal, type Refusal } from "../../src/call/refusals.ts";
import { readForm } from "../../src/doors/body/form.ts";
import { createValidate } from "../../src/pipeline/check/validate.ts";
import { WireFault } from "../../src/wire/fault.ts";
import { parseJson } from "../../src/wire/json.ts";
import { Wire } from "../../src/wire/wire.ts";

const twice = "the object has this member twice";

function faultOf(work: () => unknown): WireFault {
  try {
    work();
  } catch (fault) {
    if (fault instanceof WireFault) return fault;
    throw fault;
  }
  throw new Error("it was not refused");
}

const read = (text: string) => parseJson(Buffer.from(text), false);

describe("a duplicate member is refused with its path", () => {
  const cases: [path: string, text: string][] = [
    ["model", '{"model":"dear","model":"cheap"}'],
    ["model", '{"model":"same","model":"same"}'],
    ["model", '{"model":1,"messages":[{"role":"user"}],"n":1,"model":1}'],
    ["model", '{"mod\\u0065l":1,"model":1}'],
    ["model", '{"model":1,"\\u006d\\u006F\\u0064\\u0065\\u006c":1}'],
    ["a/b", '{"a\\/b":1,"a/b":1}'],
    ["é", '{"é":1,"\\u00e9":1}'],
    ["🙂", '{"🙂":1,"\\ud83d\\ude42":1}'],
    ["\ufffd", '{"\\ud800":1,"\\ud800":1}'],
    ["", '{"":1,"":1}'],
    ["a\0", '{"a\\u0000":1,"a\\u0000":1}'],
    ["messages[0].content", '{"messages":[{"content":"a","role":"user","content":"b"}]}'],
    ["messages[2].content[1].text", '{"messages":[1,[2],{"content":[{"text":1},{"text":"a","text":"b"}]}]}'],
    ["stream_options.include_usage", '{"stream_options":{"include_usage":true,"include_usage":false}}'],
    ["tools[0].function.parameters.properties.a.type", schemaOf('{"type":"string","type":"number"}')],
    ["metadata.a", '{"metadata":{"a":"1","b":"2","a":"3"}}'],
    ["logit_bias.50256", '{"logit_bias":{"50256":1,"50256":-100}}'],
    ["vendor[0][0].x", '{"vendor":[[{"x":{},"x":{}}]]}'],
    ["vendor.k7", `{"vendor":{${Array.from({ length: 100 }, (_, i) => `"k${i}":${i}`)},"k7":1}}`],
    ["vendor.k7", `{"vendor":{"\\u0061":{},${Array.from({ length: 9 }, (_, i) => `"k${i}":{"k7":1}`)},"k\\u0037":1}}`],
    ["b", `{"a":"${"x".repeat(70_000)}","b":1,"c":{"b":1},"b":2}`],
  ];
  test.each(cases)("%s", (path, text) => {
    const fault = faultOf(() => read(text));
    deepStrictEqual([fault.kind, fault.path, fault.message], ["type", path === "" ? "" : path, twice]);
    const refusal = asRefusal(fault);
    strictEqual(refusal.status, 400);
    strictEqual(refusal.param, path);
  });

  function schemaOf(inner: string): string {
    return `{"tools":[{"function":{"parameters":{"properties":{"a":${inner}}}}}]}`;
  }

  test("even as the last of very many, and among crafted hash collisions", () => {
    const names = Array.from({ length: 19_999 }, (_, i) => `"n${i}":0`);
    strictEqual(faultOf(() => read(`{${names},"n19998":0}`)).path, "n19998");
    ok(read(`{${names},"n19999":0}`));
  });

  test("and a long name is shortened in the path", () => {
    const name = "n".repeat(60_000);
    ok(faultOf(() => read(`{"${name}":1,"${name}":1}`)).path.length < 150);
  });
});

describe("these objects have no duplicate", () => {
  test.each([
    '{"a":1,"b":{"a":1,"b":{"a":1}},"c":[{"a":1},{"a":1}]}',
    '{"a":1,"A":1,"a ":1," a":1,"\\u0000a":1}',
    '{"\\ud800":1,"\\ud801":1,"\\udc00":1}',
    '{"a":"\\"a\\":1,\\"a\\":1","b":"{\\"b\\":1}"}',
    '{"e\u0301":1,"é":1}',
  ])("%s", (text) => deepStrictEqual(read(text), JSON.parse(text)));
});

test("a member added to any object a second time, in any spelling, is refused with its path", {
  timeout: 120_000,
}, () => {
  const { json } = fc.letrec<{ json: JsonValue }>((tie) => ({
    json: fc.oneof(
      { depthSize: "small" },
      fc.constantFrom<JsonValue>(null, 1, "a", '"a":1,"a":2', "\\", [], {}),
      fc.array(tie("json"), { maxLength: 5 }),
      fc.dictionary(
        fc.oneof(fc.string({ unit: "binary", minLength: 1, maxLength: 4 }), fc.constantFrom("a", "é")),
        tie("json"),
        {
          maxKeys: 30,
        },
      ),
    ),
  }));
  let put = 0;
  fc.assert(
    fc.property(
      fc.dictionary(fc.string({ minLength: 1 }), json),
      fc.nat(),
      fc.infiniteStream(fc.nat(2)),
      (value, at, spelling) => {
        // It is refused before the change already.
        if (JSON.stringify(value).includes('"__proto__"')) return;
        deepStrictEqual(read(JSON.stringify(value)), JSON.parse(JSON.stringify(value)));
        const members = membersOf(value, "");
        const chosen = members[at % members.length];
        if (!chosen || chosen.key === "__proto__") return;
        put++;
        const written = writtenTwice(value, chosen, () => spelling.next().value as number);
        const fault = faultOf(() => read(written));
        deepStrictEqual([fault.message, fault.path], [twice, chosen.path]);
      },
    ),
    { numRuns: 200 },
  );
  ok(put > 100, `${put}`);
});

interface Member {
  readonly holder: JsonObject;
  readonly key: string;
  readonly path: string;
}

function membersOf(value: JsonValue, path: string): Member[] {
  if (typeof value !== "object" || value === null) return [];
  if (Array.isArray(value)) return value.flatMap((item, i) => membersOf(item, `${path}[${i}]`));
  return Object.keys(value).flatMap((key) => {
    const own = (path === "" ? key : `${path}.${key}`).toWellFormed();
    return [{ holder: value, key, path: own }, ...membersOf(value[key] as JsonValue, own)];
  });
}

/** Writes JSON with a duplicate member: once in its place, once at the end of its object. */
function writtenTwice(value: JsonValue, { holder, key }: Member, chance: () => number): string {
  const spelled = (text: string) =>
    `"${Array.from({ length: text.length }, (_, i) => {
      const unit = text[i] as string;
      const code = `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
      return chance() === 0 || !unit.isWellFormed() ? code : JSON.stringify(unit).slice(1, -1);
    }).join("")}"`;
  const write = (one: JsonValue): string => {
    if (typeof one !== "object" || one === null) return JSON.stringify(one);
    if (Array.isArray(one)) return `[${one.map(write).join(",")}]`;
    const members = Object.keys(one).map((name) => `${JSON.stringify(name)}:${write(one[name] as JsonValue)}`);
    if (one === holder) members.push(`${spelled(key)}:0`);
    return `{${members.join(" ,")}}`;
  };
  return write(value);
}

describe("other ambiguous input", () => {
  const validate = createValidate();
  const said = '"messages":[{"role":"user","content":"a"}]';
  const refusalOf = (body: string | Buffer): Refusal | undefined => {
    try {
      validate(Wire.ofBytes(chat, Buffer.from(body)));
      return undefined;
    } catch (error) {
      return asRefusal(error);
    }
  };

  test.each([
    ["another case", `{"Model":"m",${said}}`, "Model"],
    ["a long s, which is an s without its case", `{"model":"m",${said},"max_token\u017f":9}`, "max_token\u017f"],
    ["the same, escaped", `{"model":"m",${said},"\\u017ftream":true}`, "\u017ftream"],
    ["the sign for Kelvin, which is a k", `{"model":"m",${said},"max_to\u212aens":9}`, "max_to\u212aens"],
    ["an i without its dot", `{"model":"m",${said},"max_complet\u0131on_tokens":9}`, "max_complet\u0131on_tokens"],
    ["the name of a prototype", `{"model":"m",${said},"vendor":{"__proto__":{}}}`, "vendor.__proto__"],
    ["a lone surrogate in a name", `{"model":"m",${said},"\\ud800":1}`, "\ufffd"],
    ["a number that no double holds", `{"model":"m",${said},"temperature":1e400}`, "temperature"],
    ["a number that no double holds, unnamed", `{"model":"m",${said},"vendor":1e400}`, "vendor"],
    ["a fraction where a whole number is read", `{"model":"m",${said},"max_tokens":1.5}`, "max_tokens"],
    ["a number in a text where a number is read", `{"model":"m",${said},"max_tokens":"5"}`, "max_tokens"],
    ["a byte order mark within", `\ufeff{"model":"m",${said}}`, undefined],
    ["a null byte behind it", `{"model":"m",${said}}\0`, undefined],
    ["a null byte in a text", `{"model":"m\0",${said}}`, undefined],
    ["another value behind it", `{"model":"m",${said}} {"model":"n"}`, undefined],
    ["a comment", `{"model":"m",/* n */${said}}`, undefined],
    ["a comment at the end", `{"model":"m",${said}} // {`, undefined],
    ["a comma too many", `{"model":"m",${said},}`, undefined],
    ["a number of another language", `{"model":"m",${said},"max_tokens":0x10}`, undefined],
    ["a number with a plus", `{"model":"m",${said},"max_tokens":+1}`, undefined],
    ["a number with a zero before it", `{"model":"m",${said},"max_tokens":010}`, undefined],
    ["another quote", `{'model':"m",${said}}`, undefined],
    ["a name without quotes", `{model:"m",${said}}`, undefined],
    ["what is no UTF-8", Buffer.from(`{"model":"\xe9",${said}}`, "latin1"), undefined],
    ["an overlong character", Buffer.from(`{"model":"\xc1\xad",${said}}`, "latin1"), undefined],
    ["a surrogate in UTF-8", Buffer.from(`{"model":"\xed\xa0\x80",${said}}`, "latin1"), undefined],
  ] as const)("is refused: %s", (_, body, param) => {
    const refusal = refusalOf(body as string);
    deepStrictEqual([refusal?.status, refusal?.param], [400, param]);
  });

  test.each([
    ["1.0", 1],
    ["1e0", 1],
    ["10E-1", 1],
    ["100e-2", 1],
  ])("is a whole number however it is written: %s", (written, value) => {
    const wire = Wire.ofBytes(chat, Buffer.from(`{"model":"m",${said},"max_tokens":${written}}`));
    validate(wire);
    strictEqual(wire.message().maxTokens, value);
  });

  test("is a zero with a sign, which is a zero", () => {
    const wire = Wire.ofBytes(chat, Buffer.from(`{"model":"m",${said},"temperature":-0,"seed":-0}`));
    validate(wire);
    ok(Object.is(wire.message().temperature, -0) || wire.message().temperature === 0);
  });
});

describe("a form", () => {
  const refusalOf = (form: string): Refusal => {
    try {
      readForm(chat, Buffer.from(form));
    } catch (error) {
      return asRefusal(error);
    }
    throw new Error("it was not refused");
  };

  test.each([
    ["model", "model=dear&model=cheap"],
    ["model", "model=same&model=same"],
    ["model", "mod%65l=dear&model=cheap"],
    ["max_tokens", "model=m&max_tokens=5&n=1&max_tokens=5"],
    ["stream_options.include_usage", "stream_options[include_usage]=true&stream_options%5Binclude_usage%5D=false"],
    ["messages[0].role", "messages[0][role]=user&messages[0][role]=system"],
    [undefined, 'stream_options={"include_usage":true}&stream_options[include_usage]=false'],
    ["stream_options.include_usage", 'stream_options={"include_usage":true,"include_usage":false}'],
    ["metadata.a", "metadata[a]=1&metadata[a]=2"],
    ["vendor", "vendor=1&vendor=2"],
    ["vendor.x", "vendor[x]=1&vendor[x]=2"],
    ["stop[0]", "stop[0]=a&stop[0]=b"],
  ])("that sets %s twice is refused with its path: %s", (param, form) => {
    const refusal = refusalOf(form);
    deepStrictEqual([refusal.status, refusal.param], [400, param]);
  });

  test.each([
    ["stop=a&stop=b", { stop: ["a", "b"] }],
    ["stop[]=a&stop[]=b", { stop: ["a", "b"] }],
    ["vendor[]=a&vendor[]=b", { vendor: ["a", "b"] }],
  ])("may give the items of a list one by one: %s", (form, json) => {
    deepStrictEqual(readForm(chat, Buffer.from(form)), json);
  });
});
