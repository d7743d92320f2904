/** Reads the name of a tool of chat, which stands in the function, in the custom tool, or, as in responses, beside the type. */
import { isObject, type JsonValue } from "../../wire/json.ts";

/** toolName returns undefined for a tool without a name. */
export function toolName(tool: JsonValue | undefined): string | undefined {
  if (!isObject(tool)) return undefined;
  const { name } = [tool.function, tool.custom].find(isObject) ?? tool;
  return typeof name === "string" ? name : undefined;
}
