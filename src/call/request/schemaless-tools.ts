/**
 * Tools without a schema, for servers that take none without: functions of a chat that take nothing, and tools of a vendor in a request for a
 * message, which have a type alone. Of these such as the caller runs get the arguments that it expects; nobody would run the others there.
 */
import { isObject, type JsonObject, type JsonValue, listOrEmpty } from "../../wire/json.ts";
import type { Changes } from "../../wire/splice.ts";
import { clientToolOf } from "../tools/client-tools.ts";
import { toolName } from "../tools/tool-name.ts";

/** hasSchemaless reports whether a request, which may be an outline, has such tools. `type` is theirs in a chat; null in a request for a message. */
export function hasSchemaless({ tools }: JsonObject, type: JsonValue): boolean {
  return listOrEmpty(tools).some(schemalessTest(type));
}

/**
 * withSchemas returns the changes by which all such tools have a schema, and a choice is of one that is there. What is left out is added to
 * `dropped`.
 */
export function withSchemas({ tools, tool_choice: choice }: JsonObject, type: JsonValue, dropped: string[]): Changes {
  const isSchemaless = schemalessTest(type);
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

type TypedTool = JsonObject & { readonly type: string };

/** schemalessTest returns what reports a tool without a schema. A vendor's own tools have none in a chat, and are its server's to refuse. */
function schemalessTest(of: JsonValue): (tool: JsonValue) => tool is TypedTool {
  return (tool): tool is TypedTool => {
    if (!isObject(tool) || typeof tool.type !== "string" || tool.type === "custom") return false;
    if (of === null) return !isObject(tool.input_schema);
    return tool.type === of && isObject(tool.function) && !isObject(tool.function.parameters);
  };
}

function withSchema(tool: TypedTool): JsonObject | undefined {
  const parametersOfNone = { type: "object", properties: {} };
  if (isObject(tool.function)) return { ...tool, function: { ...tool.function, parameters: parametersOfNone } };
  const known = clientToolOf(tool);
  const { name = null, cache_control: mark } = tool;
  if (!known || name === null) return undefined;
  const { description, parameters } = known;
  return { name, description, input_schema: parameters, ...(mark ? { cache_control: mark } : {}) };
}
