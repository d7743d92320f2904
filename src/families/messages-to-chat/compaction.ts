/**
 * A conversation that has grown too long ↔ the block that stands for it (`compaction`).
 *
 * A request with `compaction` asks for that block and nothing else: the model summarises the conversation, without
 * tools, and its text becomes the block's `content`. A block of the history holds its summary as text, whoever made
 * it: what came before it is left out, as the vendor does.
 */
import type { ContentBlock, CreateMessageRequest } from "../../../gen/modelgateway/v1/messages_pb.ts";
import { invalidType } from "../../call/refusals.ts";
import { isObject, type JsonObject } from "../../wire/json.ts";
import { summaryRequest } from "../responses-to-chat/compaction.ts";

/** asksToCompact reports whether a request asks for a summary of its conversation. */
export function asksToCompact({ extra }: CreateMessageRequest): boolean {
  return (extra?.compaction ?? null) !== null;
}

/** compactionRequest returns the last message of the chat request. The caller's own instructions replace the usual ones. */
export function compactionRequest({ extra }: CreateMessageRequest): JsonObject {
  const compaction = extra?.compaction;
  if (!isObject(compaction)) throw invalidType("compaction", "expected an object");
  const { instructions } = compaction;
  const isOwn = typeof instructions === "string" && instructions.trim() !== "";
  return isOwn ? { role: "user", content: instructions } : summaryRequest();
}

/** isCompaction reports a block that stands for a conversation. */
export function isCompaction({ extra }: ContentBlock): boolean {
  return extra?.type === "compaction";
}

/** summaryIn returns the summary of such a block; undefined for other blocks, and where compacting failed. */
export function summaryIn(block: ContentBlock): string | undefined {
  const { content } = block;
  return isCompaction(block) && content.case === "contentText" ? content.value || undefined : undefined;
}

/** compactionBlock returns the block for a summary. */
export function compactionBlock(summary: string): JsonObject {
  return { type: "compaction", content: summary, encrypted_content: null };
}

/** compactionEvents returns the events of that block, which is the only one of its answer. */
export function compactionEvents(summary: string): JsonObject[] {
  const delta = { type: "compaction_delta", content: summary, encrypted_content: null };
  return [
    {
      type: "content_block_start",
      index: 0,
      content_block: { type: "compaction", content: null, encrypted_content: null },
    },
    { type: "content_block_delta", index: 0, delta },
    { type: "content_block_stop", index: 0 },
  ];
}

/** The end of such an answer. */
export const compacted: JsonObject = { stop_reason: "compaction", stop_sequence: null, stop_details: null };
