/**
 * A tool call's arguments as a model writes them → the input that a Messages client gets.
 *
 * Models write invalid JSON at times. That must not cost the caller the answer: what is no JSON object, or one that
 * the gateway could not write again, stands as text in `_raw`.
 */
import { checkRaw, type JsonObject, type JsonValue, jsonType } from "../../wire/json.ts";

/** The depth at which an input stands in an answer. */
const depth = 4;

export function inputOf(written: string): JsonObject {
  if (written.trim() === "") return {};
  return objectIn(written) ?? { _raw: written };
}

/** Whether the text is a whole JSON object: nothing can be added to it any more. */
export function isWholeInput(written: string): boolean {
  return written.trimEnd().endsWith("}") && parsed(written) !== undefined;
}

function objectIn(written: string): JsonObject | undefined {
  const value = parsed(written);
  if (value === null) return {};
  if (value === undefined || jsonType(value) !== "object") return undefined;
  try {
    checkRaw(value, depth);
    return value as JsonObject;
  } catch {
    return undefined;
  }
}

function parsed(written: string): JsonValue | undefined {
  try {
    return JSON.parse(written) as JsonValue;
  } catch {
    return undefined;
  }
}
