/**
 * JSON as it comes from outside: bytes to values, and the checks by which `read.ts` refuses what could not be kept or
 * could do harm.
 *
 * Refused are bytes that are no UTF-8, text that is no JSON, a nesting deeper than `maxDepth`, strings that are no
 * Unicode (lone surrogates), numbers that are too large for a double, and the key `__proto__`.
 */
import { isUtf8 } from "node:buffer";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { WireFault } from "./fault.ts";

export type { JsonObject, JsonValue };

/** The deepest nesting of lists and objects that is read. */
export const maxDepth = 100;

/** The most members of an object, and the most messages of a list, that are read: each costs far more than its bytes. */
const maxMembers = 20_000;

/** Limits for protobuf readers of messages that hold JSON: a level of JSON takes up to three of protobuf. */
export const binaryOptions = { recursionLimit: 3 * maxDepth + 20 };

/** Parses bytes. Throws a WireFault without a path. `lenient` is for what upstreams say. */
export function parseJson(bytes: Buffer, lenient: boolean): JsonValue {
  if (!isUtf8(bytes)) throw new WireFault("malformed", "the body is not UTF-8");
  if (!lenient && hasTooManyParts(bytes)) {
    throw new WireFault("malformed", `it has more than ${maxParts} lists, objects and members`);
  }
  try {
    return JSON.parse(bytes.toString()) as JsonValue;
  } catch {
    // The parser's own words quote the text, which may be private.
    throw new WireFault("malformed", "the body is not JSON");
  }
}

/**
 * The most lists, objects and members in a caller's text: each costs the parser far more than its bytes, and millions
 * would hold up everyone. No model's context holds as many.
 */
const maxParts = 500_000;

const quote = 0x22;
const backslash = 0x5c;
const colon = 0x3a;
/** `[` has one bit less than `{`. */
const bracketBit = 0x20;
const openBrace = 0x7b;

/** Whether a text has more parts than are parsed. It need not be JSON. */
export function hasTooManyParts(text: Uint8Array): boolean {
  if (text.length <= maxParts) return false;
  let parts = 0;
  for (let at = 0; at < text.length; at++) {
    const byte = text[at] as number;
    if (byte === quote) at = endOfString(text, at) - 1;
    else if (((byte | bracketBit) === openBrace || byte === colon) && ++parts > maxParts) return true;
  }
  return false;
}

/** How far a string's end is looked for byte by byte, before it is searched for: a search costs as much at once. */
const nearBytes = 48;

/**
 * Returns the index after the closing quote of the string that opens at `from`; where it never closes, one beyond the text.
 * Quotes in it that are escaped may be many, and plain text between them long: either costs little.
 */
export function endOfString(text: Uint8Array, from: number): number {
  let at = from + 1;
  while (at < text.length) {
    for (const far = Math.min(at + nearBytes, text.length); at < far; at++) {
      if (text[at] === quote) return at + 1;
      if (text[at] === backslash) at++;
    }
    const next = indexOf.call(text, quote, at);
    if (next === -1) break;
    // What stands before is either plain, or escaped by what stands there too.
    let slashes = 0;
    while (next - slashes > at && text[next - slashes - 1] === backslash) slashes++;
    if (slashes % 2 === 0) return next + 1;
    at = next + 1;
  }
  return text.length + 1;
}

/** A Buffer's is many times faster than that of other lists of bytes. */
const { indexOf } = Buffer.prototype;

/** Returns how a value is called in faults and chosen by unions. */
export function jsonType(value: JsonValue): "null" | "string" | "number" | "boolean" | "list" | "object" {
  if (value === null) return "null";
  if (Array.isArray(value)) return "list";
  return typeof value as "string" | "number" | "boolean" | "object";
}

/** Throws unless a value that no schema describes can be kept as it is. */
export function checkRaw(value: JsonValue, depth: number): void {
  if (typeof value === "string") checkText(value);
  if (typeof value === "number") checkNumber(value);
  if (typeof value !== "object" || value === null) return;
  if (depth > maxDepth) throw new WireFault("type", `nested deeper than ${maxDepth} levels`);
  if (Array.isArray(value)) {
    for (const item of value) checkRaw(item, depth + 1);
    return;
  }
  const keys = Object.keys(value);
  checkCount(keys.length);
  for (const key of keys) {
    checkKey(key);
    checkRaw(value[key] as JsonValue, depth + 1);
  }
}

/** Throws where there are more members, or messages, than are read. */
export function checkCount(count: number): void {
  if (count > maxMembers) throw new WireFault("type", `expected at most ${maxMembers} members`);
}

/** Throws unless the text is Unicode. */
export function checkText(text: string): void {
  if (!text.isWellFormed()) throw new WireFault("type", "expected Unicode text, got a lone surrogate");
}

/** Throws unless the number is finite: the parser makes infinity of `1e400`, and the writer null of infinity. */
export function checkNumber(value: number): void {
  if (!Number.isFinite(value)) throw new WireFault("type", "expected a number that a double can hold");
}

/** Throws unless the key may stand in an object. */
export function checkKey(key: string): void {
  if (key === "__proto__") throw new WireFault("type", "the key `__proto__` is not allowed");
  checkText(key);
}
