/** Inputs of tool calls that come in pieces, and again after their end: what is told of them, and at what cost. */
import { expect, test } from "vitest";
import { ToolInput } from "../../src/call/tools/tool-input.ts";

/** piecesOf cuts a text. */
const piecesOf = (text: string, length: number) => text.match(new RegExp(`[^]{1,${length}}`, "g")) ?? [];

function told(pieces: readonly string[]): { readonly text: string; readonly isComplete: boolean } {
  const input = new ToolInput();
  const text = pieces.map((piece) => input.add(piece)).join("") + input.rest();
  return { text, isComplete: input.isComplete };
}

const whole = '{"path":"a.txt","lines":[1,2]}';

test.each([
  ["again as a whole", [whole]],
  ["again in pieces", piecesOf(whole, 3)],
  ["again in pieces, with blanks around", [" ", ...piecesOf(whole, 3), "\n"]],
  ["twice more", [...piecesOf(whole, 4), ...piecesOf(whole, 7)]],
  ["as a JSON string", [JSON.stringify(whole)]],
])("an input that comes %s is told once", (_, again) => {
  const { text, isComplete } = told([...piecesOf(whole, 5), ...again]);
  expect([text.trim(), isComplete]).toEqual([whole, true]);
});

test("what follows an input and is no repetition is told, as broken as it is", () => {
  expect(told([whole, '{"path":', '"b"}'])).toEqual({ text: `${whole}{"path":"b"}`, isComplete: false });
});

test("a long input that comes again is compared once", () => {
  const long = JSON.stringify({ text: "x".repeat(400_000) });
  // To compare all that came so far with each piece took a minute.
  expect(told([long, ...piecesOf(long, 4)])).toEqual({ text: long, isComplete: true });
}, 20_000);

test("an input that is a JSON string is told as the object in it, wherever it is cut", () => {
  const quoted = JSON.stringify(whole);
  for (let length = 1; length <= quoted.length; length++)
    expect(told(piecesOf(quoted, length))).toEqual({ text: whole, isComplete: true });
  expect(told(['"no', " object"]).text).toBe('"no object');
});

test("a long input that is a JSON string is put together once", () => {
  const long = JSON.stringify({ text: "}".repeat(200_000) });
  expect(told(piecesOf(JSON.stringify(long), 4))).toEqual({ text: long, isComplete: true });
}, 20_000);
