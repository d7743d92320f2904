/**
 * One block of a streamed message, from its start to its stop → the deltas of a chat message.
 *
 * Text, thinking and arguments are passed on as they come. What is useful only as a whole (signed thinking,
 * annotations, and the free text of a custom tool, whose JSON must be parsed) comes when the block stops.
 */
import { type ContentBlock, ContentBlockType } from "../../../../gen/modelgateway/v1/messages_pb.ts";
import type { OpenBlock, Progress } from "./block.ts";
import { openCall } from "./open-call.ts";
import { type AnswerContext, annotationsOf, citationsOf, thinkingPiece } from "./parts.ts";

export function openBlock(block: ContentBlock, progress: Progress, context: AnswerContext): OpenBlock {
  switch (block.type) {
    case ContentBlockType.TEXT:
      return openText(block, progress);
    case ContentBlockType.THINKING:
    case ContentBlockType.REDACTED_THINKING:
      return openThinking(block);
    case ContentBlockType.TOOL_USE:
      return openCall(block, progress, context) ?? ignoredBlock;
  }
  return ignoredBlock;
}

const ignoredBlock: OpenBlock = { first: undefined, next: () => undefined, stop: () => undefined };

function openText(block: ContentBlock, progress: Progress): OpenBlock {
  const start = progress.length;
  const citations = [...citationsOf(block)];
  const deltaOf = (text = "") => {
    progress.length += text.length;
    return text === "" ? undefined : { content: text };
  };
  return {
    first: deltaOf(block.text),
    next({ text, citation }) {
      if (citation) citations.push(citation);
      return deltaOf(text);
    },
    stop() {
      const annotations = annotationsOf(citations, start, progress.length);
      return annotations.length === 0 ? undefined : { annotations };
    },
  };
}

function openThinking(block: ContentBlock): OpenBlock {
  let { thinking = "", signature = "" } = block;
  const deltaOf = (text: string) => (text === "" ? undefined : { reasoning_content: text });
  return {
    first: deltaOf(thinking),
    next(delta) {
      signature += delta.signature ?? "";
      thinking += delta.thinking ?? "";
      return deltaOf(delta.thinking ?? "");
    },
    stop() {
      const piece = thinkingPiece({ thinking, signature, data: block.data });
      return piece && { thinking_blocks: [piece] };
    },
  };
}
