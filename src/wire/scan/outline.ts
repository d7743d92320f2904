/**
 * Reads JSON without the numbers of its vectors: each vector reads as a list of one zero, at a fraction of the cost.
 * An empty one stays empty.
 *
 * A list is skipped only where it surely is one: it follows its key, whose quotes and colon no string can contain,
 * and holds nothing but numbers. Whether the numbers are well-formed is not checked.
 */
import { isUtf8 } from "node:buffer";
import type { CooperativeTask } from "../../runtime/cooperative.ts";
import { type JsonValue, readLongAnswer } from "../json.ts";
import { skipSpace } from "../splice.ts";
import type { Steps } from "./steps.ts";

/** The key of a vector, as written. */
const key = Buffer.from('"embedding"');

const colon = 0x3a;
const openBracket = 0x5b;
const closeBracket = 0x5d;

/**
 * The characters of all other values in a list: strings, lists, objects, and `null`, `true`, `false`, `NaN`,
 * `Infinity` in any case.
 */
const others = Array.from('"[}nauNAU', (character) => character.charCodeAt(0));
const isOther = Uint8Array.from({ length: 256 }, (_, byte) => (others.includes(byte) ? 1 : 0));

/**
 * The first bytes of a list are checked one by one; then windows of doubling size are searched for each of the
 * others. A search is faster than a loop, but costs a constant. Little more is read than up to the point where a list
 * is seen not to qualify.
 */
const nearBytes = 256;
const [firstWindow, largestWindow] = [1_024, 65_536];

/** Steps between two yields: some tenths of a millisecond. */
const stepsPerSlice = 200_000;
const stepsOfSearch = 50;

/** zero replaces the numbers of a vector in an outline. */
const zero = Buffer.from("0");

/** readOutline returns the value with vectors of one zero; undefined where none can be skipped, or the text is not JSON. */
export function* readOutline(bytes: Buffer, steps: Steps = { count: 0 }): CooperativeTask<JsonValue | undefined> {
  let at = yield* nextKey(bytes, 0, steps);
  if (at === -1 || !isUtf8(bytes)) return undefined;
  const pieces: Buffer[] = [];
  let kept = 0;
  let until = steps.count + stepsPerSlice;
  for (; at !== -1; at = yield* nextKey(bytes, at, steps)) {
    at += key.length;
    const from = listAt(bytes, at);
    const to = from === undefined ? -1 : yield* endOfNumbers(bytes, from, steps);
    if (from !== undefined && to !== -1 && skipSpace(bytes, from) !== to) {
      pieces.push(bytes.subarray(kept, from), zero);
      kept = at = to;
    }
    // A search that ends at once costs as much as this many steps.
    steps.count += stepsOfSearch;
    if (steps.count < until) continue;
    until = steps.count + stepsPerSlice;
    yield;
  }
  if (kept === 0) return undefined;
  pieces.push(bytes.subarray(kept));
  return yield* parsed(Buffer.concat(pieces));
}

/** Bytes searched for a key at once. */
const searchedAtOnce = 1_048_576;

/** nextKey returns the position of the next key, or -1. */
function* nextKey(bytes: Buffer, from: number, steps: Steps): CooperativeTask<number> {
  for (let at = from; at < bytes.length; at += searchedAtOnce) {
    // A key may span two searched parts.
    const part = bytes.subarray(at, at + searchedAtOnce + key.length - 1);
    const found = part.indexOf(key);
    steps.count += found === -1 ? part.length : found + key.length;
    if (found !== -1) return at + found;
    yield;
  }
  return -1;
}

/** listAt returns the start of the list whose key ends here. */
function listAt(bytes: Buffer, keyEnd: number): number | undefined {
  const separator = skipSpace(bytes, keyEnd);
  if (bytes[separator] !== colon) return undefined;
  const opening = skipSpace(bytes, separator + 1);
  return bytes[opening] === openBracket ? opening + 1 : undefined;
}

/** endOfNumbers returns the end of a list of numbers; -1 where it holds anything else, or does not end. */
function* endOfNumbers(bytes: Buffer, from: number, steps: Steps): CooperativeTask<number> {
  const near = Math.min(bytes.length, from + nearBytes);
  let at = from;
  for (; at < near; at++) {
    const byte = bytes[at] as number;
    if (byte !== closeBracket && isOther[byte] === 0) continue;
    steps.count += at - from + 1;
    return byte === closeBracket ? at : -1;
  }
  steps.count += at - from;
  for (let size = firstWindow; at < bytes.length; at += size, size = Math.min(2 * size, largestWindow)) {
    const window = bytes.subarray(at, at + size);
    const end = window.indexOf(closeBracket);
    const numbers = end === -1 ? window : window.subarray(0, end);
    steps.count += (others.length + 1) * window.length;
    if (!isOfNumbers(numbers)) return -1;
    if (end !== -1) return at + end;
    if (size === largestWindow) yield;
  }
  return -1;
}

function isOfNumbers(list: Buffer): boolean {
  for (const other of others) if (list.includes(other)) return false;
  return true;
}

function* parsed(bytes: Buffer): CooperativeTask<JsonValue | undefined> {
  try {
    return yield* readLongAnswer(bytes);
  } catch {
    return undefined;
  }
}
