/**
 * Changes content for which Claude would refuse the whole request, again in each turn, and which says the same otherwise: blank texts are
 * removed, images get the media type of their bytes, and the result of a tool that failed without a word says that it failed. A turn of the
 * model that says nothing is removed. A user's that says nothing is left for Claude to refuse.
 */
import type { DescMessage, JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { MaybePromise } from "../../../runtime/maybe-promise.ts";
import { isObject, mappedList } from "../../../wire/json.ts";
import type { Changes } from "../../../wire/splice.ts";
import type { Wire } from "../../../wire/wire.ts";
import { pictureType } from "../picture-type.ts";

/** TypeOf returns the media type of an image's bytes; undefined where they do not tell. */
type TypeOf = (source: JsonObject) => string | undefined;

/** withUsableContent returns the request with content that Claude takes; the same request where it has no other. */
export function withUsableContent<D extends DescMessage>(request: Wire<D>): MaybePromise<Wire<D>> {
  // Long strings of an outline are fillers, none of them blank.
  const typeOf: TypeOf = (source) => pictureType(request.longText(source, "data"));
  if (Object.keys(changesTo(request.outline(), typeOf)).length === 0) return request;
  const changes = changesTo(request.json(), typeOf);
  return request.rewrittenBy(changes);
}

function changesTo({ system, messages }: JsonObject, typeOf: TypeOf): Changes {
  const changes: Record<string, JsonValue | undefined> = {};
  if (Array.isArray(system)) {
    const blocks = usableBlocks(system, typeOf);
    if (blocks !== system) changes.system = blocks.length > 0 ? blocks : undefined;
  }
  if (!Array.isArray(messages)) return changes;
  const last = messages.length - 1;
  const usable = messages.flatMap((message, i) => usableMessage(message, typeOf, i === last));
  if (usable.length < messages.length || usable.some((message, i) => message !== messages[i]))
    changes.messages = usable;
  return changes;
}

/** usableMessage returns the message, or none. The last one may be an empty beginning of the answer. */
function usableMessage(message: JsonValue, typeOf: TypeOf, isLast: boolean): JsonValue[] {
  if (!isObject(message)) return [message];
  const { role, content } = message;
  if (typeof content === "string") return isBlank(content) && role === "assistant" && !isLast ? [] : [message];
  if (!Array.isArray(content)) return [message];
  const blocks = usableBlocks(content, typeOf);
  if (blocks.length === 0) return role === "assistant" ? [] : [message];
  return [blocks === content ? message : { ...message, content: blocks }];
}

/** usableBlocks returns the blocks without blank texts; the same list where nothing changes. */
function usableBlocks(blocks: JsonValue[], typeOf: TypeOf): JsonValue[] {
  const usable = mappedList(blocks, (block) => (isObject(block) ? usableBlock(block, typeOf) : block));
  if (!usable.some(isBlankText)) return usable;
  const kept: JsonValue[] = [];
  for (const block of usable) {
    if (!isBlankText(block)) kept.push(block);
    else if (block.cache_control) markLast(kept, block.cache_control);
  }
  return kept;
}

/** markLast moves the mark of a cached prompt to the last block that takes one. */
function markLast(blocks: JsonValue[], mark: JsonValue): void {
  const last = blocks.at(-1);
  if (!isObject(last) || last.cache_control || /thinking$/.test(`${last.type}`)) return;
  blocks[blocks.length - 1] = { ...last, cache_control: mark };
}

function usableBlock(block: JsonObject, typeOf: TypeOf): JsonObject {
  const { type, source, content } = block;
  if (type === "image" && isObject(source) && source.type === "base64") {
    const own = typeOf(source);
    return own === undefined || own === source.media_type
      ? block
      : { ...block, source: { ...source, media_type: own } };
  }
  if (type !== "tool_result") return block;
  const blocks = Array.isArray(content) ? usableBlocks(content, typeOf) : undefined;
  const isEmpty = blocks ? blocks.length === 0 : isBlank(content ?? "");
  if (isEmpty && block.is_error === true) return { ...block, content: "Error" };
  if (content === null) return withoutContent(block);
  if (!blocks || blocks === content) return block;
  return isEmpty ? withoutContent(block) : { ...block, content: blocks };
}

function withoutContent({ content: _, ...block }: JsonObject): JsonObject {
  return block;
}

function isBlankText(block: JsonValue): block is JsonObject {
  return isObject(block) && block.type === "text" && isBlank(block.text ?? "");
}

function isBlank(text: JsonValue): boolean {
  return typeof text === "string" && !/\S/.test(text);
}
