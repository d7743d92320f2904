/**
 * A quick check of a request's JSON. It accepts most valid requests without building a message, and refuses nothing:
 * whatever it does not accept is left to the reader and the validator.
 */
import type { DescMessage } from "@bufbuild/protobuf";
import { WireFault } from "../fault.ts";
import { checkCount, checkKey, checkRaw, type JsonObject, type JsonValue, maxDepth } from "../json.ts";
import { checkUnnamed } from "../read.ts";
import { isExactNumber } from "../scan/exact-number.ts";
import { type NumberSchema, type ObjectSchema, schemaOf, type TextSchema, type ValueSchema } from "./value-schema.ts";

/** isSurelyValidRequest reports whether the request is surely valid for this message type. */
export function isSurelyValidRequest(desc: DescMessage, json: JsonObject): boolean {
  try {
    return isValidValue(schemaOf(desc), json, 0);
  } catch (fault) {
    if (fault instanceof WireFault) return false;
    throw fault;
  }
}

/** Deeper values are left to the reader, which counts exactly. */
export const maxCheckedDepth = maxDepth / 2;

export function isValidValue(schema: ValueSchema, value: JsonValue, depth: number): boolean {
  switch (typeof value) {
    case "string":
      return schema.text !== undefined && isValidText(schema.text, value);
    case "number":
      return schema.number !== undefined && isValidNumber(schema.number, value);
    case "boolean":
      return schema.isBoolean;
    case "object":
      if (value === null || isExactNumber(value)) return false;
      if (Array.isArray(value)) return isValidList(schema, value, depth);
      return schema.object !== undefined && isValidObject(schema.object, value, depth);
  }
  return false;
}

function isValidText({ words, known, bounds }: TextSchema, value: string): boolean {
  if (words?.has(value)) return true;
  if (words && (!known || known.has(value))) return false;
  return value.isWellFormed() && (bounds === undefined || bounds(value));
}

function isValidNumber({ isWhole, min, max, bounds }: NumberSchema, value: number): boolean {
  const isRight = isWhole ? Number.isInteger(value) && value >= min && value <= max : Number.isFinite(value);
  return isRight && (bounds === undefined || bounds(value));
}

function isValidList({ list, numbers }: ValueSchema, value: readonly JsonValue[], depth: number): boolean {
  const of = numbers !== undefined && typeof value[0] === "number" ? numbers : list;
  if (of === undefined) return false;
  if (of.isOfMessages) checkCount(value.length);
  for (let i = 0; i < value.length; i++) if (!isValidValue(of.item, value[i] as JsonValue, depth + 1)) return false;
  return of.bounds === undefined || of.bounds(value);
}

/** `depth` is that of the enclosing message. */
function isValidObject(object: ObjectSchema, value: JsonObject, depth: number): boolean {
  if (object.plan === undefined) return isValidMap(object, value, depth);
  if (depth > maxCheckedDepth) return false;
  let missing = object.required;
  let count = 0;
  for (const key in value) {
    count++;
    const member = value[key] as JsonValue;
    const at = object.members.get(key);
    if (at === undefined) checkUnnamed(object.plan, key, member, depth + 1);
    else if (member === null ? !at.isNullable : !isValidValue(at.schema, member, depth + 1)) return false;
    else if (at.isRequired) missing--;
  }
  checkCount(count);
  return missing === 0;
}

/** isValidMap checks a map, or an object that no schema describes. */
function isValidMap({ value: schema, bounds }: ObjectSchema, map: JsonObject, depth: number): boolean {
  if (schema === undefined) {
    checkRaw(map, depth + 1);
    return true;
  }
  const keys = Object.keys(map);
  checkCount(keys.length);
  for (const key of keys) {
    checkKey(key);
    if (!isValidValue(schema, map[key] as JsonValue, depth + 1)) return false;
  }
  return bounds === undefined || bounds(map);
}
