/**
 * What a message says, as one text: however it was written, and through whichever door it came, the same message has the
 * same text.
 */
import type { DescMessage, JsonObject, MessageShape } from "@bufbuild/protobuf";
import type { CooperativeTask } from "../runtime/cooperative.ts";
import type { JsonValue } from "./json.ts";
import { type TakeText, writeJson } from "./long/write-json.ts";
import { Wire } from "./wire.ts";

/** Reads the message, not the bytes. `without` names members that do not count. */
export function canonicalText<D extends DescMessage>(
  desc: D,
  message: MessageShape<D>,
  without: readonly string[] = [],
): string {
  return JSON.stringify(sorted(jsonOf(desc, message, without)));
}

/** Tells the same text part by part, in turns: it is for what is long. */
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
  if (typeof value !== "object" || value === null) return value;
  const keys = Object.keys(value).sort();
  return Object.fromEntries(keys.map((key) => [key, sorted(value[key] as JsonValue)]));
}
