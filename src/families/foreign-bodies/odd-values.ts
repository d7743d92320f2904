/**
 * Values of a conversation in other types than the APIs have, as clients and frameworks write them: texts among the parts of content, one
 * part instead of a list, results of tools that are JSON, and inputs of calls as an object where text is due, or the other way round.
 * Only the type changes, and nothing is lost.
 */
import { isEmptyList, readToolInput } from "../../call/tools/tool-input.ts";
import { isObject, type JsonObject, type JsonValue, mappedList } from "../../wire/json.ts";

/**
 * withUsualValues returns a message of chat with a text or parts for content, and text for arguments; the same object where it has these.
 */
export function withUsualValues(message: JsonObject): JsonObject {
  const { role, content = null, tool_calls: calls = null } = message;
  // Strict servers refuse null but of the model's own turns, and empty lists.
  const isResult = role === "tool" || role === "function";
  const told = isEmptyList(content) ? null : isResult ? resultContent(content) : usualContent(content);
  if ((told ?? "") === "" && addsTools(message)) return withoutContent(message);
  const usual = told ?? (role === "assistant" ? null : "");
  const called = Array.isArray(calls) ? mappedList(calls, withTextArguments) : calls;
  if (usual === content && called === calls) return message;
  return { ...message, content: usual, ...(called === null ? {} : { tool_calls: called }) };
}

/** addsTools reports a message by which a conversation gets further tools, as Kimi's have them. It must have no content, not even an empty one. */
function addsTools({ role, tools }: JsonObject): boolean {
  return role === "system" && Array.isArray(tools) && tools.length > 0;
}

function withoutContent(message: JsonObject): JsonObject {
  const { content, ...others } = message;
  return content === undefined ? message : others;
}

/** usualContent returns what somebody says as a text or as a list of parts. */
export function usualContent(content: JsonValue): JsonValue {
  if (Array.isArray(content)) return mappedList(content, usualPart);
  return isObject(content) && typeof content.type === "string" ? [content] : content;
}

/** resultContent returns the result of a tool likewise: what is no part is told as JSON. */
export function resultContent(content: JsonValue): JsonValue {
  const usual = usualContent(content);
  if (usual === null || typeof usual === "string") return usual;
  const isOfParts = Array.isArray(usual) && usual.every((part) => isObject(part) && typeof part.type === "string");
  return isOfParts ? usual : JSON.stringify(content);
}

/** usualPart returns a part for a text, and for one that is said without its type. */
function usualPart(part: JsonValue): JsonValue {
  if (typeof part === "string") return { type: "text", text: part };
  const isUntyped = isObject(part) && (part.type ?? null) === null && typeof part.text === "string";
  return isUntyped ? { ...part, type: "text" } : part;
}

function withTextArguments(call: JsonValue): JsonValue {
  if (!isObject(call) || !isObject(call.function)) return call;
  const args = textArguments(call.function.arguments);
  return args === call.function.arguments ? call : { ...call, function: { ...call.function, arguments: args } };
}

/** textArguments returns arguments as text where they are a value. An empty list is what PHP has for an empty object. */
export function textArguments(args: JsonValue = null): JsonValue {
  if (isEmptyList(args)) return "{}";
  return typeof args === "object" && args !== null ? JSON.stringify(args) : args;
}

/**
 * withObjectInput returns a call of the Messages API whose input is an object, the same block where it is one. Of what a model wrote in
 * place of one, or could not complete, nothing is lost (`call/tools/tool-input.ts`).
 */
export function withObjectInput(use: JsonObject): JsonObject {
  const { input = null } = use;
  if (isObject(input)) return use;
  if (input === null || isEmptyList(input)) return { ...use, input: {} };
  const written = typeof input === "string" ? input.trim() : JSON.stringify(input);
  return { ...use, input: readToolInput(written === "null" ? "" : written) };
}
