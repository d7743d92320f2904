/**
 * ExactNumber is a number of JSON that a double cannot hold, as an id of 19 digits. `JSON.stringify` writes it with the digits that it came
 * with. It stands only in values that the gateway hands on and does not decide by (`parse-exactly.ts`): nothing calculates with it.
 *
 * Protobuf and the embedded models know doubles only: `withDoubles` makes what they get.
 */
import type { JsonValue } from "@bufbuild/protobuf";

export interface ExactNumber {
  readonly rawJSON: string;
}

/** The engine's own functions, which TypeScript does not know yet. */
const { rawJSON, isRawJSON } = JSON as unknown as {
  rawJSON(text: string): ExactNumber;
  isRawJSON(value: unknown): value is ExactNumber;
};

/** hasMade is whether this process has made one: until then no value need be looked at. */
let hasMade = false;

/** exactNumber returns a number as it is written. The text must be one of JSON. */
export function exactNumber(written: string): JsonValue {
  hasMade = true;
  // JSON's type has no name for it. `isObject` and `jsonType` take it for what it is.
  return rawJSON(written) as unknown as JsonValue;
}

/** isExactNumber tells an exact number from all other values, of which objects look like it. */
export function isExactNumber(value: unknown): value is ExactNumber {
  return hasMade && isRawJSON(value);
}

/** doubleOf returns the nearest double to a number; undefined for any other value. */
export function doubleOf(value: JsonValue | undefined): number | undefined {
  if (isExactNumber(value)) return Number(value.rawJSON);
  return typeof value === "number" ? value : undefined;
}

/** withDoubles returns a value or a message with doubles in place of exact numbers; the same one where there are none. */
export function withDoubles<T>(value: T): T {
  return hasMade ? (doublesIn(value) as T) : value;
}

function doublesIn(value: unknown): unknown {
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return value;
  if (isExactNumber(value)) return Number(value.rawJSON);
  let copy: Record<string, unknown> | undefined;
  for (const key of Object.keys(value)) {
    const member = (value as Record<string, unknown>)[key];
    const made = doublesIn(member);
    if (made === member) continue;
    copy ??= (Array.isArray(value) ? [...value] : { ...value }) as Record<string, unknown>;
    copy[key] = made;
  }
  return copy ?? value;
}
