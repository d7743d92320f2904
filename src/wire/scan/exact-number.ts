/**
 * ExactNumber is a number of JSON that a double cannot hold, as an id of 19 digits. `JSON.stringify` writes it with the digits that it came
 * with. It stands only in values that the gateway hands on and does not decide by (`parse-exactly.ts`): nothing calculates with it.
 *
 * Protobuf and the embedded models know doubles only: `withDoubles` makes what they get.
 */
import type { JsonValue } from "@bufbuild/protobuf";
import { type CooperativeTask, runNow } from "../../runtime/cooperative.ts";

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
  return hasMade ? runNow(withDoublesInSlices(value)) : value;
}

/** withDoublesInSlices does the same in time slices, for what may be long. */
export function* withDoublesInSlices<T>(value: T): CooperativeTask<T> {
  return hasMade ? ((yield* doublesIn(value, { visited: 0 })) as T) : value;
}

/** Members visited between two yields: some tenths of a millisecond. */
const membersPerSlice = 4096;

function* doublesIn(value: unknown, walked: { visited: number }): CooperativeTask<unknown> {
  if (isExactNumber(value)) return Number(value.rawJSON);
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return value;
  let copy: Record<string | number, unknown> | undefined;
  for (const key of Array.isArray(value) ? value.keys() : Object.keys(value)) {
    if (++walked.visited % membersPerSlice === 0) yield;
    const member = (value as Record<string | number, unknown>)[key];
    // A generator for each of a million numbers would cost more than the numbers do.
    if (typeof member !== "object") continue;
    const made = yield* doublesIn(member, walked);
    if (made === member) continue;
    copy ??= (Array.isArray(value) ? [...value] : { ...value }) as Record<string | number, unknown>;
    copy[key] = made;
  }
  return copy ?? value;
}
