/** Measures JSON values, and stops where they are larger than may be. */
import type { JsonValue } from "@bufbuild/protobuf";
import { isExactNumber } from "../../../wire/scan/exact-number.ts";

/** Weights say what the values of JSON count, the names of members, and each character of a text or a name. */
interface Weights {
  readonly value: number;
  readonly name: number;
  readonly character: number;
}

const ofSize: Weights = { value: 8, name: 8, character: 1 };

/** ofParts counts values alone. */
export const ofParts: Weights = { value: 1, name: 0, character: 0 };

/** mostRepeated is how much of a function's schema may be repeated: a reference to a long schema takes few bytes. */
export const mostRepeated = 262_144;

/** roomAfter subtracts from a room what a value counts: by default its size, in characters or so. It stops below 0. */
export function roomAfter(value: JsonValue, room: number, weights = ofSize): number {
  let left = room - weights.value;
  if (typeof value === "string") return left - value.length * weights.character;
  if (typeof value !== "object" || value === null || isExactNumber(value)) return left;
  if (Array.isArray(value)) {
    for (const item of value) {
      if (left < 0) return left;
      left = roomAfter(item, left, weights);
    }
    return left;
  }
  for (const name in value) {
    if (left < 0) return left;
    left = roomAfter(value[name] as JsonValue, left - weights.name - name.length * weights.character, weights);
  }
  return left;
}
