/** Keys with escapes are read by JSON's letter, whatever keys this process has read before: nothing is read in two ways. */
import { readFileSync } from "node:fs";
import { glob } from "node:fs/promises";
import { expect, test } from "vitest";
import { hasEscapedKey, parseEscapedKeys, parseJsonText } from "../../../src/wire/scan/parse-json-text.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";
import { chatAnswer } from "../../support/vendors.ts";

const raw = String.raw;

/** Each reads as it should by a parser that knows no key: the engine's own, in the place of a first key. */
// biome-ignore format: five rows
const keys = [
  raw`mod\u0065l`, raw`mod\\u`, raw`\u006e`, raw`\u0031`, raw`__\u0070roto__`,
  raw`\n`, raw`\\`, raw`\"`, raw`\/`, raw`\u005c`,
  raw`\\n`, raw`a\\b`, raw`a\\\\`, raw`\\\"`, raw`\ue0000\ue000`,
  raw`\ud83d`, raw`\ud83d\ude00`, "plain", "界", "",
];
const nameOf = (key: string): string => JSON.parse(`"${key}"`);

test("keys with escapes are those that they spell, behind any that were read before", () => {
  const wrong: unknown[] = [];
  for (const before of keys) {
    for (const key of keys) {
      if (nameOf(before) === nameOf(key)) continue;
      for (const place of ["", `"世":1,`, `"x":{"y":[{"z":"\\\\"}]},`]) {
        JSON.parse(`{${place}"a":1,"${before}":1}`);
        parseJsonText(`{${place}"a":1,"${before}":1}`);
        const read = parseJsonText(`{${place}"a":1,"${key}":{"b":"\\n","${before}":2}}`) as Record<string, unknown>;
        const name = nameOf(key);
        const inner = Object.getOwnPropertyDescriptor(read, name)?.value as object | undefined;
        const isRight =
          Object.hasOwn(read, name) &&
          Object.keys(read).length === (place === "" ? 2 : 3) &&
          inner?.constructor === Object;
        if (
          !isRight ||
          Object.keys(inner ?? {})
            .sort()
            .join() !== ["b", nameOf(before)].sort().join()
        )
          wrong.push([place, before, key, read]);
      }
    }
  }
  expect(wrong).toEqual([]);
});

test("a text is read as the engine reads it where that knows none of its keys", () => {
  for (const [i, text] of [
    raw`{"q":1,"\u0071":2,"q":3}`,
    raw`{"\u0032":"b","1":"a","\"":[{"\"":null}],"z":"\"\\"}`,
    raw`[{"a" : "b\"c" , "d\te":{"\\\"":{}}} , "x\\", "y:\"" ]`,
    raw`{"a":"\\","b":"\":\"","c\u0063":-1.5e3}`,
    raw`"a\"b"`,
    raw`{"__\u0070roto__":{"x":1}}`,
  ].entries()) {
    const own = JSON.stringify(JSON.parse(text));
    expect([i, JSON.stringify(parseEscapedKeys(text))]).toEqual([i, own]);
  }
});

test.each([
  raw`{"a\u00":1}`,
  raw`{"a\x":1}`,
  raw`{"a\u0062":1`,
  raw`{"a\u0062":1}}`,
  '{"a\\',
  raw`{"a\":1}`,
  "",
  raw`\"a":1`,
])("%s is no JSON", (text) => {
  expect(() => parseJsonText(text)).toThrow(SyntaxError);
  expect(() => parseEscapedKeys(text)).toThrow(SyntaxError);
});

test("only a key with an escape takes the other way", () => {
  expect(
    [raw`{"a":"\"b\":"}`, raw`{"a":"\\"}`, raw`["\"",":"]`, "{}", raw`{"a":"\\","b":"\n"}`].map(hasEscapedKey),
  ).toEqual(Array(5).fill(false));
  expect([raw`{"a\n":1}`, raw`{"a":"\\","b\"" :1}`, '[{"\\u0061"\n: 1}]'].map(hasEscapedKey)).toEqual([
    true,
    true,
    true,
  ]);
});

test("all that comes from others is parsed so", async () => {
  const found: string[] = [];
  for await (const path of glob("src/{wire,doors,families,providers,services/responses}/**/*.ts"))
    if (/\bJSON\.parse\(/.test(readFileSync(path, "utf8").replace(/^\s*(\*|\/\/|\/\*\*).*$/gm, ""))) found.push(path);
  // A single string of the text, and one that was written here.
  const others = ["src/providers/openai/delta-template.ts", "src/wire/splice.ts"];
  expect(found.sort()).toEqual([...others, "src/wire/scan/parse-json-text.ts"].sort());
});

const { upstream, gateway } = scriptedStage();

test("no caller hides a member of a request by another that it has sent before", async () => {
  upstream.script = (exchange) => exchange.json(200, chatAnswer({ content: "Hi" }, "stop"));
  const send = (more: string) =>
    fetch(`${gateway.baseUrl}/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${gateway.apiKey}`, "content-type": "application/json" },
      body: `{"model":"gpt","messages":[{"role":"user","content":"Hi"}],${more}}`,
    });
  for (const [before, hidden, plain] of [
    [raw`"max_tok\\u":1`, raw`"max_tok\u0065ns":"x"`, `"max_tokens":"x"`],
    [raw`"\\":1`, raw`"\u006e":-5`, `"n":-5`],
    [raw`"servic\\u":1`, raw`"servic\u0065_tier":7`, `"service_tier":7`],
    [raw`"strea\\":1`, raw`"strea\u006d":"x"`, `"stream":"x"`],
  ] as const) {
    expect((await send(before)).status).toBe(200);
    const [one, other] = [await send(hidden), await send(plain)];
    expect([one.status, await one.json()], hidden).toEqual([400, await other.json()]);
  }
});
