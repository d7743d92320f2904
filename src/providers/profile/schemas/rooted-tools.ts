/**
 * Functions as OpenAI takes them: the root of their parameters is an object without combinations, and their patterns are
 * those of its regular expressions. It refuses a whole request otherwise, for one tool of an MCP server.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { type CooperativeTask, endsSlice } from "../../../runtime/cooperative.ts";
import { isObject, mappedByTasks } from "../../../wire/json.ts";
import { described, mapKeywords, rootSchema, valueKeywords } from "./root-schema.ts";

/** rootedTools returns the tools; the same list where they can stay as they are. `path` is the list's. */
export function* rootedTools(tools: JsonValue[], path: string, dropped: string[]): CooperativeTask<JsonValue[]> {
  return yield* mappedByTasks(tools, function* (tool, i) {
    return isObject(tool) ? yield* rootedTool(tool, `${path}[${i}]`, dropped) : tool;
  });
}

/** rootedItems fits the tools of the items of a response's input, and returns the same list where they can stay as they are. */
export function* rootedItems(input: JsonValue[], dropped: string[]): CooperativeTask<JsonValue[]> {
  return yield* mappedByTasks(input, function* (item, i) {
    return isObject(item) && Array.isArray(item.tools) ? yield* withTools(item, `input[${i}]`, dropped) : item;
  });
}

function* rootedTool(tool: JsonObject, path: string, dropped: string[]): CooperativeTask<JsonObject> {
  const { function: called, parameters, tools } = tool;
  if (Array.isArray(tools)) return yield* withTools(tool, path, dropped);
  if (isObject(called) && isObject(called.parameters)) {
    const schema = yield* rooted(called.parameters, `${path}.function.parameters`, dropped);
    return schema === called.parameters ? tool : { ...tool, function: { ...called, parameters: schema } };
  }
  if (tool.type !== "function" || !isObject(parameters)) return tool;
  const schema = yield* rooted(parameters, `${path}.parameters`, dropped);
  return schema === parameters ? tool : { ...tool, parameters: schema };
}

/** withTools fits the tools that a namespace, or an item, has of its own. */
function* withTools(holder: JsonObject, path: string, dropped: string[]): CooperativeTask<JsonObject> {
  const { tools } = holder;
  const fitted = yield* rootedTools(tools as JsonValue[], `${path}.tools`, dropped);
  return fitted === tools ? holder : { ...holder, tools: fitted };
}

/** refusedAtRoot are the keywords that say nothing of an object, and are refused at the root. */
const refusedAtRoot = ["enum", "not"] as const;

function* rooted(schema: JsonObject, path: string, dropped: string[]): CooperativeTask<JsonObject> {
  const root = rootSchema(schema, (keyword) => dropped.push(`${path}.${keyword}`));
  const found = refusedAtRoot.filter((keyword) => root[keyword] !== undefined);
  for (const keyword of found) dropped.push(`${path}.${keyword}`);
  const plain = found.length === 0 ? root : without(root, found);
  return hasForeign(plain) ? ((yield* portable(plain, path, dropped)) as JsonObject) : plain;
}

function without(schema: JsonObject, keywords: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(schema).filter(([key]) => !keywords.includes(key)));
}

/** foreign finds properties and points of Unicode, and names of groups, as Python does not write them. */
const foreign = /\\[pP]\{|\\u\{|\(\?<[A-Za-z_]/;

function hasForeign(value: JsonValue): boolean {
  if (Array.isArray(value)) return value.some(hasForeign);
  if (!isObject(value)) return false;
  for (const key in value) {
    const member = value[key] as JsonValue;
    if (typeof member === "string") {
      if (key === "pattern" && foreign.test(member)) return true;
    } else if (hasForeign(member)) return true;
  }
  return false;
}

/**
 * portable moves patterns that the server cannot read into descriptions. `isMap` says that the keys are names, of properties or
 * definitions.
 */
function* portable(value: JsonValue, path: string, dropped: string[], isMap = false): CooperativeTask<JsonValue> {
  if (Array.isArray(value)) return yield* mappedByTasks(value, (one, i) => portable(one, `${path}[${i}]`, dropped));
  if (!isObject(value)) return value;
  const members: [string, JsonValue][] = [];
  for (const [key, member] of Object.entries(value)) {
    if (endsSlice(members.length)) yield;
    const isKept = !isMap && valueKeywords.has(key);
    const isMapped = !isMap && mapKeywords.has(key);
    members.push([key, isKept ? member : yield* portable(member, `${path}.${key}`, dropped, isMapped)]);
  }
  const schema = members.every(([key, member]) => member === value[key]) ? value : Object.fromEntries(members);
  return isMap ? schema : withoutForeign(schema, path, dropped);
}

function withoutForeign(schema: JsonObject, path: string, dropped: string[]): JsonObject {
  const { pattern } = schema;
  if (typeof pattern !== "string" || !foreign.test(pattern)) return schema;
  dropped.push(`${path}.pattern`);
  return described(without(schema, ["pattern"]), { pattern });
}
