/**
 * Forms that no path has as its own and that have one meaning: the roles of LangChain's and Gemini's turns, and all in capitals, as Ollama
 * takes them, Gemini's parts and lists of functions, members that are null because they are not set, a choice that is the bare name of an
 * offered tool, a format that is a word, a bound of -1, and metadata that are no texts, as LiteLLM's clients send them. They are read before the words of other APIs. A form without a meaning stays as
 * it is, so that validation refuses it by the path that the caller wrote.
 */
import { invalidType } from "../../call/refusals.ts";
import { isHuge } from "../../providers/profile/schemas/root-schema.ts";
import type { CooperativeTask } from "../../runtime/cooperative.ts";
import {
  isObject,
  type JsonObject,
  type JsonValue,
  listOrEmpty,
  mappedInSlices,
  mappedList,
  textOrJson,
} from "../../wire/json.ts";
import type { Changes } from "../../wire/splice.ts";
import {
  hasNullMembers,
  hasNullSettings,
  hasNullState,
  withoutNullMembers,
  withoutNullState,
  withoutNulls,
} from "./null-members.ts";

/** hasOtherForms reports whether a body has any of them. It may be an outline. */
export function hasOtherForms(json: JsonObject): boolean {
  const { messages, input, tools } = json;
  return (
    (Array.isArray(messages) && messages.some((turn) => isOther(turn) || hasNullMembers(turn))) ||
    (Array.isArray(input) && input.some((item) => isOther(item) || hasNullState(item))) ||
    (Array.isArray(tools) && tools.some(isOtherTool)) ||
    isBareName(json.tool_choice) ||
    bounds.some((bound) => isNoBound(json[bound])) ||
    hasOtherMetadata(json.metadata) ||
    usualFormat(json.response_format) !== json.response_format
  );
}

/** inUsualForms returns the changes to such a body. */
export function* inUsualForms(json: JsonObject): CooperativeTask<Changes> {
  const { tools, tool_choice: choice, response_format: format } = json;
  const changes: Record<string, JsonValue | undefined> = {};
  const { messages, input } = json;
  if (Array.isArray(messages)) changes.messages = yield* usualTurns(messages, "messages", withoutNullMembers);
  if (Array.isArray(input)) changes.input = yield* usualTurns(input, "input", withoutNullState);
  if (Array.isArray(tools) && tools.some(isOtherTool)) changes.tools = yield* usualTools(tools);
  const offered = changes.tools ?? tools;
  if (isBareName(choice) && isOffered(choice, offered)) changes.tool_choice = { type: "function", name: choice };
  if (hasOtherMetadata(json.metadata)) changes.metadata = usualMetadata(json.metadata);
  if (format !== undefined) changes.response_format = usualFormat(format);
  for (const bound of bounds) if (isNoBound(json[bound])) changes[bound] = undefined;
  return changes;
}

/** bounds are the names of the bound of an answer. */
const bounds = ["max_tokens", "max_completion_tokens", "max_output_tokens"] as const;

/** isNoBound reports what clients of LM Studio, llama.cpp and Ollama write for an answer of any length. */
function isNoBound(bound: JsonValue | undefined): boolean {
  return bound === -1;
}

function usualTurns(
  turns: JsonValue[],
  path: string,
  withoutNulls: (turn: JsonValue) => JsonValue,
): CooperativeTask<JsonValue[]> {
  return mappedInSlices(turns, (turn, i) => usualTurn(withoutNulls(turn), `${path}[${i}].parts`));
}

const otherRoles: ReadonlyMap<string, string> = new Map([
  ["human", "user"],
  ["ai", "assistant"],
  ["model", "assistant"],
]);
const ownRoles: ReadonlySet<JsonValue | undefined> = new Set([
  ...["system", "developer", "user", "assistant", "tool", "function"],
]);

/** usualRole returns the role that a turn's stands for; undefined where it is one already, or none. */
function usualRole(role: JsonValue | undefined): string | undefined {
  if (ownRoles.has(role) || typeof role !== "string" || role.length > longestRole) return undefined;
  const lower = role.trim().toLowerCase();
  return otherRoles.get(lower) ?? (ownRoles.has(lower) ? lower : undefined);
}

/** longestRole is the length of the longest text that is looked at for a role. */
const longestRole = 20;

function isOther(turn: JsonValue): boolean {
  return isObject(turn) && (usualRole(turn.role) !== undefined || hasParts(turn));
}

function hasParts({ parts, content = null }: JsonObject): boolean {
  return Array.isArray(parts) && parts.length > 0 && content === null;
}

/**
 * usualTurn returns a turn with a role and a content that all APIs have; the same one where it has these. Throws a Refusal for parts at
 * `path` that have no meaning: the turn would be empty without them.
 */
function usualTurn(turn: JsonValue, path: string): JsonValue {
  if (!isObject(turn) || !isOther(turn)) return turn;
  const role = usualRole(turn.role);
  const named = role === undefined ? turn : { ...turn, role };
  if (!hasParts(named)) return named;
  const { parts, ...rest } = named;
  const content = (parts as JsonValue[]).map(contentPart);
  const unknown = content.indexOf(undefined);
  if (unknown !== -1) throw invalidType(`${path}[${unknown}]`, "expected a text or an image; others go into `content`");
  return { ...rest, content: content as JsonValue[] };
}

/** contentPart returns a text or an image of Gemini's; undefined for any other part. */
function contentPart(part: JsonValue): JsonObject | undefined {
  if (!isObject(part)) return undefined;
  const { type = "text", text, thought, inlineData, inline_data: inline = inlineData } = part;
  if (typeof text === "string" && type === "text" && thought !== true) return { type, text };
  if (!isObject(inline)) return undefined;
  const { data, mimeType, mime_type: media_type = mimeType } = inline;
  const isImage = typeof media_type === "string" && media_type.startsWith("image/") && typeof data === "string";
  return isImage ? { type: "image", source: { type: "base64", media_type, data } } : undefined;
}

function declarationsOf(tool: JsonValue): JsonValue {
  if (!isObject(tool)) return null;
  return tool.function_declarations ?? tool.functionDeclarations ?? null;
}

function isOtherTool(tool: JsonValue): boolean {
  return hasDeclarations(tool) || hasNullSettings(tool);
}

function hasDeclarations(tool: JsonValue): boolean {
  return Array.isArray(declarationsOf(tool));
}

/** usualTools returns tools in which the functions of Gemini's lists, whose schemas have types in capitals, stand alone. */
function* usualTools(tools: JsonValue[]): CooperativeTask<JsonValue[]> {
  const usual: JsonValue[] = [];
  for (const tool of tools) {
    const declared = declarationsOf(tool);
    for (const one of listOrEmpty(declared)) {
      yield;
      usual.push(declaredFunction(one));
    }
    if (!Array.isArray(declared)) usual.push(withoutNulls(tool));
  }
  return usual;
}

function declaredFunction(declared: JsonValue): JsonValue {
  if (!isObject(declared)) return declared;
  const { parametersJsonSchema, parameters = parametersJsonSchema, ...rest } = declared;
  if (parameters === undefined) return { type: "function", ...rest };
  return { type: "function", ...rest, parameters: isHuge(parameters) ? parameters : lowerTypes(parameters) };
}

/** mostNested is how deep a schema is read: deeper ones are refused elsewhere. */
const mostNested = 64;

function lowerTypes(schema: JsonValue, depth = 0): JsonValue {
  if (depth > mostNested) return schema;
  if (Array.isArray(schema)) return mappedList(schema, (one) => lowerTypes(one, depth + 1));
  if (!isObject(schema)) return schema;
  const entries = Object.entries(schema).map(([key, value]): [string, JsonValue] => {
    const isType = key === "type" && typeof value === "string" && types.has(value);
    return [key, isType ? value.toLowerCase() : lowerTypes(value, depth + 1)];
  });
  return Object.fromEntries(entries);
}

const types: ReadonlySet<string> = new Set(["OBJECT", "STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "NULL"]);

/** words are the choices that are none of a tool. */
const words: ReadonlySet<string> = new Set(["auto", "none", "required", "any"]);

function isBareName(choice: JsonValue | undefined): choice is string {
  return typeof choice === "string" && !words.has(choice);
}

function isOffered(name: string, tools: JsonValue | undefined): boolean {
  if (!Array.isArray(tools)) return false;
  return tools.filter(isObject).some((tool) => {
    const own = isObject(tool.function) ? tool.function : tool;
    return own.name === name;
  });
}

/** usualFormat returns a format as an object of a type that chat has; the same value where it is one, or has no meaning. */
function usualFormat(format: JsonValue | undefined): JsonValue | undefined {
  if (typeof format === "string" && formats.has(format)) return { type: formats.get(format) as string };
  return isObject(format) && format.type === "json" ? { ...format, type: "json_object" } : format;
}

const formats: ReadonlyMap<string, string> = new Map([
  ["json", "json_object"],
  ["json_object", "json_object"],
  ["text", "text"],
]);

function hasOtherMetadata(metadata: JsonValue | undefined): metadata is JsonObject {
  if (!isObject(metadata)) return false;
  for (const key in metadata) if (typeof metadata[key] !== "string") return true;
  return false;
}

/** usualMetadata returns metadata whose values are texts: lists and objects, as LiteLLM's clients write their tags, are told as JSON. */
function usualMetadata(metadata: JsonObject): JsonObject {
  const set = Object.entries(metadata).filter(([, value]) => value !== null);
  return Object.fromEntries(set.map(([key, value]) => [key, textOrJson(value)]));
}
