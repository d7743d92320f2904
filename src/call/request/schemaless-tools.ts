/**
 * Tools without a schema, for servers that take none without: functions of a chat that take nothing, and tools of a vendor in a request for a
 * message, which have a type alone. Of these such as the caller runs get the arguments that it expects; nobody would run the others there.
 */
import { isObject, type JsonObject, type JsonValue, listOrEmpty } from "../../wire/json.ts";
import type { Changes } from "../../wire/splice.ts";
import { clientToolOf } from "../tools/client-tools.ts";
import { toolName } from "../tools/tool-name.ts";

/** hasSchemaless reports whether a request, which may be an outline, has such tools. */
export function hasSchemaless({ tools }: JsonObject): boolean {
  return listOrEmpty(tools).some(isSchemaless);
}

/** withSchemas returns the changes by which all tools have a schema, and a choice is of one of these. What is left out is added to `dropped`. */
export function withSchemas({ tools, tool_choice: choice }: JsonObject, dropped: string[]): Changes {
  if (!listOrEmpty(tools).some(isSchemaless)) return {};
  const kept = listOrEmpty(tools).flatMap((tool, i) => {
    const described = isSchemaless(tool) ? withSchema(tool) : tool;
    if (described === undefined) dropped.push(`tools[${i}]`);
    return described ?? [];
  });
  const isOther = isObject(choice) && choice.type === "tool" && !kept.some((tool) => toolName(tool) === choice.name);
  const isLost = isObject(choice) && (isOther || kept.length === 0);
  if (isLost && choice.type !== "auto" && choice.type !== "none") dropped.push("tool_choice");
  return { tools: kept.length > 0 ? kept : undefined, ...(isLost ? { tool_choice: undefined } : {}) };
}

function isSchemaless(tool: JsonValue): tool is JsonObject & { readonly type: string } {
  if (!isObject(tool) || typeof tool.type !== "string" || tool.type === "custom") return false;
  return isObject(tool.function) ? !isObject(tool.function.parameters) : !isObject(tool.input_schema);
}

function withSchema(tool: JsonObject & { readonly type: string }): JsonObject | undefined {
  const parametersOfNone = { type: "object", properties: {} };
  if (isObject(tool.function)) return { ...tool, function: { ...tool.function, parameters: parametersOfNone } };
  const known = clientToolOf(tool);
  const { name = null, cache_control: mark } = tool;
  if (!known || name === null) return undefined;
  const { description, parameters } = known;
  return { name, description, input_schema: parameters, ...(mark ? { cache_control: mark } : {}) };
}
