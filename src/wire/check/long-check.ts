/** The quick check of a long request, in time slices. It accepts what `quick-check.ts` accepts. */
import type { DescMessage } from "@bufbuild/protobuf";
import type { CooperativeTask } from "../../runtime/cooperative.ts";
import { WireFault } from "../fault.ts";
import { checkCount, checkKey, checkRawInSlices, type JsonObject, type JsonValue, type VisitCount } from "../json.ts";
import { checkSpelling } from "../read.ts";
import { isExactNumber } from "../scan/exact-number.ts";
import { isValidValue, maxCheckedDepth } from "./quick-check.ts";
import { type ObjectSchema, schemaOf, type ValueSchema } from "./value-schema.ts";

/** Values checked between two yields: some tenths of a millisecond. */
const valuesPerSlice = 4096;

/** isLongSurelyValid reports whether the request is surely valid. `walked` counts the values visited. */
export function* isLongSurelyValid(
  desc: DescMessage,
  json: JsonObject,
  walked: VisitCount = { visited: 0 },
): CooperativeTask<boolean> {
  try {
    return yield* isValidInSlices(schemaOf(desc), json, 0, walked);
  } catch (fault) {
    if (fault instanceof WireFault) return false;
    throw fault;
  }
}

function* isValidInSlices(
  schema: ValueSchema,
  value: JsonValue,
  depth: number,
  walked: VisitCount,
): CooperativeTask<boolean> {
  if (++walked.visited % valuesPerSlice === 0) yield;
  if (typeof value !== "object" || value === null || isExactNumber(value)) return isValidValue(schema, value, depth);
  if (Array.isArray(value)) return yield* isValidList(schema, value, depth, walked);
  return schema.object !== undefined && (yield* isValidObject(schema.object, value, depth, walked));
}

function* isValidList(
  { list, numbers }: ValueSchema,
  value: readonly JsonValue[],
  depth: number,
  walked: VisitCount,
): CooperativeTask<boolean> {
  const of = numbers !== undefined && typeof value[0] === "number" ? numbers : list;
  if (of === undefined) return false;
  if (of.isOfMessages) checkCount(value.length);
  for (const item of value) {
    // A generator for each of a million numbers would cost more than the numbers do.
    if (typeof item === "object") {
      if (!(yield* isValidInSlices(of.item, item, depth + 1, walked))) return false;
      continue;
    }
    if (++walked.visited % valuesPerSlice === 0) yield;
    if (!isValidValue(of.item, item, depth + 1)) return false;
  }
  return of.bounds === undefined || of.bounds(value);
}

/** `depth` is that of the enclosing message. */
function* isValidObject(
  object: ObjectSchema,
  value: JsonObject,
  depth: number,
  walked: VisitCount,
): CooperativeTask<boolean> {
  const { plan } = object;
  if (plan === undefined) return yield* isValidMap(object, value, depth, walked);
  if (depth > maxCheckedDepth) return false;
  let missing = object.required;
  const keys = Object.keys(value);
  for (const key of keys) {
    const member = value[key] as JsonValue;
    const at = object.members.get(key);
    if (at === undefined) {
      checkSpelling(plan, key);
      yield* checkRawInSlices(member, depth + 2, walked);
    } else if (member === null) {
      if (!at.isNullable) return false;
    } else if (!(yield* isValidInSlices(at.schema, member, depth + 1, walked))) return false;
    else if (at.isRequired) missing--;
  }
  checkCount(keys.length);
  return missing === 0;
}

/** isValidMap checks a map, or an object that no schema describes. */
function* isValidMap(
  { value: schema, bounds }: ObjectSchema,
  map: JsonObject,
  depth: number,
  walked: VisitCount,
): CooperativeTask<boolean> {
  if (schema === undefined) {
    yield* checkRawInSlices(map, depth + 1, walked);
    return true;
  }
  const keys = Object.keys(map);
  checkCount(keys.length);
  for (const key of keys) {
    checkKey(key);
    if (!(yield* isValidInSlices(schema, map[key] as JsonValue, depth + 1, walked))) return false;
  }
  return bounds === undefined || bounds(map);
}
