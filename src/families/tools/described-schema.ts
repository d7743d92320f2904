/** The schema of a `response_format`. */
import { isObject, type JsonObject } from "../../wire/json.ts";

/**
 * describedSchema returns the schema with its name and what else is told of it: in `json_schema`, as OpenAI's chat has it, or beside the type,
 * as responses and other servers of chat have it. Undefined without a schema.
 */
export function describedSchema({ type: _, json_schema: within, ...beside }: JsonObject): JsonObject | undefined {
  if (isObject(within)) return within;
  return isObject(beside.schema) ? beside : undefined;
}
