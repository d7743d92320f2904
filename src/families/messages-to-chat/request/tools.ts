/**
 * The offered tools and the choice among them.
 *
 * The caller's tools become functions, those without a schema of their own included (`call/tools/client-tools.ts`). Of the tools
 * that the vendor runs web search has a counterpart, and its search for tools is dropped, since all tools are offered;
 * any other is refused by name, since nobody would run it.
 */
import {
  type CreateMessageRequest,
  type MessageTool,
  type MessageToolChoice,
  MessageToolChoiceType,
} from "../../../../gen/modelgateway/v1/messages_pb.ts";
import { invalidValue, missingField } from "../../../call/refusals.ts";
import { clientToolOf, isVendorsSearch } from "../../../call/tools/client-tools.ts";
import type { CooperativeTask } from "../../../runtime/cooperative.ts";
import { definedFields, isObject, type JsonObject, type JsonValue, objectsIn } from "../../../wire/json.ts";
import { madeFrom } from "../../paths/origins.ts";
import { repairedSchema } from "../../tools/repaired-schema.ts";
import type { ToolNames } from "../tool-names.ts";
import { isClosed } from "./closed-schema.ts";
import type { PlacedTool } from "./offered-tools.ts";

/** toolsOf returns `tools` and `web_search_options`, where there are any. Adds the paths of what it drops to `omitted`. */
export function* toolsOf(
  tools: readonly PlacedTool[],
  names: ToolNames,
  omitted: Set<string>,
): CooperativeTask<JsonObject> {
  const functions: JsonObject[] = [];
  let search: JsonObject | undefined;
  for (const { tool, path } of tools) {
    yield;
    const known = clientToolOf(tool);
    if (known)
      functions.push(madeFrom(path, { type: "function", function: { name: nameIn(tool, path, names), ...known } }));
    else if (tool.type === undefined || tool.type === "custom")
      functions.push(functionTool(tool, path, names, omitted));
    else if (isVendorsSearch(tool)) omitted.add(path);
    else if (tool.type.startsWith("web_search_")) {
      if (search) omitted.add(path);
      search ??= madeFrom(path, searchOptions(tool));
    } else throw invalidValue(path, `the model behind this name has no tool of type '${tool.type}'`);
  }
  return definedFields({ tools: functions.length > 0 ? functions : undefined, web_search_options: search });
}

function functionTool(tool: MessageTool, path: string, names: ToolNames, omitted: Set<string>): JsonObject {
  const { description, inputSchema, strict } = tool;
  const name = nameIn(tool, path, names);
  const lost = (keyword: string) => void omitted.add(keyword);
  const parameters = parametersOf(repairedSchema(inputSchema ?? {}, `${path}.input_schema`, lost));
  const isEnforced = strict === true && isClosed(parameters);
  if (strict === true && !isEnforced) omitted.add(`${path}.strict`);
  const enforced = strict === true ? isEnforced || undefined : strict;
  const called = definedFields({ name, description, parameters, strict: enforced });
  return madeFrom(path, { type: "function", function: called });
}

/** nameIn returns the tool's name in chat. Throws a Refusal where it has none. */
function nameIn({ name }: MessageTool, path: string, names: ToolNames): string {
  if (!name) throw missingField(`${path}.name`);
  return names.toChat(name);
}

/** OpenAI requires `properties` in an object's schema; the Messages API does not. */
function parametersOf(schema: JsonObject): JsonObject {
  const isOfObject = schema.type === undefined ? Object.keys(schema).length === 0 : schema.type === "object";
  return isOfObject && schema.properties === undefined ? { type: "object", properties: {}, ...schema } : schema;
}

function searchOptions({ extra }: MessageTool): JsonObject {
  const place = extra?.user_location as JsonObject | null | undefined;
  if (typeof place !== "object" || place === null) return {};
  const { city, region, country, timezone } = place as Record<string, JsonValue | undefined>;
  return { user_location: { type: "approximate", approximate: definedFields({ city, region, country, timezone }) } };
}

/** functionsIn returns the names of the offered functions. */
export function functionsIn({ tools }: JsonObject): ReadonlySet<JsonValue | undefined> {
  const listed = objectsIn(tools);
  return new Set(listed.map(({ function: called }) => (isObject(called) ? called.name : undefined)));
}

/**
 * toolChoiceOf returns `tool_choice` and `parallel_tool_calls`. Without functions chat takes neither: a choice that demands a call is then
 * dropped, as is an unknown one, and one of a described tool that is no function, such as the vendor's search.
 */
export function toolChoiceOf(
  { toolChoice: choice, tools }: CreateMessageRequest,
  functions: ReadonlySet<JsonValue | undefined>,
  names: ToolNames,
  omitted: Set<string>,
): JsonObject {
  if (!choice) return {};
  const chosen = choiceWord(choice, names);
  const hasFunctions = functions.size > 0;
  const isOther = isObject(chosen) && !functions.has(names.toChat(choice.name ?? ""));
  const isNoFunction = isOther && tools.some(({ name }) => name === choice.name);
  const isLost = isNoFunction || (!hasFunctions && chosen !== "auto" && chosen !== "none");
  if (chosen === undefined || isLost) omitted.add("tool_choice");
  if (!hasFunctions || isNoFunction) return {};
  const one = choice.disableParallelToolUse === true && chosen !== "none";
  return definedFields({ tool_choice: chosen, parallel_tool_calls: one ? false : undefined });
}

function choiceWord({ type, name }: MessageToolChoice, names: ToolNames): JsonValue | undefined {
  switch (type) {
    case MessageToolChoiceType.AUTO:
      return "auto";
    case MessageToolChoiceType.ANY:
      return "required";
    case MessageToolChoiceType.NONE:
      return "none";
    case MessageToolChoiceType.TOOL:
      if (!name) throw missingField("tool_choice.name");
      return { type: "function", function: { name: names.toChat(name) } };
  }
  return undefined;
}
