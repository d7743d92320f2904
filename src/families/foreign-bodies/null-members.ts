/**
 * Members of turns, of their parts and calls, and of tools that are null, as clients write what they have not set: they are left out. Many
 * servers refuse them, and each further turn of the conversation with them. What a null may mean something in stays, as an answer without a
 * text, and so do inputs and schemas, which are the caller's own. Items of responses have null in many places: only their ids and states go.
 */
import { isObject, type JsonObject, type JsonValue, mappedList } from "../../wire/json.ts";

/** meaningful are the members whose null is read elsewhere, or is none of the API's. */
const meaningful: ReadonlySet<string> = new Set([
  ...["content", "text", "input", "arguments", "output", "summary", "encrypted_content", "thinking"],
  ...["parameters", "input_schema", "inputSchema", "strict", "format"],
]);

function isUnset(object: JsonObject, key: string): boolean {
  return object[key] === null && !meaningful.has(key);
}

function hasUnset(object: JsonObject): boolean {
  for (const key in object) if (isUnset(object, key)) return true;
  return false;
}

function withoutUnset(object: JsonObject): JsonObject {
  if (!hasUnset(object)) return object;
  return Object.fromEntries(Object.entries(object).filter(([key]) => !isUnset(object, key)));
}

/** hasNullMembers reports whether a turn has any, in itself, a part or a call. */
export function hasNullMembers(turn: JsonValue): boolean {
  if (!isObject(turn)) return false;
  return hasUnset(turn) || hasNulls(turn.content) || hasNulls(turn.tool_calls);
}

function hasNulls(list: JsonValue | undefined): boolean {
  return Array.isArray(list) && list.some((one) => isObject(one) && (hasUnset(one) || hasNullFunction(one)));
}

function hasNullFunction({ function: called }: JsonObject): boolean {
  return isObject(called) && hasUnset(called);
}

/** ofItems are the members of items that servers of responses refuse as null. */
const ofItems: readonly string[] = ["id", "status", "phase"];

/** hasNullState reports an item of a response whose id or state is null. */
export function hasNullState(item: JsonValue): boolean {
  return isObject(item) && ofItems.some((key) => item[key] === null);
}

/** withoutNullState returns an item without these; the same one where it has none. */
export function withoutNullState(item: JsonValue): JsonValue {
  if (!isObject(item) || !hasNullState(item)) return item;
  return Object.fromEntries(Object.entries(item).filter(([key, value]) => value !== null || !ofItems.includes(key)));
}

/** withoutNullMembers returns a turn without any; the same one where it has none. */
export function withoutNullMembers(turn: JsonValue): JsonValue {
  if (!isObject(turn) || !hasNullMembers(turn)) return turn;
  const { content, tool_calls: calls } = turn;
  return {
    ...withoutUnset(turn),
    ...(Array.isArray(content) ? { content: mappedList(content, withoutNulls) } : {}),
    ...(Array.isArray(calls) ? { tool_calls: mappedList(calls, withoutNulls) } : {}),
  };
}

/** hasNullSettings reports a tool with any. */
export function hasNullSettings(tool: JsonValue): boolean {
  return isObject(tool) && (hasUnset(tool) || hasNullFunction(tool));
}

/** withoutNulls returns a part, a call or a tool without any; the same one where it has none. */
export function withoutNulls(one: JsonValue): JsonValue {
  if (!hasNullSettings(one)) return one;
  const kept = withoutUnset(one as JsonObject);
  return isObject(kept.function) ? { ...kept, function: withoutUnset(kept.function) } : kept;
}
