/** The offered tools, nested in chat and flat in responses, and the choice among them. */
import type { CooperativeTask } from "../../../runtime/cooperative.ts";
import {
  definedFields,
  isObject,
  type JsonObject,
  type JsonValue,
  listOrEmpty,
  objectsIn,
} from "../../../wire/json.ts";
import type { Dropped } from "../../paths/dropped.ts";
import { madeFrom } from "../../paths/origins.ts";
import { repairedSchema } from "../../tools/repaired-schema.ts";
import type { IsUnpriced, TranslationContext } from "../../translation.ts";

type Context = Pick<TranslationContext, "customTools" | "isUnpriced">;

/** `customTools` says that the server supports more than functions, and so web search, too. */
export function* toolsOf(
  chat: JsonObject,
  { customTools, isUnpriced }: Context,
  dropped: Dropped,
): CooperativeTask<JsonObject[]> {
  const { tools, functions, web_search_options: search } = chat;
  const flat: JsonObject[] = [];
  for (const [i, tool] of listOrEmpty(tools).entries()) {
    yield;
    flat.push(...flatTool(tool, `tools[${i}]`, isUnpriced, dropped));
  }
  for (const [i, tool] of listOrEmpty(functions).entries()) {
    yield;
    flat.push(...flatFunction(tool, `functions[${i}]`, dropped));
  }
  if (isObject(search)) {
    if (customTools) flat.push(searchTool(search, dropped));
    else dropped.add("web_search_options");
  }
  return flat;
}

function flatTool(tool: JsonValue, path: string, isUnpriced: IsUnpriced | undefined, dropped: Dropped): JsonObject[] {
  if (!isObject(tool)) return [];
  const { type = null, function: called, custom, ...more } = tool;
  if (isObject(custom)) {
    dropped.addExtra(more, path);
    const { name, description, format, ...rest } = custom;
    dropped.addExtra(rest, `${path}.custom`);
    return [definedFields({ type: "custom", name, description, format: flatFormat(format) })];
  }
  if (isObject(called) && (type === null || type === "function")) {
    dropped.addExtra(more, path);
    return flatFunction(called, `${path}.function`, dropped);
  }
  // A tool that the vendor runs. Chat callers name it as responses do.
  const isVendors = typeof type === "string" && type !== "function" && type !== "custom" && !isObject(called);
  if (isVendors && !isUnpriced?.(tool)) return [tool];
  dropped.add(path);
  return [];
}

/** Responses enforce a function's schema by default; chat does not. */
function flatFunction(called: JsonValue, path: string, dropped: Dropped): JsonObject[] {
  if (!isObject(called)) return [];
  const { name, description, parameters, strict, ...more } = called;
  dropped.addExtra(more, path);
  const schema = isObject(parameters)
    ? repairedSchema(parameters, `${path}.parameters`, (lost) => dropped.add(lost))
    : { type: "object", properties: {} };
  const flat = definedFields({ type: "function", name, description, parameters: schema, strict: strict ?? false });
  return [madeFrom(path, flat)];
}

function flatFormat(format: JsonValue | undefined): JsonValue | undefined {
  if (!isObject(format)) return undefined;
  const { grammar, ...rest } = format;
  return isObject(grammar) ? { ...rest, ...grammar } : format;
}

function searchTool({ search_context_size, user_location: place, ...more }: JsonObject, dropped: Dropped): JsonObject {
  dropped.addExtra(more, "web_search_options");
  const approximate = isObject(place) && isObject(place.approximate) ? place.approximate : undefined;
  return definedFields({
    type: "web_search",
    search_context_size,
    user_location: approximate ? { type: "approximate", ...approximate } : undefined,
  });
}

export function choiceOf(
  { tool_choice: choice, function_call: legacy }: JsonObject,
  { isUnpriced }: Context,
  dropped: Dropped,
) {
  if (typeof choice === "string") return choice;
  if (isObject(choice) && isUnpriced?.(choice)) {
    dropped.add("tool_choice");
    return undefined;
  }
  if (isObject(choice)) return flatChoice(choice, dropped);
  if (typeof legacy === "string") return legacy;
  return isObject(legacy) ? definedFields({ type: "function", name: legacy.name }) : undefined;
}

function flatChoice(choice: JsonObject, dropped: Dropped): JsonObject | undefined {
  const { type, allowed_tools: allowed } = choice;
  if (!isObject(allowed)) {
    const named = flatName(choice);
    if (!named) dropped.add("tool_choice");
    return named;
  }
  const tools = objectsIn(allowed.tools);
  return definedFields({ type, mode: allowed.mode, tools: tools.map(flatName).filter((tool) => tool !== undefined) });
}

/** flatName returns the chosen tool. Some callers write its name beside the type, as responses do. */
function flatName({ type, function: called, custom, name }: JsonObject): JsonObject | undefined {
  const inner = isObject(called) ? called.name : isObject(custom) ? custom.name : name;
  if (typeof inner === "string") return { type: type ?? "function", name: inner };
  return typeof type === "string" && type !== "function" && type !== "custom" ? { type } : undefined;
}
