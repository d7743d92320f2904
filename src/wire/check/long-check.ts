/** The quick check of a long request, in turns: as sure as `quick-check.ts` is, of the same. */
import type { DescMessage } from "@bufbuild/protobuf";
import type { CooperativeTask } from "../../runtime/cooperative.ts";
import { WireFault } from "../fault.ts";
import { checkCount, checkKey, checkRawInTurns, type JsonObject, type JsonValue, type Walked } from "../json.ts";
import { checkSpelling } from "../read.ts";
import { type ObjectPlace, type Place, placeOf } from "./places.ts";
import { deepest, isSure } from "./quick-check.ts";

/** How many values are looked at before it may be interrupted: some tenths of a millisecond. */
const valuesATurn = 4096;

/** Whether it is sure of a request of this type. `walked` counts what is looked at. */
export function* isSureOfLong(
  desc: DescMessage,
  json: JsonObject,
  walked: Walked = { values: 0 },
): CooperativeTask<boolean> {
  try {
    return yield* isSureInTurns(placeOf(desc), json, 0, walked);
  } catch (fault) {
    if (fault instanceof WireFault) return false;
    throw fault;
  }
}

function* isSureInTurns(place: Place, value: JsonValue, depth: number, walked: Walked): CooperativeTask<boolean> {
  if (++walked.values % valuesATurn === 0) yield;
  if (typeof value !== "object" || value === null) return isSure(place, value, depth);
  if (Array.isArray(value)) return yield* isSureOfList(place, value, depth, walked);
  return place.object !== undefined && (yield* isSureOfObject(place.object, value, depth, walked));
}

function* isSureOfList(
  { list, numbers }: Place,
  value: readonly JsonValue[],
  depth: number,
  walked: Walked,
): CooperativeTask<boolean> {
  const of = numbers !== undefined && typeof value[0] === "number" ? numbers : list;
  if (of === undefined) return false;
  if (of.isOfMessages) checkCount(value.length);
  for (const item of value) {
    // A generator for each of a million numbers would cost more than they do.
    if (typeof item === "object") {
      if (!(yield* isSureInTurns(of.item, item, depth + 1, walked))) return false;
      continue;
    }
    if (++walked.values % valuesATurn === 0) yield;
    if (!isSure(of.item, item, depth + 1)) return false;
  }
  return of.bounds === undefined || of.bounds(value);
}

/** `depth` is that of the message which it stands in. */
function* isSureOfObject(
  object: ObjectPlace,
  value: JsonObject,
  depth: number,
  walked: Walked,
): CooperativeTask<boolean> {
  const { plan } = object;
  if (plan === undefined) return yield* isSureOfUnnamed(object, value, depth, walked);
  if (depth > deepest) return false;
  let missing = object.needed;
  const keys = Object.keys(value);
  for (const key of keys) {
    const member = value[key] as JsonValue;
    const at = object.members.get(key);
    if (at === undefined) {
      checkSpelling(plan, key);
      yield* checkRawInTurns(member, depth + 2, walked);
    } else if (member === null) {
      if (!at.orNull) return false;
    } else if (!(yield* isSureInTurns(at.place, member, depth + 1, walked))) return false;
    else if (at.isNeeded) missing--;
  }
  checkCount(keys.length);
  return missing === 0;
}

/** A map, or what no schema describes. */
function* isSureOfUnnamed(
  { value: place, bounds }: ObjectPlace,
  map: JsonObject,
  depth: number,
  walked: Walked,
): CooperativeTask<boolean> {
  if (place === undefined) {
    yield* checkRawInTurns(map, depth + 1, walked);
    return true;
  }
  const keys = Object.keys(map);
  checkCount(keys.length);
  for (const key of keys) {
    checkKey(key);
    if (!(yield* isSureInTurns(place, map[key] as JsonValue, depth + 1, walked))) return false;
  }
  return bounds === undefined || bounds(map);
}
