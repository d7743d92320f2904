/** Reads counts that upstreams report. Counts become money, so a value that is no count is ignored. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isObject } from "../../wire/json.ts";

/**
 * The largest count that is accepted; no call comes near it. Larger values are reduced to it, so that sums of counts
 * and of money stay exact.
 */
export const maxCount = 1e9;

/** countOf returns a whole number from 0, or undefined. */
export function countOf(value: JsonValue | undefined): number | undefined {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : undefined;
}

/** isBrokenCount reports whether a value stands in the place of a count and is none. */
export function isBrokenCount(value: JsonValue | undefined): boolean {
  return value !== undefined && value !== null && countOf(value) === undefined;
}

/** greatestOf returns the greatest of the values that are counts; 0 without any. */
export function greatestOf(...values: readonly (JsonValue | undefined)[]): number {
  let greatest = 0;
  for (const value of values) greatest = Math.max(greatest, countOf(value) ?? 0);
  return greatest;
}

/** membersOf returns an object unchanged, and an empty one for any other value. */
export function membersOf(value: JsonValue | undefined): JsonObject {
  return isObject(value) ? value : nothing;
}

const nothing: JsonObject = {};
