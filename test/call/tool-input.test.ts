/** Inputs of tool calls that come in pieces, and again after their end: what is told of them, and at what cost. */
import fc from "fast-check";
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

/** growing returns the pieces of servers that tell all of an input so far in each. */
const growing = (text: string, length: number) => {
  const ends = [...piecesOf(text, length)].map((_, i) => Math.min((i + 1) * length, text.length));
  return ends.map((end) => text.slice(0, end));
};

const nested = '{"a":{"a":{"b":"{\\"a\\":1"}},"c":[{"a":1},{"a":2}],"d":"{"}';

test.each([whole, nested, '{ "a": 1 }', '{"a":true}'])(
  "an input %s that grows with each piece is told once",
  (text) => {
    for (let length = 1; length < 5; length++) {
      const pieces = growing(text, length);
      expect(told(pieces), `${length}`).toEqual({ text, isComplete: true });
      expect(told([...pieces, text])).toEqual({ text, isComplete: true });
      expect(told(pieces.flatMap((piece) => [piece, piece]))).toEqual({ text, isComplete: true });
    }
  },
);

test("an input in pieces that resemble its beginning is told as it is", () => {
  for (let at = 1; at < nested.length; at++)
    expect(told([nested.slice(0, at), nested.slice(at)])).toEqual({ text: nested, isComplete: true });
  expect(told(['{"a":', '{"a":', "1}}"])).toEqual({ text: '{"a":{"a":1}}', isComplete: true });
  expect(told(['{"a":[{},', '{"a":[{},1]}]}'])).toEqual({ text: '{"a":[{},{"a":[{},1]}]}', isComplete: true });
});

test("a long input is compared no more often than it comes", () => {
  const long = JSON.stringify({ text: "{".repeat(400_000) });
  expect(told(piecesOf(long, 1))).toEqual({ text: long, isComplete: true });
  const rows = JSON.stringify({ rows: Array.from({ length: 40_000 }, (_, i) => ({ rows: i })) });
  expect(told(piecesOf(rows, 2))).toEqual({ text: rows, isComplete: true });
}, 20_000);

const resemblingText = fc
  .array(fc.constantFrom("{", "}", "[", '"', ":", ",", "a", " ", "\\", '{"a":', '{"'), { maxLength: 3 })
  .map((signs) => signs.join(""));
/** resembling are inputs whose names and texts look like the beginning of an input. */
const resembling = fc
  .letrec<{ object: object; value: unknown }>((tie) => ({
    object: fc.dictionary(resemblingText, tie("value"), { maxKeys: 3, depthIdentifier: "input" }),
    value: fc.oneof(
      { maxDepth: 3, depthIdentifier: "input" },
      resemblingText,
      fc.constantFrom(1, -1.5e9, true, null),
      tie("object"),
      fc.array(tie("value"), { maxLength: 3, depthIdentifier: "input" }),
    ),
  }))
  .object.map((object) => JSON.stringify(object));
/** cuts are where an input is cut, as shares of its length. */
const cuts = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 8 });
const endsOf = (text: string, at: readonly number[]) =>
  [...new Set([...at.map((share) => Math.max(1, Math.round(share * text.length))), text.length])].sort((a, b) => a - b);

test("any input is told once, in pieces and in pieces that have all so far, wherever it is cut", () => {
  const once = (text: string, at: readonly number[]) => {
    const ends = endsOf(text, at);
    const whole = { text, isComplete: true };
    expect(told(ends.map((end, i) => text.slice(ends[i - 1] ?? 0, end)))).toEqual(whole);
    const pieces = ends.map((end) => text.slice(0, end));
    expect(told(pieces)).toEqual(whole);
    expect(told(pieces.flatMap((piece) => [piece, "", piece]))).toEqual(whole);
    const { text: ended, isComplete } = told([...pieces, "\n", " "]);
    expect([ended.trimEnd(), isComplete]).toEqual([text, true]);
  };
  fc.assert(fc.property(resembling, cuts, once), { numRuns: 20_000 });
});

test("an input that comes again in other pieces is told once, also where one of them is blank", () => {
  const text = '{\n "a": [1,\t2]\n}';
  for (let first = 1; first < text.length; first++) {
    for (let second = first + 1; second <= text.length; second++) {
      const pieces = [text.slice(0, first), text.slice(first, second), text.slice(second)];
      expect(told([text, ...pieces])).toEqual({ text, isComplete: true });
      expect(told([...pieces, ...pieces])).toEqual({ text, isComplete: true });
    }
  }
});

test("an input whose name begins as it does is told wherever it is cut, in two pieces and in three", () => {
  for (const text of ['{"{":"{"}', '{"{\\"":1}', '{":":{":":1}}', '{"":{"":{}}}', '{"{":{"{":"{"},":1}":5}']) {
    for (let first = 1; first < text.length; first++) {
      for (let second = first; second < text.length; second++) {
        const ends = [first, second, text.length];
        expect(told(ends.map((end, i) => text.slice(ends[i - 1] ?? 0, end)))).toEqual({ text, isComplete: true });
        expect(told(ends.map((end) => text.slice(0, end)))).toEqual({ text, isComplete: true });
      }
    }
  }
});

test("a long input whose beginning comes again and again is read once", () => {
  const deep = (times: number) => '{"a":'.repeat(times);
  const text = `${deep(50_000)}1${"}".repeat(50_000)}`;
  const pieces = [...piecesOf(deep(50_000), 5), `1${"}".repeat(50_000)}`];
  expect(told(pieces).text).toBe(text);
}, 20_000);
