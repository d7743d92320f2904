/** Lone surrogates in JSON text become U+FFFD, and everything else stays byte by byte as it came. */
import { expect, test } from "vitest";
import { runNow } from "../../../src/runtime/cooperative.ts";
import { withWholeCharacters } from "../../../src/wire/scan/lone-surrogates.ts";

const [high, low, Low] = ["\\ud83d", "\\ude00", "\\uDE00"];
const whole = (text: Buffer) => runNow(withWholeCharacters(text));
const gone = "\\ufffd";

test.each([
  ["a half", high, gone],
  ["the other half", `a${low}b`, `a${gone}b`],
  ["halves in the wrong order", low + high, gone + gone],
  ["a half before a pair", high + high + low, gone + high + low],
  ["a half behind a pair", high + low + Low, high + low + gone],
  ["halves apart", `${high} ${low}`, `${gone} ${gone}`],
  ["a half behind an escaped backslash", `\\\\${high}`, `\\\\${gone}`],
  ["a half behind what only looks like one", `\\${high}${low}`, `\\${high}${gone}`],
])("%s", (_, text, expected) => {
  const json = `{"a":"é${text}"}`;
  expect(whole(Buffer.from(json))?.toString()).toBe(`{"a":"é${expected}"}`);
});

test.each([
  ["a pair", high + low],
  ["a pair in capitals", "\\uD83D\\uDE00"],
  ["a pair of both", high + Low],
  ["Hangul", "\\ud55c\\uD558"],
  ["a text that only looks like one", `\\${high}`],
  ["an emoji", "😀"],
  ["a cut escape", "\\ud8"],
])("%s stays", (_, text) => {
  expect(whole(Buffer.from(`{"a":"${text}"}`))).toBeUndefined();
});

test("any text that JSON.stringify writes becomes the well-formed one", () => {
  const units = [0xd83d, 0xde00, 0x5c, 0x22, 0x61, 0xac00];
  for (let n = 0; n < units.length ** 4; n++) {
    const text = String.fromCharCode(
      ...[0, 1, 2, 3].map((k) => units[Math.floor(n / units.length ** k) % 6] as number),
    );
    const json = Buffer.from(JSON.stringify(text));
    expect(JSON.parse(`${whole(json) ?? json}`)).toBe(text.toWellFormed());
  }
});

test("others have their turn after a thousand escapes, whatever these are", () => {
  for (const one of [high + low, high, "\\ud55c", `\\\\${high}`]) {
    const task = withWholeCharacters(Buffer.from(`"${one.repeat(20_000)}"`));
    let steps = 0;
    while (!task.next().done) steps++;
    expect(steps).toBeGreaterThanOrEqual(19);
  }
});
