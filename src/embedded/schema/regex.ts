/**
 * Parses a regular expression into a tree from which texts can be made.
 *
 * It is never run. Anchors, word boundaries and lookarounds are ignored. For unsupported constructs (a backreference,
 * a broken expression) the result is undefined, and the caller falls back to plain text.
 */
import { anyInLine, type Range, readClass, readEscape, single } from "./characters.ts";
import { advance, peek, type Reader, take, Unreadable } from "./reader.ts";

export type Tree =
  | { readonly kind: "char"; readonly ranges: readonly Range[] }
  | { readonly kind: "sequence"; readonly parts: readonly Tree[] }
  | { readonly kind: "either"; readonly branches: readonly Tree[] }
  | { readonly kind: "repeat"; readonly of: Tree; readonly min: number; readonly max: number };

/** The longest expression that is parsed, in characters. */
const maxSource = 1000;

const nothing: Tree = { kind: "sequence", parts: [] };

export function readRegex(pattern: string): Tree | undefined {
  const reader: Reader = { source: Array.from(pattern), at: 0 };
  if (reader.source.length > maxSource) return undefined;
  try {
    const tree = readEither(reader);
    return reader.at === reader.source.length ? tree : undefined;
  } catch (error) {
    if (error instanceof Unreadable) return undefined;
    throw error;
  }
}

function readEither(reader: Reader): Tree {
  const first = readSequence(reader);
  const branches = [first];
  while (take(reader, "|")) branches.push(readSequence(reader));
  return branches.length === 1 ? first : { kind: "either", branches };
}

function readSequence(reader: Reader): Tree {
  const parts: Tree[] = [];
  for (let next = peek(reader); next !== undefined && next !== "|" && next !== ")"; next = peek(reader)) {
    const of = readAtom(reader);
    const bounds = readBounds(reader);
    parts.push(bounds ? { kind: "repeat", of, min: bounds[0], max: bounds[1] } : of);
  }
  return { kind: "sequence", parts };
}

/** readBounds reads the quantifier after an atom, if there is one. */
function readBounds(reader: Reader): readonly [min: number, max: number] | undefined {
  const bounds = take(reader, "*")
    ? ([0, Infinity] as const)
    : take(reader, "+")
      ? ([1, Infinity] as const)
      : take(reader, "?")
        ? ([0, 1] as const)
        : readBraces(reader);
  // A lazy quantifier allows the same texts.
  if (bounds) take(reader, "?");
  return bounds;
}

function readBraces(reader: Reader): readonly [min: number, max: number] | undefined {
  const ahead = reader.source.slice(reader.at, reader.at + 24).join("");
  const found = /^\{(\d+)(,(\d*))?\}/.exec(ahead);
  if (!found) return undefined;
  reader.at += found[0].length;
  const min = Number(found[1]);
  return [min, found[2] === undefined ? min : found[3] ? Number(found[3]) : Infinity];
}

function readAtom(reader: Reader): Tree {
  const sign = advance(reader);
  switch (sign) {
    case "^":
    case "$":
      return nothing;
    case ".":
      return { kind: "char", ranges: anyInLine };
    case "(":
      return readGroup(reader);
    case "[":
      return { kind: "char", ranges: readClass(reader) };
    case "\\":
      return readBackslash(reader);
    case "*":
    case "+":
    case "?":
      throw new Unreadable();
  }
  return { kind: "char", ranges: single(sign) };
}

function readBackslash(reader: Reader): Tree {
  if (take(reader, "b") || take(reader, "B")) return nothing;
  // A backreference.
  if (/[1-9k]/.test(peek(reader) ?? "")) throw new Unreadable();
  return { kind: "char", ranges: readEscape(reader) };
}

function readGroup(reader: Reader): Tree {
  const looksAround = take(reader, "?") && readGroupKind(reader);
  const tree = readEither(reader);
  if (!take(reader, ")")) throw new Unreadable();
  return looksAround ? nothing : tree;
}

/** readGroupKind reads what follows `(?`. Returns true for a lookaround. */
function readGroupKind(reader: Reader): boolean {
  const behind = take(reader, "<");
  if (take(reader, "=") || take(reader, "!")) return true;
  if (!behind && !take(reader, ":")) throw new Unreadable();
  // The name of a capturing group.
  if (behind) while (advance(reader) !== ">");
  return false;
}
