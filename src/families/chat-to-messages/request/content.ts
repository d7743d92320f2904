/**
 * The content of a chat message → content blocks.
 *
 * Blank text is dropped silently: the Messages API refuses it, and nothing is lost. Cache marks stay in place. Audio,
 * video and unknown parts of the user's are refused: a model that never saw them would answer as if it had. Anything
 * else that the role cannot hold is dropped and named.
 */
import { type ChatMessage, type ContentPart, ContentPartType } from "../../../../gen/modelgateway/v1/chat_pb.ts";
import { CacheControlSchema, ContentBlockSchema } from "../../../../gen/modelgateway/v1/messages_pb.ts";
import { markKeys } from "../../../call/cache-marks.ts";
import { invalidValue, missingField } from "../../../call/refusals.ts";
import { type CooperativeTask, endsSlice } from "../../../runtime/cooperative.ts";
import { isFilledText, isObject, type JsonObject } from "../../../wire/json.ts";
import { placedMark } from "../../cache-marks.ts";
import { documentAddress } from "../../foreign-bodies/flat-media.ts";
import type { Dropped } from "../../paths/dropped.ts";
import { fitsSchema } from "../fits-schema.ts";
import { fileBlock, imageBlock } from "./media.ts";

/** The types of blocks that each side of the conversation may hold. */
const sides = {
  system: ["text"],
  user: ["text", "image", "document", "search_result"],
  assistant: ["text", "thinking", "redacted_thinking"],
} as const;

export type Side = keyof typeof sides;

/** contentBlocks returns the blocks of a message's `content` in order. `path` is the message's. */
export function* contentBlocks(
  message: ChatMessage,
  path: string,
  side: Side,
  dropped: Dropped,
): CooperativeTask<JsonObject[]> {
  const { content } = message;
  if (content.case === "text") return textBlocks(content.value);
  const blocks: JsonObject[] = [];
  for (const [i, part] of (content.value?.parts ?? []).entries()) {
    const partPath = `${path}.content[${i}]`;
    if (endsSlice(i)) yield;
    const block = yield* blockOf(part, partPath, dropped);
    if (block === "blank") continue;
    if (block && sides[side].some((type) => type === block.type)) blocks.push(block);
    else if (!block && side === "user" && part.extra?.type !== undefined) throw notGiven(`${partPath}.type`);
    else dropped.add(partPath);
  }
  return blocks;
}

function notGiven(path: string) {
  return invalidValue(path, "this model cannot be given this kind of content; send text, images or files");
}

/** textBlocks returns one text block, or none for a blank text. */
export function textBlocks(text: string | undefined): JsonObject[] {
  return text === undefined || text.trim() === "" ? [] : [{ type: "text", text }];
}

/** cacheMark returns `{cache_control}` where a part, message, call or tool has a cache mark, also of OpenAI's kind, else `{}`. */
export function cacheMark(extra: JsonObject | undefined, path: string, dropped: Dropped): JsonObject {
  const mark = extra?.cache_control ?? null;
  if (mark === null) {
    const isMarked = isObject(extra?.prompt_cache_breakpoint);
    return isMarked ? placedMark({ type: "ephemeral" }, `${path}.prompt_cache_breakpoint`) : {};
  }
  if (isObject(mark) && fitsSchema(CacheControlSchema, mark)) return placedMark(mark, `${path}.cache_control`);
  dropped.add(`${path}.cache_control`);
  return {};
}

function* blockOf(
  part: ContentPart,
  path: string,
  dropped: Dropped,
): CooperativeTask<JsonObject | "blank" | undefined> {
  const kind = kindOf(part);
  if (kind === ContentPartType.UNSPECIFIED) return ownBlock(part.extra);
  const block = yield* plainBlock(part, kind, path, dropped);
  if (!block) {
    dropped.addExtra(part.extra, path);
    return "blank";
  }
  dropped.addExtra(part.extra, path, markKeys);
  return { ...block, ...cacheMark(part.extra, path, dropped) };
}

function* plainBlock(
  part: ContentPart,
  kind: ContentPartType,
  path: string,
  dropped: Dropped,
): CooperativeTask<JsonObject | undefined> {
  switch (kind) {
    case ContentPartType.IMAGE_URL: {
      const { url, detail = "auto", extra } = part.imageUrl ?? {};
      if (detail !== "auto") dropped.add(`${path}.image_url.detail`);
      dropped.addExtra(extra, `${path}.image_url`);
      return yield* imageBlock(url, `${path}.image_url.url`);
    }
    case ContentPartType.FILE: {
      if (!part.file) throw missingField(`${path}.file`);
      dropped.addExtra(part.file.extra, `${path}.file`);
      const block = yield* fileBlock(part.file, `${path}.file`);
      if (block.type === "image" && part.file.filename) dropped.add(`${path}.file.filename`);
      return block;
    }
    case ContentPartType.INPUT_AUDIO:
      throw invalidValue(`${path}.input_audio`, "this model cannot hear; send text, images or files");
    default:
      return textBlocks(part.text ?? part.refusal)[0];
  }
}

/** kindOf returns the part's type. RPC callers may leave `type` unset: then the set field decides. */
function kindOf({ type, text, refusal, imageUrl, inputAudio, file, extra }: ContentPart): ContentPartType {
  if (type !== undefined) return type;
  if (typeof extra?.type === "string") return ContentPartType.UNSPECIFIED;
  if (imageUrl) return ContentPartType.IMAGE_URL;
  if (inputAudio) return ContentPartType.INPUT_AUDIO;
  if (file) return ContentPartType.FILE;
  return (text ?? refusal) === undefined ? ContentPartType.UNSPECIFIED : ContentPartType.TEXT;
}

/** ownBlock returns a block that is in the Messages API's own words already, as some callers mix them in. */
function ownBlock(part: JsonObject | undefined): JsonObject | undefined {
  const address = part && documentAddress(part);
  if (address !== undefined) return { type: "document", source: { type: "url", url: address } };
  if (!part || !fitsSchema(ContentBlockSchema, part)) return undefined;
  switch (part.type) {
    case "image":
    case "document":
    case "search_result":
      return (part.source ?? null) === null ? undefined : part;
    case "thinking":
      return isFilledText(part.signature) && typeof part.thinking === "string" ? part : undefined;
    case "redacted_thinking":
      return isFilledText(part.data) ? part : undefined;
  }
  return undefined;
}
