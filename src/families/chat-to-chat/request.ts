/** The tools, the choice among them and the calls of a chat request, as functions. */

import { toolName } from "../../call/tools/tool-name.ts";
import type { CooperativeTask } from "../../runtime/cooperative.ts";
import {
  definedFields,
  isObject,
  type JsonObject,
  type JsonValue,
  listOrEmpty,
  mappedInSlices,
} from "../../wire/json.ts";
import type { Changes } from "../../wire/splice.ts";
import { wrappedText, wrappedTool } from "../tools/wrapped-tool.ts";

export interface FunctionsOnly {
  readonly changes: Changes;
  /** The names of the custom tools. */
  readonly custom: ReadonlySet<string>;
  /** The paths of what was dropped. */
  readonly dropped: readonly string[];
}

export function* functionsOnly(json: JsonObject): CooperativeTask<FunctionsOnly> {
  const { messages, tools, tool_choice: choice } = json;
  const all = listOrEmpty(tools);
  const custom = new Set<string>();
  const dropped: string[] = [];
  const functions = all.map((tool, i) => {
    const own = isObject(tool) && isObject(tool.custom) ? tool.custom : undefined;
    if (!own) return tool;
    if (typeof own.name === "string") custom.add(own.name);
    if (isObject(own.format) && own.format.type !== "text") dropped.push(`tools[${i}].custom.format`);
    return functionOf(tool as JsonObject, own);
  });
  const allowed = allowedIn(choice);
  const offered = allowed ? functions.filter((tool) => allowed.names.has(toolName(tool))) : functions;
  const changes: Record<string, JsonValue | undefined> = { tools: offered };
  if (allowed) changes.tool_choice = allowed.mode;
  else if (isObject(choice) && choice.type === "custom") changes.tool_choice = functionChoice(choice);
  if (Array.isArray(messages) && custom.size > 0) changes.messages = yield* mappedInSlices(messages, withFunctionCalls);
  return { changes, custom, dropped };
}

function functionOf(
  { custom: _, ...rest }: JsonObject,
  { name, description, format, ...more }: JsonObject,
): JsonObject {
  const told = typeof description === "string" ? description : undefined;
  const { description: whole, parameters } = wrappedTool(told, isObject(format) ? format : undefined);
  return {
    ...rest,
    type: "function",
    function: { ...more, ...definedFields({ name, description: whole, parameters }) },
  };
}

function functionChoice({ custom }: JsonObject): JsonObject {
  return { type: "function", function: isObject(custom) ? { ...custom } : {} };
}

/** allowedIn returns the only tools that may be called now; undefined where all may. */
function allowedIn(choice: JsonValue | undefined) {
  const list = isObject(choice) && choice.type === "allowed_tools" ? choice.allowed_tools : undefined;
  if (!isObject(list) || !Array.isArray(list.tools)) return undefined;
  return { mode: list.mode === "required" ? "required" : "auto", names: new Set(list.tools.map(toolName)) };
}

function withFunctionCalls(message: JsonValue): JsonValue {
  const calls = isObject(message) ? listOrEmpty(message.tool_calls) : [];
  const isChanged = calls.some((call) => isObject(call) && isObject(call.custom));
  return isChanged ? { ...(message as JsonObject), tool_calls: calls.map(functionCall) } : message;
}

function functionCall(call: JsonValue): JsonValue {
  if (!isObject(call) || !isObject(call.custom)) return call;
  const { custom, ...rest } = call;
  const { name = "", input } = custom as JsonObject;
  const text = wrappedText(typeof input === "string" ? input : "");
  return { ...rest, type: "function", function: { name, arguments: text } };
}
