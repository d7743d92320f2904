/**
 * Public JSON → message, by the message's plan.
 *
 * Strict reading is for requests: a value of the wrong type is a WireFault with its path. Lenient reading is for
 * upstreams' answers, where a vendor's oddity must not cost the caller the answer: such a value is kept in `extra`,
 * what cannot be kept there (see `json.ts`) is left out, and a lone surrogate becomes U+FFFD, wherever it stands.
 */
import type { DescMessage, JsonObject, JsonValue, MessageShape } from "@bufbuild/protobuf";
import { decimalText, parseDecimal } from "../runtime/decimal.ts";
import { WireFault } from "./fault.ts";
import { checkCount, checkKey, checkNumber, checkRaw, checkText, jsonType, maxDepth, wholeRaw } from "./json.ts";
import { type FieldPlan, type MessagePlan, planOf, type UnionPlan, type ValuePlan } from "./plan.ts";
import { readTimestamp } from "./timestamp.ts";

interface ReadOptions {
  readonly lenient: boolean;
}

/** readMessage reads a JSON value as a message. Throws a WireFault; a lenient reader throws only where the value is not an object. */
export function readMessage<D extends DescMessage>(desc: D, json: JsonValue, options: ReadOptions): MessageShape<D> {
  return readPlanned(planOf(desc), json, 1, options) as MessageShape<D>;
}

/** readItem reads an item of a top-level list of a request. Throws a WireFault. */
export function readItem(plan: ValuePlan, item: JsonValue): unknown {
  return readValue(plan, item, 2, { lenient: false });
}

type Target = Record<string, unknown>;

function readPlanned(plan: MessagePlan, json: JsonValue, depth: number, options: ReadOptions): Target {
  if (depth > maxDepth) throw new WireFault("type", `nested deeper than ${maxDepth} levels`);
  const target: Target = { ...plan.zero };
  if (plan.bare) {
    if (plan.mayBeEmpty && (json === null || json === "")) return target;
    // A transparent message is no level of the JSON: its field stands in its place.
    if (plan.bare.kind === "union") readUnion(plan.bare, target, json, depth - 1, options);
    else target[plan.bare.name] = readShape(plan.bare, json, depth - 1, options);
    return target;
  }
  if (jsonType(json) !== "object") throw expected("an object", json);
  let extra: JsonObject | undefined;
  const keys = Object.keys(json as JsonObject);
  checkCount(keys.length);
  for (const key of keys) {
    const value = (json as JsonObject)[key] as JsonValue;
    let kept: JsonValue | undefined = value;
    try {
      if (readMember(plan.byKey.get(key), target, value, depth, options)) continue;
      if (options.lenient) kept = keptOf(key, value, depth);
      else checkUnnamed(plan, key, value, depth);
    } catch (fault) {
      if (!(fault instanceof WireFault)) throw fault;
      if (!options.lenient || !plan.extra) throw fault.under(key);
      kept = keepableOf(key, value, depth);
    }
    if (!plan.extra || kept === undefined) continue;
    extra ??= {};
    extra[key] = kept;
  }
  if (plan.extra && extra) target[plan.extra] = extra;
  return target;
}

/** checkUnnamed throws a WireFault unless a request may keep this value under a key that no member reads. */
export function checkUnnamed(plan: MessagePlan, key: string, value: JsonValue, depth: number): void {
  checkSpelling(plan, key);
  checkRaw(value, depth + 1);
}

/** checkSpelling throws a WireFault unless a request may have this key, which no member reads. */
export function checkSpelling({ byKey, byLowerKey }: MessagePlan, key: string): void {
  checkKey(key);
  // Some upstreams match keys in other ways. They would obey a member that was not checked here.
  const known = byKey.has(key) ? undefined : byLowerKey.get(folded(key));
  if (known !== undefined) throw new WireFault("value", `expected the spelling ${known}`);
}

/**
 * folded returns a key as those see it that ignore case. By way of the upper case, letters outside of ASCII become those that servers in Go
 * and Java take for them: `ſ` is an s, `ı` an i, and the sign for Kelvin a k. Those in C read no further than to a NUL.
 */
function folded(key: string): string {
  const end = key.indexOf("\0");
  return (end === -1 ? key : key.slice(0, end)).toUpperCase().toLowerCase();
}

function keptOf(key: string, value: JsonValue, depth: number): JsonValue {
  checkKey(key);
  return wholeRaw(value, depth + 1);
}

/** keepableOf returns a value as it is kept; undefined where it cannot be. */
function keepableOf(key: string, value: JsonValue, depth: number): JsonValue | undefined {
  try {
    return keptOf(key, value, depth);
  } catch {
    return undefined;
  }
}

/** readMember reads one key into the message. Returns false where the value has to be kept in `extra`. */
function readMember(
  member: FieldPlan | UnionPlan | undefined,
  target: Target,
  value: JsonValue,
  depth: number,
  options: ReadOptions,
): boolean {
  if (!member) return false;
  if (value === null) return readNull(member, target);
  if (member.kind === "union") return readUnion(member, target, value, depth, options);
  if (isFutureWord(member, value)) return false;
  const read = readShape(member, value, depth, options);
  if (member.shape !== "one" && !member.always && isEmpty(read)) return false;
  target[member.name] = read;
  return true;
}

/** readNull reads null into a transparent message for which it means empty. Returns false for any other field. */
function readNull(member: FieldPlan | UnionPlan, target: Target): boolean {
  if (member.kind === "union" || member.shape !== "one" || member.value.kind !== "message") return false;
  const { plan } = member.value;
  const text = plan.bare?.kind === "union" ? plan.bare.byType.get("string") : undefined;
  if (!plan.mayBeEmpty && text?.value.kind !== "string") return false;
  target[member.name] = readPlanned(plan, plan.mayBeEmpty ? null : "", 1, { lenient: false });
  return true;
}

function readUnion(union: UnionPlan, target: Target, value: JsonValue, depth: number, options: ReadOptions): boolean {
  const found = (isNumberList(value) && union.numberList) || union.byType.get(jsonType(value));
  if (!found) {
    const text = union.byType.get("string");
    if (text && isFutureWord(text, value)) return false;
    throw expected([...union.byType.keys()].map(article).join(" or "), value);
  }
  if (isFutureWord(found, value)) return false;
  target[union.name] = { case: found.case, value: readValue(found.value, value, depth, options) };
  return true;
}

/** isNumberList reports whether a list is meant as numbers. Another item in it is then the fault. */
function isNumberList(value: JsonValue): boolean {
  return Array.isArray(value) && typeof value[0] === "number";
}

/** isFutureWord reports whether a value is an unknown word of an open enum, or an object in place of an open string. */
function isFutureWord({ open, value: plan }: { open: boolean; value: ValuePlan }, value: JsonValue): boolean {
  if (!open) return false;
  if (plan.kind === "string") return jsonType(value) === "object";
  return plan.kind === "enum" && typeof value === "string" && !plan.numbers.has(value);
}

function readShape(field: FieldPlan, value: JsonValue, depth: number, options: ReadOptions): unknown {
  if (field.shape === "one") return readValue(field.value, value, depth, options);
  if (field.shape === "list") {
    if (!Array.isArray(value)) throw expected("a list", value);
    if (field.value.kind === "message") checkCount(value.length);
    return readList(field.value, value, depth, options);
  }
  if (jsonType(value) !== "object") throw expected("an object", value);
  return readMap(field.value, value as JsonObject, depth, options);
}

function readMap(plan: ValuePlan, json: JsonObject, depth: number, options: ReadOptions): Target {
  const read: Target = {};
  const keys = Object.keys(json);
  checkCount(keys.length);
  for (const key of keys) {
    try {
      checkKey(key);
      read[key] = readValue(plan, json[key] as JsonValue, depth + 1, options);
    } catch (fault) {
      throw fault instanceof WireFault ? fault.under(key) : fault;
    }
  }
  return read;
}

function readList(plan: ValuePlan, list: readonly JsonValue[], depth: number, options: ReadOptions): unknown[] {
  const read: unknown[] = [];
  try {
    for (const item of list) read.push(readValue(plan, item, depth + 1, options));
  } catch (fault) {
    throw fault instanceof WireFault ? fault.under(read.length) : fault;
  }
  return read;
}

function readValue(plan: ValuePlan, value: JsonValue, depth: number, options: ReadOptions): unknown {
  switch (plan.kind) {
    case "string":
      if (typeof value !== "string") throw expected("a string", value);
      // Some vendors cut a stream inside a character. Half a character is lost, not the text.
      if (options.lenient) return value.toWellFormed();
      checkText(value);
      return value;
    case "boolean":
      if (typeof value !== "boolean") throw expected("true or false", value);
      return value;
    case "bytes":
      if (typeof value !== "string") throw expected("base64", value);
      return Buffer.from(value, "base64");
    case "double":
      if (typeof value !== "number") throw expected("a number", value);
      checkNumber(value);
      return value;
    case "integer":
      if (!Number.isInteger(value) || (value as number) < plan.min || (value as number) > plan.max) {
        throw expectedInteger(`a whole number from ${plan.min} to ${plan.max}`, value);
      }
      return plan.big ? BigInt(value as number) : value;
    case "decimal": {
      if (typeof value !== "string" && typeof value !== "number") throw expected("a decimal", value);
      if (typeof value === "number") checkNumber(value);
      const read = parseDecimal(typeof value === "number" ? decimalText(value) : value, plan.places);
      if ("fault" in read) throw new WireFault("value", `expected ${read.fault}`);
      return BigInt(read.value);
    }
    case "timestamp": {
      const form = "a moment as 2030-01-31T12:00:00Z";
      if (typeof value !== "string") throw expected(form, value);
      const moment = readTimestamp(value);
      if (!moment) throw new WireFault("value", `expected ${form}`);
      return moment;
    }
    case "enum": {
      if (typeof value !== "string") throw expected(wordsOf(plan.numbers), value);
      const number = plan.numbers.get(value);
      if (number === undefined) throw new WireFault("value", `expected ${wordsOf(plan.numbers)}`);
      return number;
    }
    case "message":
      return readPlanned(plan.plan, value, depth + 1, options);
    case "raw":
      if (jsonType(value) !== "object") throw expected("an object", value);
      if (options.lenient) return wholeRaw(value, depth + 1);
      checkRaw(value, depth + 1);
      return value;
  }
}

function isEmpty(read: unknown): boolean {
  if (Array.isArray(read)) return read.length === 0;
  for (const _ in read as object) return false;
  return true;
}

function wordsOf(numbers: ReadonlyMap<string, number>): string {
  return `one of ${[...numbers.keys()].join(", ")}`;
}

const article = (type: string) => `${type === "object" ? "an" : "a"} ${type}`;

function expected(what: string, got: JsonValue): WireFault {
  const type = jsonType(got);
  return new WireFault("type", `expected ${what}, got ${type === "null" ? type : article(type)}`);
}

/** Numbers are shown in faults: none is private. */
function expectedInteger(what: string, got: JsonValue): WireFault {
  if (typeof got !== "number") return expected(what, got);
  checkNumber(got);
  return new WireFault("value", `expected ${what}, got ${got}`);
}
