/**
 * The canonical JSON text of a message. Equal messages have the same text, however they were written and through
 * whichever door they came.
 */
import type { DescMessage, JsonObject, MessageShape } from "@bufbuild/protobuf";
import type { CooperativeTask } from "../runtime/cooperative.ts";
import type { JsonValue } from "./json.ts";
import { type TakeText, writeJson } from "./long/write-json.ts";
import { isExactNumber } from "./scan/exact-number.ts";
import { Wire } from "./wire.ts";

/** canonicalText returns the canonical text. `without` names top-level members to leave out. */
export function canonicalText<D extends DescMessage>(
  desc: D,
  message: MessageShape<D>,
  without: readonly string[] = [],
): string {
  return JSON.stringify(sorted(jsonOf(desc, message, without)));
}

/** writeCanonical writes the same text part by part, in time slices, for long messages. */
export function* writeCanonical<D extends DescMessage>(
  desc: D,
  message: MessageShape<D>,
  without: readonly string[],
  take: TakeText,
): CooperativeTask<void> {
  yield* writeJson(jsonOf(desc, message, without), take, true);
}

function jsonOf<D extends DescMessage>(desc: D, message: MessageShape<D>, without: readonly string[]): JsonObject {
  const json: JsonObject = { ...Wire.ofMessage(desc, message).json() };
  for (const key of without) delete json[key];
  return json;
}

function sorted(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null || isExactNumber(value)) return value;
  const keys = Object.keys(value).sort();
  return Object.fromEntries(keys.map((key) => [key, sorted(value[key] as JsonValue)]));
}
