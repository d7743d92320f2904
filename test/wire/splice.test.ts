/** Members are replaced in the text of a JSON object, and no other byte changes. */
import { deepStrictEqual, strictEqual } from "node:assert";
import type { JsonValue } from "@bufbuild/protobuf";
import fc, { type Arbitrary } from "fast-check";
import { describe, test } from "vitest";
import { runNow } from "../../src/runtime/cooperative.ts";
import { findMembers } from "../../src/wire/json.ts";
import { type Members, splice as spliceKnown, spliceMembers, valueText } from "../../src/wire/splice.ts";

type Changes = Record<string, JsonValue | undefined>;

function splice(text: string, changes: Changes): string | undefined {
  return spliceMembers(Buffer.from(text), changes)?.toString();
}

describe("one member is extracted", () => {
  const cases: [name: string, text: string, key: string, expected: string | undefined][] = [
    ["as it came", '{"a":1,"b": { "x" : [1.0, "}"] } ,"c":2}', "b", '{ "x" : [1.0, "}"] }'],
    ["as the only one", '{ "b" : "\\"}" }', "b", '"\\"}"'],
    ["not where it is only further in", '{"a":{"b":1}}', "b", undefined],
    ["not from an empty object", "{}", "b", undefined],
    ["not where it is written twice", '{"b":1,"b":2}', "b", undefined],
    ["not beside a key with escapes, which may be it", '{"\\u0062":1,"b":2}', "b", undefined],
  ];
  test.each(cases)("%s", (_, text, key, expected) => {
    strictEqual(valueText(Buffer.from(text), key)?.toString(), expected);
  });
});

describe("a long text with known members", () => {
  const object = fc.dictionary(fc.string({ maxLength: 4 }), fc.jsonValue({ maxDepth: 2 }) as Arbitrary<JsonValue>, {
    maxKeys: 6,
  });
  const blanks = fc.stringMatching(/^[ \n\r\t]{0,3}$/);
  /**
   * Writes an object with white space wherever allowed, and with each name's first letter escaped where `isEscaped`.
   */
  const written = (json: Record<string, JsonValue>, blank: string, isEscaped: boolean) => {
    const name = (key: string) =>
      isEscaped && /^[a-z]/.test(key)
        ? `"\\u00${key.charCodeAt(0).toString(16)}${JSON.stringify(key.slice(1)).slice(1)}`
        : JSON.stringify(key);
    const members = Object.entries(json).map(
      ([key, value]) => `${blank}${name(key)}${blank}:${blank}${JSON.stringify(value)}${blank}`,
    );
    return `${blank}{${members.join(",")}${members.length === 0 ? blank : ""}}${blank}`;
  };

  test("is changed like any other, repeatedly, and its members are found again", () => {
    const someChanges = fc.dictionary(fc.string({ maxLength: 4 }), fc.option(fc.jsonValue() as Arbitrary<JsonValue>), {
      maxKeys: 4,
    });
    fc.assert(
      fc.property(
        object,
        blanks,
        fc.boolean(),
        fc.array(someChanges, { maxLength: 3 }),
        (json, blank, isEscaped, times) => {
          const text = Buffer.from(written(json, blank, isEscaped));
          const members = runNow(findMembers(text)) as Members;
          for (const [key, { valueStart, valueEnd }] of members) {
            deepStrictEqual(
              JSON.parse(text.subarray(valueStart, valueEnd).toString()),
              JSON.parse(JSON.stringify(json[key])),
            );
          }
          strictEqual(members.size, Object.keys(json).length);
          let changes: Changes = {};
          for (const change of times) {
            // Null means removal here.
            changes = {
              ...changes,
              ...Object.fromEntries(Object.entries(change).map(([key, value]) => [key, value ?? undefined])),
            };
            const expected = JSON.parse(JSON.stringify({ ...json, ...changes }));
            deepStrictEqual(JSON.parse(Buffer.concat(spliceKnown(text, changes, members)).toString()), expected);
          }
        },
      ),
    );
  });
});

describe("one member is changed and the rest stays", () => {
  const cases: [name: string, text: string, changes: Changes, expected: string][] = [
    ["replaced", '{"model":"a","n":1}', { model: "b" }, '{"model":"b","n":1}'],
    ["replaced, as the last", '{"n":1,"model":"a"}', { model: "b" }, '{"n":1,"model":"b"}'],
    ["replaced by null", '{"model":"a"}', { model: null }, '{"model":null}'],
    ["replaced by a tree", '{"a":1}', { a: { b: [true, "x"] } }, '{"a":{"b":[true,"x"]}}'],
    ["added", '{"n":1}', { stream: true }, '{"n":1,"stream":true}'],
    ["added to an empty object", "{}", { a: "é" }, '{"a":"é"}'],
    ["added to an empty object with a space in it", "{ }", { a: 1 }, '{"a":1 }'],
    ["left out", '{"a":1,"b":2,"c":3}', { b: undefined }, '{"a":1,"c":3}'],
    ["left out, as the first", '{ "a":1, "b":2}', { a: undefined }, '{ "b":2}'],
    ["left out, as the last", '{"a":1, "b":2 }', { b: undefined }, '{"a":1}'],
    ["left out, as the only one", '{"a":[1,{"b":"}"}]}', { a: undefined }, "{}"],
    ["left out where it never was", '{"a":1}', { b: undefined }, '{"a":1}'],
    ["replaced in wide text", '\n{\n\t"a" :\r\n 1 ,\n\t"b" : 2\n}\n', { a: 3 }, '\n{\n\t"a" :\r\n 3 ,\n\t"b" : 2\n}\n'],
    [
      "beside a number no double can hold",
      '{"seed":12345678901234567890.10e+1,"n":1}',
      { n: 2 },
      '{"seed":12345678901234567890.10e+1,"n":2}',
    ],
    ["beside brackets in strings", '{"a":"}]\\"{[,:","b":1}', { b: 2 }, '{"a":"}]\\"{[,:","b":2}'],
    [
      "beside backslashes before quotes",
      '{"a":"\\\\","b":"\\\\\\"","c":1}',
      { c: 2 },
      '{"a":"\\\\","b":"\\\\\\"","c":2}',
    ],
    ["beside its own name as a value", '{"a":"b","b":"a"}', { b: 1 }, '{"a":"b","b":1}'],
    ["beside its own name further in", '{"a":{"b":1},"b":1}', { b: 2 }, '{"a":{"b":1},"b":2}'],
    ["a key that objects inherit", '{"a":1}', { toString: "x" }, '{"a":1,"toString":"x"}'],
    [
      "not the keys that the changes inherit",
      '{"toString":1,"constructor":2}',
      { a: 3 },
      '{"toString":1,"constructor":2,"a":3}',
    ],
    ["an empty key", '{"":1}', { "": 2 }, '{"":2}'],
    ["a key beyond ASCII", '{"ключ😀":1}', { "ключ😀": 2 }, '{"ключ😀":2}'],
  ];

  test.each(cases)("%s", (_, text, changes, expected) => {
    strictEqual(splice(text, changes), expected);
  });

  test("deep nesting uses no stack", () => {
    const deep = `${'{"a":['.repeat(200_000)}${"]}".repeat(200_000)}`;
    strictEqual(splice(`{"x":${deep},"n":1}`, { n: 2 }), `{"x":${deep},"n":2}`);
  });
});

describe("text that two readers could read differently is left to the caller", () => {
  test.each([
    ["a key twice", '{"a":1,"a":2}'],
    ["a key twice, apart", '{"a":1,"b":{},"a":1}'],
    ["a key twice that nobody changes", '{"b":1,"b":2,"a":1}'],
    ["a key with escapes", '{"\\u0061":1}'],
    ["a key with escapes that nobody changes", '{"a":1,"b\\n":1}'],
  ])("%s", (_, text) => {
    strictEqual(splice(text, { a: 3 }), undefined);
  });

  test("but not a nested duplicate, which no change here touches", () => {
    strictEqual(splice('{"x":{"a":1,"a":2,"\\u0061":3},"a":1}', { a: 3 }), '{"x":{"a":1,"a":2,"\\u0061":3},"a":3}');
  });
});

describe("any object, in any spelling", () => {
  const space = fc.string({ unit: fc.constantFrom(" ", "\n", "\r", "\t"), maxLength: 3 });
  const key = fc.oneof(
    fc.constantFrom("a", "b", "c", "model", "stream", "toString", ""),
    fc.string({ unit: "binary" }),
  );
  const literal = fc.constantFrom(
    "-0",
    "1E+2",
    "18446744073709551616",
    "0.10",
    '"\\u0041\\/\\"\\\\"',
    '"]}"',
    '"\\\\"',
  );
  const value: Arbitrary<string> = fc.letrec<{ value: string }>((tie) => ({
    value: fc.oneof(
      { depthSize: "small" },
      literal,
      fc.jsonValue({ maxDepth: 0, stringUnit: "binary" }).map((json) => JSON.stringify(json)),
      fc.array(fc.tuple(space, tie("value"), space), { maxLength: 3 }).map((items) => {
        return `[${items.map((item) => item.join("")).join(",")}]`;
      }),
      fc
        .array(fc.tuple(space, key, space, space, tie("value"), space), { maxLength: 3 })
        .map((items) => `{${items.map((item) => memberText(...item)).join(",")}}`),
    ),
  })).value;
  const member = fc.tuple(space, key, space, space, value, space);
  const object = fc.uniqueArray(member, { maxLength: 6, selector: ([, name]) => name, comparator: "SameValue" });
  // Compares texts, since -0 is written as 0.
  const json = fc.jsonValue({ maxDepth: 2, stringUnit: "binary" }).map((value) => JSON.parse(JSON.stringify(value)));
  const change = fc.oneof(fc.constant(undefined), json);
  const changes = fc
    .array(fc.tuple(key, change), { maxLength: 4 })
    .map((entries) => Object.fromEntries(entries.filter(([name]) => name !== "__proto__")) as Changes);

  test("has its members changed and every other byte as it was", () => {
    fc.assert(
      fc.property(object, changes, space, space, (members, changes, before, after) => {
        const print = (texts: string[]) => `${before}{${texts.join(",")}}${after}`;
        const text = print(members.map((member) => memberText(...member)));
        const spliced = splice(text, changes);
        if (members.some(([, name]) => JSON.stringify(name).includes("\\"))) return strictEqual(spliced, undefined);

        const expected = members.flatMap(([a, name, b, c, value, d]) => {
          if (!Object.hasOwn(changes, name)) return [memberText(a, name, b, c, value, d)];
          return changes[name] === undefined ? [] : [memberText(a, name, b, c, JSON.stringify(changes[name]), d)];
        });
        for (const [name, value] of Object.entries(changes)) {
          if (value === undefined || members.some(([, other]) => other === name)) continue;
          expected.push(memberText("", name, "", "", JSON.stringify(value), ""));
        }
        strictEqual(spliced, print(expected));

        const parsed = { ...JSON.parse(text), ...changes } as Changes;
        deepStrictEqual(JSON.parse(spliced ?? ""), JSON.parse(spelled(parsed as JsonValue)));
      }),
      { numRuns: 3000 },
    );
  });

  test("comes back byte for byte where nothing changes", () => {
    fc.assert(
      fc.property(object, space, space, space, (members, before, inside, after) => {
        const body = members.length === 0 ? inside : members.map((member) => memberText(...member)).join(",");
        const text = `${before}{${body}}${after}`;
        const escaped = members.some(([, name]) => JSON.stringify(name).includes("\\"));
        strictEqual(splice(text, {}), escaped ? undefined : text);
      }),
      { numRuns: 1000 },
    );
  });
});

function memberText(a: string, key: string, b: string, c: string, value: string, d: string): string {
  return `${a}${JSON.stringify(key)}${b}:${c}${value}${d}`;
}

/** Prints -0, which a text may contain, unchanged. */
function spelled(json: JsonValue | undefined): string {
  if (Object.is(json, -0)) return "-0";
  if (Array.isArray(json)) return `[${json.map(spelled).join(",")}]`;
  if (typeof json !== "object" || json === null) return JSON.stringify(json);
  const members = Object.entries(json).filter(([, value]) => value !== undefined);
  return `{${members.map(([key, value]) => `${JSON.stringify(key)}:${spelled(value)}`).join(",")}}`;
}
