/**
 * What a message says, as one text: however it was written, and through whichever door it came, the same message has the
 * same text.
 */
import type { DescMessage, JsonObject, MessageShape } from "@bufbuild/protobuf";
import type { JsonValue } from "./json.ts";
import { Wire } from "./wire.ts";

/** Reads the message, not the bytes. `without` names members that do not count. */
export function canonicalText<D extends DescMessage>(
  desc: D,
  message: MessageShape<D>,
  without: readonly string[] = [],
): string {
  const json: JsonObject = { ...Wire.ofMessage(desc, message).json() };
  for (const key of without) delete json[key];
  return JSON.stringify(sorted(json));
}

function sorted(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const keys = Object.keys(value).sort();
  return Object.fromEntries(keys.map((key) => [key, sorted(value[key] as JsonValue)]));
}
