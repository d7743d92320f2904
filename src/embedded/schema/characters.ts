/** Reads an escape or a class of a regular expression as ranges of code points. */
import { advance, peek, type Reader, readUntil, take, Unreadable } from "./reader.ts";

export type Range = readonly [from: number, to: number];

const last = 0x10ffff;
const digits: Range[] = [[48, 57]];
// biome-ignore format: one line tells it.
const spaces: Range[] = [[9, 13], [32, 32]];
// biome-ignore format: one line tells it.
const wordly: Range[] = [[48, 57], [65, 90], [95, 95], [97, 122]];
// biome-ignore format: one line tells it.
const lineEnds: Range[] = [[10, 10], [13, 13], [0x2028, 0x2029]];

const classes = new Map([
  ["d", digits],
  ["w", wordly],
  ["s", spaces],
]);
const controls = new Map([
  ["n", 10],
  ["r", 13],
  ["t", 9],
  ["f", 12],
  ["v", 11],
  ["0", 0],
]);

/** The range of a dot. */
export const anyInLine = complement(lineEnds);

export function single(sign: string): Range[] {
  const code = sign.codePointAt(0) as number;
  return [[code, code]];
}

/** readEscape reads an escape, after its backslash. */
export function readEscape(reader: Reader): readonly Range[] {
  const sign = advance(reader);
  const lower = sign.toLowerCase();
  const known = classes.get(lower);
  if (known) return sign === lower ? known : complement(known);
  if (lower === "p") return readProperty(reader, sign === "P");
  if (sign === "c") throw new Unreadable();
  if (sign === "x") return coded(advance(reader) + advance(reader));
  if (sign === "u" && take(reader, "{")) return coded(readUntil(reader, "}"));
  if (sign === "u") return coded(advance(reader) + advance(reader) + advance(reader) + advance(reader));
  const control = controls.get(sign);
  return control === undefined ? single(sign) : [[control, control]];
}

/** readProperty reads a character property. There are many; the usual ones get ASCII examples. */
function readProperty(reader: Reader, negated: boolean): readonly Range[] {
  const name = take(reader, "{") ? readUntil(reader, "}") : "";
  if (name.startsWith("N")) return negated ? complement(digits) : digits;
  const letters: Range[] = name === "Lu" ? [[65, 90]] : [[97, 122]];
  return negated ? digits : letters;
}

function coded(hex: string): Range[] {
  const code = /^[0-9a-f]{1,6}$/i.test(hex) ? Number.parseInt(hex, 16) : Number.POSITIVE_INFINITY;
  // A lone surrogate is not text.
  if (code > last || (code >= 0xd800 && code <= 0xdfff)) throw new Unreadable();
  return [[code, code]];
}

/** readClass reads a class, after its opening bracket. */
export function readClass(reader: Reader): readonly Range[] {
  const negated = take(reader, "^");
  const ranges: Range[] = [];
  while (!take(reader, "]")) {
    const from = readMember(reader);
    const isRange = isSingle(from) && peek(reader) === "-" && reader.source[reader.at + 1] !== "]";
    if (!isRange) {
      ranges.push(...from);
      continue;
    }
    advance(reader);
    const to = readMember(reader);
    ranges.push([from[0]?.[0] ?? 0, to[0]?.[1] ?? 0]);
  }
  return negated ? complement(ranges) : ranges;
}

function readMember(reader: Reader): readonly Range[] {
  const sign = advance(reader);
  if (sign !== "\\") return single(sign);
  return take(reader, "b") ? [[8, 8]] : readEscape(reader);
}

function isSingle(ranges: readonly Range[]): boolean {
  return ranges.length === 1 && ranges[0]?.[0] === ranges[0]?.[1];
}

function complement(ranges: readonly Range[]): Range[] {
  const rest: Range[] = [];
  let from = 0;
  for (const [start, end] of ranges.toSorted((a, b) => a[0] - b[0])) {
    if (start > from) rest.push([from, start - 1]);
    from = Math.max(from, end + 1);
  }
  if (from <= last) rest.push([from, last]);
  return rest;
}
