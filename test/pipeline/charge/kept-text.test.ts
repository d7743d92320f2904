/** The output of a model is kept unchanged up to a bound, however it is split; beyond the bound its bytes are counted. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { KeptText } from "../../../src/pipeline/charge/kept-text.ts";

const most = 262_144;

function kept(pieces: readonly string[]): KeptText {
  const text = new KeptText();
  for (const piece of pieces) text.add(piece);
  return text;
}

test("what is kept is what was put out, in whatever pieces", () => {
  const piece = fc.string({ unit: "grapheme", maxLength: 400 });
  const property = fc.property(fc.array(piece, { maxLength: 200 }), (pieces) => {
    const text = kept(pieces);
    expect(text.text()).toBe(pieces.join(""));
    expect(text.isEmpty()).toBe(pieces.join("") === "");
    expect(text.beyondBytes).toBe(0);
  });
  fc.assert(property, { endOnFailure: true });
});

test.each([
  ["one piece", ["あ".repeat(2 * most)]],
  ["the second", ["あ", "あ".repeat(2 * most - 1)]],
])("a text that is longer than the bound is cut there: %s", (_, pieces) => {
  const text = kept(pieces);
  expect(text.text()).toBe("あ".repeat(most));
  expect(text.beyondBytes).toBe(3 * most);
});

test.each(["a", "é", "あ", "😀"])("what comes behind the bound is counted and not kept: %s", (letter) => {
  const piece = letter.repeat(1024 / letter.length);
  const pieces = Array.from({ length: most / 1024 }, () => piece);
  const text = kept([...pieces, "beyond", piece]);
  expect(text.text()).toBe(pieces.join(""));
  expect(text.beyondBytes).toBe("beyond".length + Buffer.byteLength(piece));
});
