/**
 * Bodies for the Messages API that are partly chat's or those of responses: turns with calls and results, parts of content,
 * tools and choices, settings by chat's names, and instructions before the first turn. Each becomes what the Messages API has
 * for it. A sampling setting of -1, by which clients say that nobody made it, is left out: the vendor takes it for that, too.
 */
import { isInstruction, partsOf } from "../../call/request/content-parts.ts";
import { readToolInput } from "../../call/tools/tool-input.ts";
import { type CooperativeTask, endsSlice } from "../../runtime/cooperative.ts";
import { definedFields, isObject, type JsonObject, type JsonValue, mappedList, textOrEmpty } from "../../wire/json.ts";
import type { Changes } from "../../wire/splice.ts";
import { describedSchema } from "../tools/described-schema.ts";
import { messagesChoice, schemaTool } from "./any-tool.ts";
import { addressedFile, flatPart } from "./flat-media.ts";
import { mediaPart } from "./foreign-media.ts";
import { resultContent, usualContent, withObjectInput } from "./odd-values.ts";

/** needsMessagesWords reports whether a body has anything of another API. It may be an outline. */
export function needsMessagesWords(json: JsonObject): boolean {
  const { messages, tools, tool_choice: choice } = json;
  return (
    foreignSettings.some((key) => (json[key] ?? null) !== null) ||
    samplingSettings.some((key) => json[key] === notMade) ||
    (Array.isArray(tools) && tools.some((tool) => schemaTool(tool) !== tool)) ||
    ((choice ?? null) !== null && messagesChoice(choice as JsonValue) !== choice) ||
    (Array.isArray(messages) && (isInstruction(messages[0]) || messages.some(isForeign)))
  );
}

/** foreignSettings are members that the Messages API does not have. */
const foreignSettings = [
  ...["max_completion_tokens", "stop", "response_format", "reasoning_effort", "parallel_tool_calls"],
] as const;

/** samplingSettings may be `notMade`. */
const samplingSettings = ["top_k", "top_p"] as const;

/** notMade is what LangChain writes for a setting that nobody made. */
const notMade = -1;

/** inMessagesWords returns the changes to such a body. */
export function* inMessagesWords(json: JsonObject): CooperativeTask<Changes> {
  const { messages, tools, system } = json;
  const changes: Record<string, JsonValue | undefined> = settingsIn(json);
  if (Array.isArray(tools)) changes.tools = tools.map(schemaTool);
  if (!Array.isArray(messages)) return changes;
  const firstTurn = messages.findIndex((message) => !isInstruction(message));
  const begin = firstTurn === -1 ? 0 : firstTurn;
  if (begin > 0) changes.system = [...blocksOf(system), ...messages.slice(0, begin).flatMap(instructionsIn)];
  changes.messages = yield* turnsOf(messages.slice(begin));
  return changes;
}

function instructionsIn(message: JsonValue): JsonValue[] {
  return isObject(message) ? blocksOf(message.content) : [];
}

/** blocksOf returns the blocks of a content, of which a text is one. */
function blocksOf(content: JsonValue | undefined): JsonValue[] {
  return partsOf(usualContent(content ?? null)).map(blockOf);
}

function settingsIn(json: JsonObject): Record<string, JsonValue | undefined> {
  const { max_tokens, max_completion_tokens: bound, stop, stop_sequences: stops, output_config: config } = json;
  const {
    response_format: format,
    reasoning_effort: effort,
    tool_choice: choice,
    parallel_tool_calls: parallel,
  } = json;
  const changes = Object.fromEntries(
    foreignSettings.filter((key) => json[key] !== undefined).map((key) => [key, undefined as JsonValue | undefined]),
  );
  for (const key of samplingSettings) if (json[key] === notMade) changes[key] = undefined;
  if ((max_tokens ?? null) === null && (bound ?? null) !== null) changes.max_tokens = bound;
  if ((stops ?? null) === null && (stop ?? null) !== null) changes.stop_sequences = [stop as JsonValue].flat();
  const schema = isObject(format) ? describedSchema(format)?.schema : undefined;
  const output = {
    ...(schema === undefined ? {} : { format: { type: "json_schema", schema } }),
    ...((effort ?? null) === null ? {} : { effort: effort as JsonValue }),
    ...(isObject(config) ? config : {}),
  };
  if (Object.keys(output).length > 0) changes.output_config = output;
  const chosen = (choice ?? null) === null ? undefined : messagesChoice(choice as JsonValue);
  const limited = parallel === false && (chosen === undefined || isObject(chosen));
  if (limited) changes.tool_choice = { ...(chosen ?? { type: "auto" }), disable_parallel_tool_use: true } as JsonObject;
  else if (chosen !== undefined) changes.tool_choice = chosen;
  return changes;
}

function isForeign(message: JsonValue): boolean {
  if (!isObject(message)) return false;
  const { role, content, tool_calls: calls } = message;
  if (role === "tool" || role === "developer" || Array.isArray(calls)) return true;
  const usual = usualContent(content ?? null);
  return usual !== (content ?? null) || (Array.isArray(usual) && usual.some((block) => blockOf(block) !== block));
}

function* turnsOf(messages: readonly JsonValue[]): CooperativeTask<JsonValue[]> {
  const turns: JsonValue[] = [];
  /** results are those of the last turn, while only results follow. */
  let results: JsonValue[] | undefined;
  for (const [i, message] of messages.entries()) {
    if (endsSlice(i)) yield;
    if (!isObject(message) || message.role !== "tool") {
      results = undefined;
      turns.push(isObject(message) && isForeign(message) ? turnOf(message) : message);
      continue;
    }
    const { tool_call_id: id, content = null } = message;
    const told = resultContent(content);
    const result = {
      type: "tool_result",
      ...definedFields({
        tool_use_id: id,
        content: Array.isArray(told) ? blocksOf(told) : (told ?? undefined),
      }),
    };
    if (results) results.push(result);
    else {
      results = [result];
      turns.push({ role: "user", content: results });
    }
  }
  return turns;
}

function turnOf({
  tool_calls: calls,
  role,
  content,
  refusal: _,
  reasoning_content: _r,
  ...rest
}: JsonObject): JsonObject {
  const uses = Array.isArray(calls) ? calls.filter(isObject).map(useOf) : [];
  const blocks = [...blocksOf(content), ...uses];
  return { ...rest, role: role === "developer" ? "system" : (role as JsonValue), content: blocks };
}

function useOf({ id, function: called, custom }: JsonObject): JsonObject {
  if (isObject(custom))
    return definedFields({ type: "tool_use", id, name: custom.name, input: { input: custom.input ?? "" } });
  const { name, arguments: args } = isObject(called) ? called : {};
  return definedFields({ type: "tool_use", id, name, input: inputOf(args) });
}

/** inputOf returns the input of a call. Models may write invalid JSON, which the Messages API does not take. */
function inputOf(args: JsonValue | undefined): JsonObject {
  return isObject(args) ? args : readToolInput(textOrEmpty(args));
}

const dataUri = /^data:([^;,]*)(?:;[^,]*)?;base64,/i;

/** ofOthers are the types of parts that are none of the Messages API's. */
const ofOthers: ReadonlySet<JsonValue | undefined> = new Set([
  ...["input_text", "output_text", "image_url", "input_image", "file", "input_file"],
]);

/** blockOf returns a part as a block; the same block where it is the Messages API's already. */
function blockOf(block: JsonValue): JsonValue {
  if (!isObject(block)) return block;
  if (block.type === "tool_use") return withObjectInput(block);
  if (block.type === "tool_result") return withUsualResult(block);
  if (block.type === "image" && !isObject(block.source)) return blockOf(mediaPart(block) ?? null) ?? block;
  const flat = flatPart(block) ?? addressedFile(block);
  if (flat) return blockOf(flat);
  if (!ofOthers.has(block.type)) return block;
  const { type, image_url: image, detail: _, file, ...rest } = block;
  if (type === "input_text" || type === "output_text") return { ...rest, type: "text" };
  if (type === "image_url" || type === "input_image") {
    const url = isObject(image) ? image.url : image;
    return typeof url === "string" ? { ...rest, type: "image", source: sourceOf(url) } : block;
  }
  return documentOf(isObject(file) ? file : rest, rest.cache_control) ?? block;
}

/** documentOf returns a file with its bytes or its address as a document; undefined where it has neither. */
function documentOf({ file_data: data, file_url: address }: JsonObject, mark: JsonValue | undefined) {
  const told = data ?? address;
  if (typeof told !== "string") return undefined;
  return definedFields({ type: "document", source: sourceOf(told), cache_control: mark });
}

/** withUsualResult returns a result whose content is a text or blocks; the same block where it is. */
function withUsualResult(result: JsonObject): JsonObject {
  const { content = null } = result;
  const told = resultContent(content);
  const usual = Array.isArray(told) ? mappedList(told, blockOf) : told;
  return usual === content ? result : { ...result, content: usual };
}

function sourceOf(url: string): JsonObject {
  const [head = "", type = ""] = dataUri.exec(url.slice(0, 200)) ?? [];
  if (head === "") return { type: "url", url };
  return { type: "base64", media_type: type.toLowerCase(), data: url.slice(head.length) };
}
