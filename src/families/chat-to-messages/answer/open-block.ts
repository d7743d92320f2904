/**
 * One block of a streamed message, from its start to its stop → the deltas of a chat message.
 *
 * Text, thinking and arguments go on as they come. What is of use only in one piece (signed thinking, annotations, the
 * free text of a custom tool, whose JSON has to be read) comes when the block stops.
 */
import { type ContentBlock, ContentBlockType } from "../../../../gen/modelgateway/v1/messages_pb.ts";
import type { OpenBlock, Progress } from "./block.ts";
import { openCall } from "./open-call.ts";
import { annotationsOf, citationsOf, type Reading, thinkingPiece } from "./parts.ts";

export function openBlock(block: ContentBlock, progress: Progress, reading: Reading): OpenBlock {
  switch (block.type) {
    case ContentBlockType.TEXT:
      return openText(block, progress);
    case ContentBlockType.THINKING:
    case ContentBlockType.REDACTED_THINKING:
      return openThinking(block);
    case ContentBlockType.TOOL_USE:
      return openCall(block, progress, reading) ?? silent;
  }
  return silent;
}

const silent: OpenBlock = { first: undefined, next: () => undefined, stop: () => undefined };

function openText(block: ContentBlock, progress: Progress): OpenBlock {
  const start = progress.length;
  const citations = [...citationsOf(block)];
  const say = (text = "") => {
    progress.length += text.length;
    return text === "" ? undefined : { content: text };
  };
  return {
    first: say(block.text),
    next({ text, citation }) {
      if (citation) citations.push(citation);
      return say(text);
    },
    stop() {
      const annotations = annotationsOf(citations, start, progress.length);
      return annotations.length === 0 ? undefined : { annotations };
    },
  };
}

function openThinking(block: ContentBlock): OpenBlock {
  let { thinking = "", signature = "" } = block;
  const say = (text: string) => (text === "" ? undefined : { reasoning_content: text });
  return {
    first: say(thinking),
    next(delta) {
      signature += delta.signature ?? "";
      thinking += delta.thinking ?? "";
      return say(delta.thinking ?? "");
    },
    stop() {
      const piece = thinkingPiece({ thinking, signature, data: block.data });
      return piece && { thinking_blocks: [piece] };
    },
  };
}
