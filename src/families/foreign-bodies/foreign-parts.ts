/**
 * Messages of a chat whose content is in another API's parts.
 *
 * Calls (`tool_use`) and results (`tool_result`) are the Messages API's, as Cursor sends them to models that it takes
 * for Claude; they become chat's, results first, as in both APIs. Its images, and parts of responses, become chat's of the same
 * meaning, and so do an image that is a bare address, and audio that is bare base64, as Mistral's SDK sends it.
 */
import { ContentBlockSchema } from "../../../gen/modelgateway/v1/messages_pb.ts";
import { blocksIn } from "../../call/request/content-parts.ts";
import { type CooperativeTask, endsSlice } from "../../runtime/cooperative.ts";
import { definedFields, isObject, type JsonObject, type JsonValue, listOrEmpty } from "../../wire/json.ts";
import { isThinking } from "../call-signature.ts";
import { partsOf } from "../messages-to-chat/request/content.ts";
import { toolResultOf } from "../messages-to-chat/request/tool-results.ts";
import { readPart } from "../read-message.ts";
import { mediaPart } from "./foreign-media.ts";
import { withObjectInput, withUsualValues } from "./odd-values.ts";

/** hasForeignParts reports whether some message has a part of another API, or values of another type. */
export function hasForeignParts(messages: JsonValue | undefined): boolean {
  if (!Array.isArray(messages)) return false;
  return messages.some(
    (message) => isObject(message) && (blocksIn(message).some(isForeign) || withUsualValues(message) !== message),
  );
}

/** inChatParts returns the same messages in chat's words. Throws a Refusal for a malformed block. */
export function* inChatParts(messages: readonly JsonValue[]): CooperativeTask<JsonValue[]> {
  const changed: JsonValue[] = [];
  for (const [i, written] of messages.entries()) {
    if (endsSlice(i)) yield;
    const message = isObject(written) ? withUsualValues(written) : written;
    if (!isObject(message) || !blocksIn(message).some(isForeign)) changed.push(message);
    else if (!blocksIn(message).some(isOfTool)) changed.push({ ...message, content: blocksIn(message).map(chatPart) });
    else if (message.role === "assistant") changed.push(assistantMessage(message));
    else changed.push(...userMessages(message, `messages[${i}].content`));
  }
  return changed;
}

const textTypes: ReadonlySet<JsonValue | undefined> = new Set(["input_text", "output_text"]);

function isForeign(block: JsonValue): boolean {
  return isOfTool(block) || (isObject(block) && chatPart(block) !== block);
}

/** chatPart returns the same part where it is chat's already. */
function chatPart(part: JsonValue): JsonValue {
  if (!isObject(part)) return part;
  const { type, image_url: image, detail, filename, file_data, file_id, annotations, logprobs, ...rest } = part;
  if (textTypes.has(type)) return { ...rest, type: "text" };
  if ((type === "image_url" || type === "input_image") && typeof image === "string") {
    return { ...rest, type: "image_url", image_url: definedFields({ url: image, detail }) };
  }
  if (type === "input_image" && isObject(image)) {
    return { ...rest, type: "image_url", image_url: definedFields({ detail, ...image }) };
  }
  const address = type === "image" ? addressIn(rest.source) : undefined;
  if (address !== undefined) {
    const { source: _, ...more } = rest;
    return { ...more, type: "image_url", image_url: { url: address } };
  }
  const { input_audio: sound } = rest;
  if (type === "input_audio" && typeof sound === "string" && !/^https?:/.test(sound))
    return { ...rest, type, input_audio: audioIn(sound) };
  const media = mediaPart(part);
  if (media) return media;
  const isFile = type === "input_file" && (typeof file_data === "string" || typeof file_id === "string");
  return isFile ? { ...rest, type: "file", file: definedFields({ filename, file_data, file_id }) } : part;
}

/** addressIn returns the address of an image in the Messages API's words; undefined for a file that its vendor has. */
function addressIn(source: JsonValue | undefined): string | undefined {
  if (!isObject(source)) return undefined;
  const { type, url, media_type: media, data } = source;
  if (type === "url") return typeof url === "string" ? url : undefined;
  const isWhole = type === "base64" && typeof media === "string" && typeof data === "string";
  return isWhole ? `data:${media};base64,${data}` : undefined;
}

/** audioIn names the format, which chat wants, by how a WAV file begins, or by the type of a data URI. */
function audioIn(sound: string): JsonObject {
  const comma = sound.startsWith("data:audio/") ? sound.slice(0, longestHead).indexOf(",") : -1;
  const [type, data] = [sound.slice(0, comma + 1), sound.slice(comma + 1)];
  return { data, format: data.startsWith("UklGR") || type.includes("wav") ? "wav" : "mp3" };
}

/** longestHead is how many characters may stand before the data of a data URI. */
const longestHead = 1_000;

/** hasToolBlocks reports whether a message has a call or a result of the Messages API, or an image in its words. */
export function hasToolBlocks(message: JsonValue): boolean {
  return isObject(message) && blocksIn(message).some((block) => isOfTool(block) || (isObject(block) && isOwn(block)));
}

function isOfTool(block: JsonValue): boolean {
  return isObject(block) && (block.type === "tool_use" || block.type === "tool_result");
}

function isThinkingBlock(block: JsonValue): boolean {
  return isObject(block) && isThinking(block);
}

function assistantMessage(message: JsonObject): JsonObject {
  const blocks = blocksIn(message);
  const calls = blocks.filter(isObject).filter(({ type }) => type === "tool_use");
  const thinking = blocks.filter(isThinkingBlock);
  const rest = blocks.filter((block) => !isOfTool(block) && !isThinkingBlock(block)).map(chatPart);
  const known = listOrEmpty(message.tool_calls);
  return {
    ...message,
    content: rest.length > 0 ? rest : null,
    ...(thinking.length > 0 ? { thinking_blocks: thinking } : {}),
    tool_calls: [...known, ...calls.map(callOf)],
  };
}

function callOf(use: JsonObject): JsonObject {
  const { id = "", name = "", input } = withObjectInput(use);
  return { id, type: "function", function: { name, arguments: JSON.stringify(input ?? {}) } };
}

function userMessages(message: JsonObject, path: string): JsonObject[] {
  const results: JsonObject[] = [];
  const parts: JsonValue[] = [];
  for (const [i, block] of blocksIn(message).entries()) {
    const at = `${path}[${i}]`;
    if (!isObject(block) || !isOwn(block)) {
      parts.push(chatPart(block));
      continue;
    }
    const placed = { block: readPart(ContentBlockSchema, block, at), path: at };
    if (block.type !== "tool_result") parts.push(...partsOf(placed));
    else {
      const { message: result, attached } = toolResultOf(placed, false);
      results.push(result);
      parts.unshift(...attached);
    }
  }
  return parts.length > 0 ? [...results, { ...message, content: parts }] : results;
}

/** isOwn reports a result, or an image or document in the Messages API's words. */
function isOwn({ type, source }: JsonObject): boolean {
  return type === "tool_result" || ((type === "image" || type === "document") && isObject(source));
}
