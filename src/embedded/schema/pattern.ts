/**
 * Makes a text that matches a regular expression, by walking its tree.
 *
 * Each `place` gives another text where the expression leaves a choice. The text is as short as possible, and grows
 * by repetitions, leftmost first, up to `minLength` characters. Undefined where that fails.
 */
import type { Range } from "./characters.ts";
import { readRegex, type Tree } from "./regex.ts";
import { costOf, type Search, step } from "./schema.ts";

/** The longest text that is made, in characters. */
export const maxText = 10_000;

const preferred = Array.from(
  "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-. /:@#%+=,;!?&*()[]{}<>'\"~^$|`\\",
);

interface Writer {
  /** The rest of the place: each choice takes its share, like the digits of a number. */
  place: number;
  /** Repetitions that may be added to the minimum. */
  spare: number;
  readonly work: Search;
}

export interface Lengths {
  readonly minLength: number;
  readonly maxLength: number;
}

export function textMatching(pattern: string, place: number, lengths: Lengths, search: Search): string | undefined {
  const { minLength, maxLength } = lengths;
  const tree = step(search, costOf(pattern)) ? readRegex(pattern) : undefined;
  if (!tree) return undefined;
  const open = !pattern.includes("$");
  for (let spare = 0; spare <= Math.min(minLength, 1000); spare++) {
    const text = write(tree, { place, spare, work: search });
    if (text === undefined) return undefined;
    const length = Array.from(text).length;
    if (length >= minLength && length <= maxLength) return text;
    // Without an end anchor any text may follow.
    if (open && length < minLength) return text + "a".repeat(minLength - length);
  }
  return undefined;
}

function write(tree: Tree, writer: Writer): string | undefined {
  if (!step(writer.work)) return undefined;
  switch (tree.kind) {
    case "char":
      return pickChar(tree.ranges, writer);
    case "sequence":
      return join(tree.parts, writer);
    case "either":
      return write(tree.branches[choose(writer, tree.branches.length)] as Tree, writer);
    case "repeat":
      return repeat(tree.of, tree.min, tree.max, writer);
  }
}

function join(parts: readonly Tree[], writer: Writer): string | undefined {
  let text = "";
  for (const part of parts) {
    const piece = write(part, writer);
    if (piece === undefined) return undefined;
    text += piece;
  }
  return text;
}

function repeat(of: Tree, min: number, max: number, writer: Writer): string | undefined {
  const added = Math.min(writer.spare, max - min);
  writer.spare -= added;
  let text = "";
  for (let i = 0; i < min + added; i++) {
    const piece = text.length > maxText ? undefined : write(of, writer);
    if (piece === undefined) return undefined;
    text += piece;
  }
  return text;
}

function pickChar(ranges: readonly Range[], writer: Writer): string | undefined {
  const inside = (code: number) => ranges.some(([from, to]) => code >= from && code <= to);
  const allowed = preferred.filter((sign) => inside(sign.codePointAt(0) as number));
  if (allowed.length > 0) return allowed[choose(writer, allowed.length)];
  const [first] = ranges;
  return first && String.fromCodePoint(first[0]);
}

function choose(writer: Writer, options: number): number {
  const chosen = writer.place % options;
  writer.place = Math.floor(writer.place / options);
  return chosen;
}
