/**
 * The counts that upstreams tell. They become money: what is no count is none, as if it had not been told.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isObject } from "../../wire/json.ts";

/**
 * The most of any count that is believed: no call comes near it. What is told beyond that is taken for this, so that no sum of
 * counts or of money becomes one that cannot be counted exactly.
 */
export const maxCount = 1e9;

/** Returns a whole number from 0 on, or undefined for anything else. */
export function countOf(value: JsonValue | undefined): number | undefined {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : undefined;
}

/** Returns the greatest of those that are counts; 0 where none is. */
export function greatestOf(...values: readonly (JsonValue | undefined)[]): number {
  let greatest = 0;
  for (const value of values) greatest = Math.max(greatest, countOf(value) ?? 0);
  return greatest;
}

/** Returns a value as an object: one without members where it is none. */
export function membersOf(value: JsonValue | undefined): JsonObject {
  return isObject(value) ? value : nothing;
}

const nothing: JsonObject = {};
