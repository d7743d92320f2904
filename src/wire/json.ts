/**
 * JSON as it comes from outside: bytes to values, and the checks by which `read.ts` refuses what could not be kept or
 * could do harm.
 *
 * Refused are bytes that are no UTF-8, text that is no JSON, an object that has a member twice, a nesting deeper than `maxDepth`,
 * strings that are no Unicode (lone surrogates), numbers that are too large for a double, and the key `__proto__`.
 */
import { isUtf8 } from "node:buffer";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { type CooperativeTask, runNow } from "../runtime/cooperative.ts";
import { maxDepth } from "./bounds.ts";
import { WireFault } from "./fault.ts";
import { build, type OmittedText } from "./scan/build.ts";
import { Pieces } from "./scan/pieces.ts";
import { Scan } from "./scan/scan.ts";
import type { Steps } from "./scan/steps.ts";
import { parseText } from "./scan/texts.ts";
import type { Members } from "./splice.ts";

export type { JsonObject, JsonValue };
export { maxDepth };

/** The most members of an object, and the most messages of a list, that are read: each costs far more than its bytes. */
const maxMembers = 20_000;

/** Limits for protobuf readers of messages that hold JSON: a level of JSON takes up to three of protobuf. */
export const binaryOptions = { recursionLimit: 3 * maxDepth + 20 };

/** What is shorter, in bytes, is read at once. */
export const longJson = 64 * 1024;

/** Parses bytes. Throws a WireFault. `lenient` is for what upstreams say. */
export function parseJson(bytes: Buffer, lenient: boolean): JsonValue {
  if (bytes.length >= longJson) return runNow(lenient ? readLongAnswer(bytes) : readLongRequest(bytes, undefined));
  if (!isUtf8(bytes)) throw notUtf8();
  if (!lenient) checkSyntax(bytes);
  return parseText(bytes.toString());
}

const scan = new Scan();

/** Throws a WireFault where a text is refused before it is parsed. It need not be JSON else. */
export function checkSyntax(bytes: Uint8Array): void {
  scan.begin(bytes).advance(Number.POSITIVE_INFINITY);
}

function notUtf8(): WireFault {
  return new WireFault("malformed", "the body is not UTF-8");
}

/** How many steps are done before it may be interrupted: some tenths of a millisecond. */
const scanSteps = 50_000;

/**
 * Reads a long text of a caller's in turns. `leftOut` takes up the long plain texts, in whose places others of their length stand
 * then. Throws a WireFault.
 */
export function* readLongRequest(
  bytes: Buffer,
  leftOut: OmittedText[] | undefined,
  steps?: Steps,
): CooperativeTask<JsonValue> {
  const { value } = yield* readMembers(bytes, leftOut, steps);
  return value;
}

export interface ReadMembers {
  readonly value: JsonValue;
  /** Undefined where it is no object. */
  readonly members: Members | undefined;
}

/** As `readLong`, and finds where the members of the object stand. */
export function* readMembers(
  bytes: Buffer,
  leftOut: OmittedText[] | undefined,
  steps?: Steps,
): CooperativeTask<ReadMembers> {
  if (!isUtf8(bytes)) throw notUtf8();
  const pieces = new Pieces();
  yield* scanInTurns(new Scan(pieces), bytes);
  const value = pieces.root
    ? yield* build(pieces.root, { bytes, omitted: leftOut, steps })
    : parseText(bytes.toString());
  return { value, members: isObject(value) ? yield* pieces.members(bytes) : undefined };
}

/** Finds where the members of an object stand in a text that has been written here. */
export function* findMembers(bytes: Buffer): CooperativeTask<Members | undefined> {
  const pieces = new Pieces();
  yield* scanInTurns(new Scan(pieces, true), bytes);
  return yield* pieces.members(bytes);
}

function* scanInTurns(scan: Scan, bytes: Buffer): CooperativeTask<void> {
  scan.begin(bytes);
  while (!scan.advance(scanSteps)) yield;
}

/**
 * Reads a long text of an upstream's in turns, as `JSON.parse` reads it. Throws a WireFault, also where it is nested deeper than
 * any answer, or has a number longer than any.
 */
export function* readLongAnswer(bytes: Buffer): CooperativeTask<JsonValue> {
  if (!isUtf8(bytes)) throw notUtf8();
  if (bytes.length < longJson) return parseText(bytes.toString());
  const pieces = new Pieces();
  yield* scanInTurns(new Scan(pieces, true), bytes);
  return pieces.root ? yield* build(pieces.root, { bytes, omitted: undefined }) : parseText(bytes.toString());
}

/** Returns how a value is called in faults and chosen by unions. */
export function jsonType(value: JsonValue): "null" | "string" | "number" | "boolean" | "list" | "object" {
  if (value === null) return "null";
  if (Array.isArray(value)) return "list";
  return typeof value as "string" | "number" | "boolean" | "object";
}

/** Throws a WireFault where a body is no object. */
export function expectObject(json: JsonValue): JsonObject {
  const type = jsonType(json);
  if (type === "object") return json as JsonObject;
  throw new WireFault("malformed", `the body is not a JSON object but ${type === "null" ? "null" : `a ${type}`}`);
}

/** Returns a text as it is; of anything else the empty one. */
export function textOrEmpty(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : "";
}

/** Whether a value is an object, and no list. */
export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
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

/** Counts the values that are looked at. */
export interface VisitCount {
  visited: number;
}

/** How many values are looked at before it may be interrupted: some tenths of a millisecond. */
const valuesATurn = 4096;

/** Checks in turns. Throws as `checkRaw` does. */
export function* checkRawInTurns(value: JsonValue, depth: number, walked: VisitCount): CooperativeTask<void> {
  if (++walked.visited % valuesATurn === 0) yield;
  if (typeof value !== "object" || value === null) return checkRaw(value, depth);
  if (depth > maxDepth) throw new WireFault("type", `nested deeper than ${maxDepth} levels`);
  const keys = Array.isArray(value) ? undefined : Object.keys(value);
  checkCount(keys?.length ?? 0);
  for (const key of keys ?? []) checkKey(key);
  for (const item of Array.isArray(value) ? value : Object.values(value)) {
    if (typeof item === "object") yield* checkRawInTurns(item as JsonValue, depth + 1, walked);
    else {
      if (++walked.visited % valuesATurn === 0) yield;
      checkRaw(item as JsonValue, depth + 1);
    }
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
