/** Measures JSON values, and stops where they are larger than may be: that bounds the work of whoever changes them. */
import type { JsonValue } from "@bufbuild/protobuf";

/**
 * mostParts is how many values a schema may have that is changed: four milliseconds of work. No vendor is known to take one of so many
 * (OpenAI: 5,000 properties), so a longer one goes to its server as it came.
 */
const mostParts = 10_000;

/** isHuge reports whether a schema is too long to be changed. */
export function isHuge(schema: JsonValue): boolean {
  return partsAfter(schema, mostParts) < 0;
}

function partsAfter(value: JsonValue, most: number): number {
  let left = most - 1;
  if (typeof value !== "object" || value === null) return left;
  if (Array.isArray(value)) {
    for (const item of value) {
      if (left < 0) return left;
      left = partsAfter(item, left);
    }
    return left;
  }
  for (const name in value) {
    if (left < 0) return left;
    left = partsAfter(value[name] as JsonValue, left);
  }
  return left;
}

/** Each value, and each name, counts so much beside its characters. */
const each = 8;

/** Subtracts the size of a value from a room, in characters or so. Stops below 0. */
export function roomAfter(value: JsonValue, room: number): number {
  let left = room - each;
  if (typeof value === "string") return left - value.length;
  if (typeof value !== "object" || value === null) return left;
  if (Array.isArray(value)) {
    for (const item of value) {
      if (left < 0) return left;
      left = roomAfter(item, left);
    }
    return left;
  }
  for (const name in value) {
    left = roomAfter(value[name] as JsonValue, left - name.length - each);
    if (left < 0) return left;
  }
  return left;
}
