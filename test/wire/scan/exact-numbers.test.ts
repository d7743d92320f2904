/** Free values keep the digits of their numbers; all other numbers are doubles, and nothing but those digits differs. */
import { expect, test } from "vitest";
import { canonical } from "../../../src/embedded/chat/canonical.ts";
import { ofParts, roomAfter } from "../../../src/providers/profile/schemas/size.ts";
import { runNow } from "../../../src/runtime/cooperative.ts";
import { checkRaw, isObject, jsonType, parsedJson, parseJson } from "../../../src/wire/json.ts";
import { jsonBytes } from "../../../src/wire/long/write-json.ts";
import { doubleOf, isExactNumber, withDoubles, withDoublesInSlices } from "../../../src/wire/scan/exact-number.ts";
import { jsonLength } from "../../../src/wire/scan/json-length.ts";
import { hasLongNumber, parseExactly } from "../../../src/wire/scan/parse-exactly.ts";

const id = "1234567890123456789";

test("what stands under a free name keeps its digits, at any depth", () => {
  const free = `{"input":{"id":${id},"deep":[{"x":-${id}}]},"tools":[{"function":{"parameters":{"maximum":${id}}}}]}`;
  expect(JSON.stringify(parseExactly(free))).toBe(free);
  const isNoObject = `{"input":[${id}],"parameters":${id},"usage":{"cost":${id}}}`;
  expect(parseExactly(isNoObject)).toEqual(JSON.parse(isNoObject));
});

test("all numbers of a free text keep their digits", () => {
  for (const text of [id, `[${id},0.1000000000000000055]`, `{"a":${id},"b\\n":{"c":-${id}}}`])
    expect(JSON.stringify(parseExactly(text, true))).toBe(text);
});

test("a number that a double holds, or none holds, is a plain one", () => {
  for (const text of ["9007199254740991", "1000000000000000", "0.1234567890123456", "1e400", `1${"0".repeat(400)}`])
    expect(parseExactly(`[${text}]`, true)).toEqual(JSON.parse(`[${text}]`));
});

test("long texts are read alike", () => {
  const filling = Array.from({ length: 4000 }, (_, i) => `{"x":${i},"id":${id}}`).join();
  const text = `{"messages":[{"content":[{"type":"tool_use","input":{"rows":[${filling}],"a":${id},"b":"${"t".repeat(40_000)}"}}]}],"seed":7}`;
  for (const isLenient of [false, true]) {
    const value = parseJson(Buffer.from(text), isLenient);
    expect(JSON.stringify(value)).toBe(text);
    expect(runNow(jsonBytes(value)).toString()).toBe(text);
    expect(jsonLength(value, 1e9)).toBe(text.length);
  }
});

test("an exact number is a number to those who ask what a value is", () => {
  const value = parsedJson(id, true);
  expect([isExactNumber(value), isObject(value), doubleOf(value)]).toEqual([true, false, Number(id)]);
  if (value !== undefined) expect(jsonType(value)).toBe("number");
  // An object that is written like one is none.
  expect(isExactNumber({ rawJSON: id })).toBe(false);
  expect(() => checkRaw({ a: [value ?? null] }, 1)).not.toThrow();
});

test("doubles take the places of exact numbers, and nothing else is copied", () => {
  const value = parseExactly(`{"a":{"n":${id}},"b":{"n":[1]}}`, true) as { readonly b: object };
  const plain = withDoubles(value);
  expect(plain).toEqual({ a: { n: Number(id) }, b: { n: [1] } });
  expect(plain.b).toBe(value.b);
});

test("doubles take their places in time slices", () => {
  const list = parseExactly(`[[${Array(20_000).fill(id).join()}],[${Array(20_000).fill("{}").join()}]]`, true);
  const work = withDoublesInSlices(list);
  let slices = 1;
  let step = work.next();
  for (; !step.done; slices++) step = work.next();
  expect(slices).toBeGreaterThan(8);
  expect(step.value).toEqual(withDoubles(list));
});

test("an exact number has no members to those who measure and compare", () => {
  const value = parseExactly(id, true);
  expect(roomAfter(value, 10, ofParts)).toBe(9);
  expect(canonical(value)).toBe(id);
});

test("every place of a long number is found, and no shorter one", () => {
  for (let before = 0; before < 40; before++) {
    const around = (digits: string) => `${" ".repeat(before)}${digits}${" ".repeat(before % 17)}`;
    expect([before, hasLongNumber(around("1".repeat(16))), hasLongNumber(around("1".repeat(15)))]).toEqual([
      before,
      true,
      false,
    ]);
  }
  expect(hasLongNumber("1234567890.123456")).toBe(true);
});

test("a text nested too deep for the second reading is read as doubles", () => {
  const depth = 20_000;
  const text = `{"a":${"[".repeat(depth)}${id}${"]".repeat(depth)}}`;
  let plain: unknown;
  try {
    plain = JSON.parse(text);
  } catch {
    return;
  }
  expect(() => parseExactly(text, true)).not.toThrow();
  expect(plain).toBeDefined();
});
