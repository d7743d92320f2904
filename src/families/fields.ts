/**
 * Objects of public JSON, of which some fields may be unset.
 */
import type { JsonObject, JsonValue } from "../wire/json.ts";

/** Returns an object with those of the fields that are set. */
export function definedFields(fields: Readonly<Record<string, JsonValue | undefined>>): JsonObject {
  const json: JsonObject = {};
  for (const [key, value] of Object.entries(fields)) if (value !== undefined) json[key] = value;
  return json;
}
