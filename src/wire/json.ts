/**
 * Reads JSON from outside: bytes to values, and the checks by which `read.ts` refuses what could not be kept or could
 * do harm.
 *
 * Refused are bytes that are not UTF-8, text that is not JSON, duplicate members of an object, nesting deeper than
 * `maxDepth`, lone surrogates in strings, numbers too large for a double, and the key `__proto__`.
 */
import { isUtf8 } from "node:buffer";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { type CooperativeTask, endsSlice, runNow } from "../runtime/cooperative.ts";
import { maxDepth } from "./bounds.ts";
import { WireFault } from "./fault.ts";
import { isObject } from "./is-object.ts";
import { build, type OmittedText } from "./scan/build.ts";
import { isExactNumber } from "./scan/exact-number.ts";
import { parseExactly } from "./scan/parse-exactly.ts";
import { Pieces } from "./scan/pieces.ts";
import { Scan } from "./scan/scan.ts";
import type { Steps } from "./scan/steps.ts";
import { parseText } from "./scan/strings.ts";
import type { Members } from "./splice.ts";

export type { JsonObject, JsonValue };
export { isObject, maxDepth };

/** definedFields returns an object of the members that are defined. */
export function definedFields(fields: Readonly<Record<string, JsonValue | undefined>>): JsonObject {
  const json: JsonObject = {};
  for (const [key, value] of Object.entries(fields)) if (value !== undefined) json[key] = value;
  return json;
}

/** The most members of an object, and the most messages of a list. Each costs far more than its bytes. */
const maxMembers = 20_000;

/** Limits for protobuf readers of messages that hold JSON. A level of JSON takes up to three of protobuf. */
export const binaryOptions = { recursionLimit: 3 * maxDepth + 20 };

/** Shorter texts, in bytes, are read at once; longer ones in time slices. */
export const longJson = 64 * 1024;

/** parseJson parses bytes. Throws a WireFault. `lenient` is for upstreams' answers. */
export function parseJson(bytes: Buffer, lenient: boolean): JsonValue {
  if (bytes.length >= longJson) return runNow(lenient ? readLongAnswer(bytes) : readLongRequest(bytes));
  if (!isUtf8(bytes)) throw notUtf8();
  if (!lenient) checkSyntax(bytes);
  return parseText(bytes.toString());
}

const scan = new Scan();

/**
 * checkSyntax throws a WireFault where a text breaks a rule that can be checked before parsing. The text need not be valid JSON otherwise.
 */
export function checkSyntax(bytes: Uint8Array): void {
  scan.begin(bytes).advance(Number.POSITIVE_INFINITY);
}

function notUtf8(): WireFault {
  return new WireFault("malformed", "the body is not UTF-8");
}

/** Steps between two yields: some tenths of a millisecond. */
const stepsPerSlice = 50_000;

/** readLongRequest reads a long request in time slices. With `isFree` all its numbers keep their digits. Throws a WireFault. */
export function* readLongRequest(bytes: Buffer, steps?: Steps, isFree = false): CooperativeTask<JsonValue> {
  const { value } = yield* readMembers(bytes, undefined, steps, isFree);
  return value;
}

export interface ReadMembers {
  readonly value: JsonValue;
  /** Undefined where the value is not an object. */
  readonly members: Members | undefined;
}

/**
 * readMembers reads like `readLongRequest`, and finds where the members of the top-level object stand. Long plain strings go into `leftOut`, and
 * fillers of the same length stand in their places.
 */
export function* readMembers(
  bytes: Buffer,
  leftOut: OmittedText[] | undefined,
  steps?: Steps,
  isFree = false,
): CooperativeTask<ReadMembers> {
  if (!isUtf8(bytes)) throw notUtf8();
  const pieces = new Pieces();
  yield* scanInSlices(new Scan(pieces), bytes);
  const value = pieces.root
    ? yield* build(pieces.root, { bytes, omitted: leftOut, steps, isFree })
    : parseText(bytes.toString(), isFree);
  return { value, members: isObject(value) ? yield* pieces.members(bytes) : undefined };
}

/** findMembers finds where the members of an object stand in a text that was written here. */
export function* findMembers(bytes: Buffer): CooperativeTask<Members | undefined> {
  const pieces = new Pieces();
  yield* scanInSlices(new Scan(pieces, true), bytes);
  return yield* pieces.members(bytes);
}

function* scanInSlices(scan: Scan, bytes: Buffer): CooperativeTask<void> {
  scan.begin(bytes);
  while (!scan.advance(stepsPerSlice)) yield;
}

/**
 * readLongAnswer reads an upstream's long answer in time slices, with the result of `parseExactly`. Throws a WireFault, also for excessive
 * nesting and excessively long numbers.
 */
export function* readLongAnswer(bytes: Buffer): CooperativeTask<JsonValue> {
  if (!isUtf8(bytes)) throw notUtf8();
  if (bytes.length < longJson) return parseText(bytes.toString());
  const pieces = new Pieces();
  yield* scanInSlices(new Scan(pieces, true), bytes);
  return pieces.root ? yield* build(pieces.root, { bytes, omitted: undefined }) : parseText(bytes.toString());
}

/** jsonType returns the type name that faults show and unions choose by. */
export function jsonType(value: JsonValue): "null" | "string" | "number" | "boolean" | "list" | "object" {
  if (value === null) return "null";
  if (Array.isArray(value)) return "list";
  if (isExactNumber(value)) return "number";
  return typeof value as "string" | "number" | "boolean" | "object";
}

/** expectObject returns the body as an object. Throws a WireFault for anything else. */
export function expectObject(json: JsonValue): JsonObject {
  const type = jsonType(json);
  if (type === "object") return json as JsonObject;
  throw new WireFault("malformed", `the body is not a JSON object but ${type === "null" ? "null" : `a ${type}`}`);
}

/** replacedIn puts a value in a place of the copy of a list. It makes the copy where there is none yet. */
function replacedIn(list: JsonValue[], copy: JsonValue[] | undefined, place: number, value: JsonValue): JsonValue[] {
  const made = copy ?? [...list];
  made[place] = value;
  return made;
}

/** mappedList returns a list with each of its values changed; the same list where none is, and nothing is copied for that. */
export function mappedList<V extends JsonValue>(
  list: V[],
  change: (value: V, index: number) => JsonValue,
): JsonValue[] {
  let changed: JsonValue[] | undefined;
  for (const [i, value] of list.entries()) {
    const made = change(value, i);
    if (made !== value) changed = replacedIn(list, changed, i, made);
  }
  return changed ?? list;
}

/** mappedInSlices does the same in time slices: some thousand values take longer than others may wait. */
export function* mappedInSlices(
  list: JsonValue[],
  change: (value: JsonValue, index: number) => JsonValue,
): CooperativeTask<JsonValue[]> {
  let changed: JsonValue[] | undefined;
  for (const [i, value] of list.entries()) {
    if (endsSlice(i)) yield;
    const made = change(value, i);
    if (made !== value) changed = replacedIn(list, changed, i, made);
  }
  return changed ?? list;
}

/** mappedByTasks does so for values that are long themselves: each is changed by a task. */
export function* mappedByTasks(
  list: JsonValue[],
  change: (value: JsonValue, index: number) => CooperativeTask<JsonValue>,
): CooperativeTask<JsonValue[]> {
  let changed: JsonValue[] | undefined;
  for (const [i, value] of list.entries()) {
    const made = yield* change(value, i);
    if (made !== value) changed = replacedIn(list, changed, i, made);
    yield;
  }
  return changed ?? list;
}

/** isFilled reports a value that is neither null nor an empty list or object. */
export function isFilled(value: JsonValue): boolean {
  return typeof value !== "object" || (value !== null && Object.keys(value).length > 0);
}

/** isFilledText reports a text that is not empty, as an id is. */
export function isFilledText(value: JsonValue | undefined): value is string {
  return typeof value === "string" && value !== "";
}

/** parsedJson returns the value of a text as `parseExactly` does; undefined where it is not JSON. */
export function parsedJson(text: string, isFree = false): JsonValue | undefined {
  try {
    return parseExactly(text, isFree);
  } catch {
    return undefined;
  }
}

/** textOrEmpty returns a string unchanged, and an empty string for any other value. */
export function textOrEmpty(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : "";
}

/** listOrEmpty returns a list unchanged, and an empty list for any other value. */
export function listOrEmpty(value: JsonValue | undefined): JsonValue[] {
  return Array.isArray(value) ? value : [];
}

/** objectsIn returns the objects among the items of a list, the same list where all are; none for any other value. */
export function objectsIn(value: JsonValue | undefined): JsonObject[] {
  if (!Array.isArray(value)) return [];
  return value.every(isObject) ? value : value.filter(isObject);
}

/** scalarText returns the text of a number or a truth value, which servers parse of a model's words; empty for anything else. */
export function scalarText(value: JsonValue | undefined): string {
  return typeof value === "number" || typeof value === "boolean" ? `${value}` : "";
}

/** textOrJson returns a string unchanged, and any other value as JSON. */
export function textOrJson(value: JsonValue): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function tooDeep(): WireFault {
  return new WireFault("type", `nested deeper than ${maxDepth} levels`);
}

/** checkRaw throws a WireFault unless a value that no schema describes can be kept as it is. */
export function checkRaw(value: JsonValue, depth: number): void {
  if (typeof value === "string") checkText(value);
  if (typeof value === "number") checkNumber(value);
  if (typeof value !== "object" || value === null || isExactNumber(value)) return;
  if (depth > maxDepth) throw tooDeep();
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

/**
 * wholeRaw returns a value that may be kept, with U+FFFD for each lone surrogate in its texts and keys; the same value where there is none.
 * Throws a WireFault for what may not be kept otherwise.
 */
export function wholeRaw(value: JsonValue, depth: number): JsonValue {
  try {
    checkRaw(value, depth);
    return value;
  } catch (error) {
    if (!isLoneSurrogate(error)) throw error;
  }
  const whole = withWholeTexts(value, depth);
  checkRaw(whole, depth);
  return whole;
}

function withWholeTexts(value: JsonValue, depth: number): JsonValue {
  if (typeof value === "string") return value.toWellFormed();
  if (typeof value !== "object" || value === null || isExactNumber(value)) return value;
  if (depth > maxDepth) throw tooDeep();
  if (Array.isArray(value)) return value.map((item) => withWholeTexts(item, depth + 1));
  const members = Object.entries(value);
  return Object.fromEntries(members.map(([key, item]) => [key.toWellFormed(), withWholeTexts(item, depth + 1)]));
}

/** VisitCount counts the values visited, for yielding. */
export interface VisitCount {
  visited: number;
}

/** Values visited between two yields: some tenths of a millisecond. */
const valuesPerSlice = 4096;

/** checkRawInSlices checks like `checkRaw`, in time slices. */
export function* checkRawInSlices(value: JsonValue, depth: number, walked: VisitCount): CooperativeTask<void> {
  if (++walked.visited % valuesPerSlice === 0) yield;
  if (typeof value !== "object" || value === null || isExactNumber(value)) return checkRaw(value, depth);
  if (depth > maxDepth) throw tooDeep();
  const keys = Array.isArray(value) ? undefined : Object.keys(value);
  checkCount(keys?.length ?? 0);
  for (const key of keys ?? []) checkKey(key);
  for (const item of Array.isArray(value) ? value : Object.values(value)) {
    if (typeof item === "object") yield* checkRawInSlices(item as JsonValue, depth + 1, walked);
    else {
      if (++walked.visited % valuesPerSlice === 0) yield;
      checkRaw(item as JsonValue, depth + 1);
    }
  }
}

/** checkCount throws a WireFault for too many members or messages. */
export function checkCount(count: number): void {
  if (count > maxMembers) throw new WireFault("type", `expected at most ${maxMembers} members`);
}

/** loneSurrogate is what a fault says of a text that is no Unicode. */
const loneSurrogate = "expected Unicode text, got a lone surrogate";

/** isLoneSurrogate reports a fault of a text that is no Unicode. */
export function isLoneSurrogate(error: unknown): boolean {
  return error instanceof WireFault && error.message === loneSurrogate;
}

/** checkText throws a WireFault for a text with lone surrogates. */
export function checkText(text: string): void {
  if (!text.isWellFormed()) throw new WireFault("type", loneSurrogate);
}

/** checkNumber throws a WireFault unless the number is finite. The parser reads `1e400` as infinity, which would be written as null. */
export function checkNumber(value: number): void {
  if (!Number.isFinite(value)) throw new WireFault("type", "expected a number that a double can hold");
}

/** checkKey throws a WireFault for a key that is not allowed in an object. */
export function checkKey(key: string): void {
  if (key === "__proto__") throw new WireFault("type", "the key `__proto__` is not allowed");
  checkText(key);
}
