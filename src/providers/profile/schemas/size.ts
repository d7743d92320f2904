/** Measures JSON values, and stops where they are larger than may be. */
import type { JsonValue } from "@bufbuild/protobuf";

/** Each value, and each name, counts so much beside its characters. */
const each = 8;

/** mostRepeated is how much of a function's schema may be repeated: a reference to a long schema takes few bytes. */
export const mostRepeated = 262_144;

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
