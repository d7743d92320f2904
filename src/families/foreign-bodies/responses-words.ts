/**
 * Bodies for responses that are partly chat's or the Messages API's: `messages` in place of `input`, turns with calls and
 * results, parts of content, nested tools, and settings by chat's names. Each becomes what responses has for it.
 */
import { type CooperativeTask, endsSlice } from "../../runtime/cooperative.ts";
import { definedFields, isObject, type JsonObject, type JsonValue, mappedList } from "../../wire/json.ts";
import type { Changes } from "../../wire/splice.ts";
import { describedSchema } from "../tools/described-schema.ts";
import { flatChoice, flatTool } from "./any-tool.ts";
import { addressedFile, flatPart, isWebAddress } from "./flat-media.ts";
import { mediaPart } from "./foreign-media.ts";
import { hasToolBlocks, inChatParts } from "./foreign-parts.ts";
import { resultContent, textArguments, usualContent } from "./odd-values.ts";
import { textOf } from "./prompt.ts";

/** needsResponsesWords reports whether a body has anything of another API. It may be an outline. */
export function needsResponsesWords(json: JsonObject): boolean {
  const { messages, input, tools, tool_choice: choice } = json;
  return (
    ((input ?? null) === null && Array.isArray(messages)) ||
    foreignSettings.some((key) => (json[key] ?? null) !== null) ||
    (Array.isArray(tools) && tools.some((tool) => flatTool(tool) !== tool)) ||
    (isObject(choice) && hasOtherChoice(choice)) ||
    choice === "any" ||
    (Array.isArray(input) && input.some(isForeign))
  );
}

/** foreignSettings are members that responses do not have. */
const foreignSettings = [
  ...["max_tokens", "max_completion_tokens", "response_format", "reasoning_effort", "verbosity", "system"],
] as const;

function hasOtherChoice({ type, function: called, custom }: JsonObject): boolean {
  return isObject(called) || isObject(custom) || ["auto", "none", "any", "required", "tool"].includes(type as string);
}

/** inResponsesWords returns the changes to such a body. Throws a Refusal for a malformed block. */
export function* inResponsesWords(json: JsonObject): CooperativeTask<Changes> {
  const { messages, input, tools, tool_choice: choice } = json;
  const turns = (input ?? null) === null ? messages : input;
  const changes: Record<string, JsonValue | undefined> = settingsIn(json);
  if (Array.isArray(turns)) changes.input = yield* itemsOf(turns);
  if ((input ?? null) === null) changes.messages = undefined;
  if (Array.isArray(tools)) changes.tools = tools.map(flatTool);
  if ((choice ?? null) !== null) changes.tool_choice = flatChoice(choice as JsonValue);
  return changes;
}

function settingsIn(json: JsonObject): Record<string, JsonValue | undefined> {
  const { max_tokens, max_completion_tokens, max_output_tokens, response_format, text, reasoning_effort, reasoning } =
    json;
  const { system, instructions, verbosity = null } = json;
  const changes = Object.fromEntries(
    foreignSettings.filter((key) => json[key] !== undefined).map((key) => [key, undefined as JsonValue | undefined]),
  );
  const bound = max_completion_tokens ?? max_tokens ?? null;
  if ((max_output_tokens ?? null) === null && bound !== null) changes.max_output_tokens = bound;
  const format = isObject(response_format) ? flatFormat(response_format) : undefined;
  const shown = isObject(text) ? text : {};
  const added = {
    ...(format && (shown.format ?? null) === null ? { format } : {}),
    ...(verbosity !== null && (shown.verbosity ?? null) === null ? { verbosity } : {}),
  };
  if (Object.keys(added).length > 0) changes.text = { ...shown, ...added };
  const thought = isObject(reasoning) ? reasoning : {};
  const isAsked = (reasoning_effort ?? null) !== null && (thought.effort ?? null) === null;
  if (isAsked) changes.reasoning = { ...thought, effort: reasoning_effort as JsonValue };
  const guide = textOf(system, "\n\n");
  if (guide !== "") changes.instructions = typeof instructions === "string" ? `${guide}\n\n${instructions}` : guide;
  return changes;
}

function flatFormat(format: JsonObject): JsonObject {
  const { type } = format;
  const described = describedSchema(format);
  if (!described) return { type: type ?? "text" };
  return { name: "answer", ...described, type: type === "json_object" ? "json_schema" : (type ?? "json_schema") };
}

function* itemsOf(turns: readonly JsonValue[]): CooperativeTask<JsonValue[]> {
  const chat = turns.some(hasToolBlocks) ? yield* inChatParts(turns) : turns;
  const items: JsonValue[] = [];
  const customCalls = new Set<JsonValue | undefined>();
  for (const [i, written] of chat.entries()) {
    if (endsSlice(i)) yield;
    const turn = isObject(written) ? usualItem(written) : written;
    const some = isObject(turn) && isForeign(turn) ? itemsOfTurn(turn, customCalls) : [turn];
    for (const item of some) if (isObject(item) && item.type === "custom_tool_call") customCalls.add(item.call_id);
    items.push(...some);
  }
  return items;
}

function isForeign(turn: JsonValue): boolean {
  if (!isObject(turn)) return false;
  if (turn.role === "tool" || Array.isArray(turn.tool_calls) || hasToolBlocks(turn)) return true;
  if (usualItem(turn) !== turn) return true;
  const { type = "message", role, content } = turn;
  return type === "message" && Array.isArray(content) && content.some((part) => partOf(part, role) !== part);
}

/**
 * usualItem returns an item with text for arguments, and a text or parts for content and output; the same object where it has these. What
 * somebody says is an empty text where it is null.
 */
function usualItem(item: JsonObject): JsonObject {
  const { type = "message", role = null, arguments: args = null, output = null, content = null } = item;
  if (type === "function_call") {
    const text = textArguments(args);
    return text === args ? item : { ...item, arguments: text };
  }
  if (type === "function_call_output" || type === "custom_tool_call_output") {
    const told = resultContent(output);
    const usual = Array.isArray(told) ? mappedList(told, (part) => partOf(part, "user")) : told;
    return usual === output ? item : { ...item, output: usual };
  }
  if (type === "message" && role !== null && content === null) return { ...item, content: "" };
  const said = type === "message" ? usualContent(content) : content;
  return said === content ? item : { ...item, content: said };
}

/** itemsOfTurn returns what a turn is as items. `customCalls` are the ids of earlier calls of custom tools, whose results are told apart. */
function itemsOfTurn(message: JsonObject, customCalls: ReadonlySet<JsonValue | undefined>): JsonObject[] {
  const { tool_calls: calls, tool_call_id: callId, reasoning_content: _, thinking_blocks: _t, ...turn } = message;
  const { role, content } = turn;
  if (role === "tool") {
    const output = Array.isArray(content) ? content.map((part) => partOf(part, "user")) : (content ?? "");
    const type = customCalls.has(callId) ? "custom_tool_call_output" : "function_call_output";
    return [definedFields({ type, call_id: callId, output })];
  }
  const parts = Array.isArray(content) ? content.map((part) => partOf(part, role)) : content;
  const says = Array.isArray(parts) ? parts.length > 0 : (parts ?? "") !== "";
  const said = says || !Array.isArray(calls) ? [{ ...turn, content: parts ?? "" }] : [];
  return [...said, ...(Array.isArray(calls) ? calls.filter(isObject).map(callOf) : [])];
}

function callOf({ id, function: called, custom }: JsonObject): JsonObject {
  if (isObject(custom)) {
    return definedFields({ type: "custom_tool_call", call_id: id, name: custom.name, input: custom.input ?? "" });
  }
  const { name, arguments: args } = isObject(called) ? called : {};
  return definedFields({ type: "function_call", call_id: id, name, arguments: textArguments(args) ?? "" });
}

/** ofChat are the types of parts that are chat's alone. */
const ofChat: ReadonlySet<JsonValue | undefined> = new Set(["text", "image_url", "file"]);

/** isNestedImage reports an image of responses whose address stands in an object, as in chat. */
function isNestedImage({ type, image_url: image }: JsonObject): boolean {
  return type === "input_image" && isObject(image);
}

/** isOfOtherRole reports a text of responses by the type that the texts of others have. */
function isOfOtherRole({ type }: JsonObject, role: JsonValue | undefined): boolean {
  return type === (role === "assistant" ? "input_text" : "output_text");
}

/** partOf returns a part as responses has it; the same part where it is none of chat's. */
function partOf(part: JsonValue, role: JsonValue | undefined): JsonValue {
  if (!isObject(part)) return part;
  if (part.type === "image" && !isObject(part.source)) return partOf(mediaPart(part) ?? null, role) ?? part;
  const flat = flatPart(part) ?? addressedFile(part) ?? soundPart(part);
  if (flat) return partOf(flat, role);
  if (isOfOtherRole(part, role))
    return { type: role === "assistant" ? "output_text" : "input_text", text: part.text ?? "" };
  if (!(ofChat.has(part.type) || isNestedImage(part))) return part;
  const { type, text, image_url: image, file, ...rest } = part;
  if (type === "text" && typeof text === "string") {
    return { ...rest, type: role === "assistant" ? "output_text" : "input_text", text };
  }
  if (type === "image_url" || type === "input_image") {
    const { url, detail } = isObject(image) ? image : { url: image, detail: rest.detail };
    return definedFields({ ...rest, type: "input_image", image_url: url, detail });
  }
  if (type !== "file" || !isObject(file)) return part;
  const { file_data: data, ...more } = file;
  const isAddress = typeof data === "string" && isWebAddress(data);
  return definedFields({ ...rest, type: "input_file", ...more, [isAddress ? "file_url" : "file_data"]: data });
}

/** soundPart returns a sound in a data URI, as servers of open models have it, as responses has it; undefined for any other part. */
function soundPart({ type, audio_url: sound, ...rest }: JsonObject): JsonObject | undefined {
  const url = isObject(sound) ? sound.url : sound;
  const isData = type === "audio_url" && typeof url === "string" && /^data:/i.test(url);
  return isData ? flatPart({ ...rest, type: "audio", data: url }) : undefined;
}
