/** JSON objects with optional members. */
import type { JsonObject, JsonValue } from "../wire/json.ts";

/** definedFields returns an object of the members that are defined. */
export function definedFields(fields: Readonly<Record<string, JsonValue | undefined>>): JsonObject {
  const json: JsonObject = {};
  for (const [key, value] of Object.entries(fields)) if (value !== undefined) json[key] = value;
  return json;
}
