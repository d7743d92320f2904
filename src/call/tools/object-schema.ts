/** The schema of a function's arguments. */
import type { JsonObject } from "../../wire/json.ts";

/** objectSchema returns the schema of an object with these properties. */
export function objectSchema(properties: JsonObject, required: string[]): JsonObject {
  return { type: "object", properties, required };
}
