/**
 * A message → a chat completion, with every key that strict clients require.
 *
 * Blocks without a counterpart in a chat message, such as the vendor's own tools at work, are left out.
 */
import { type ContentBlock, ContentBlockType, type Message } from "../../../../gen/modelgateway/v1/messages_pb.ts";
import { readToolInput } from "../../../call/tools/tool-input.ts";
import { MessageUsageReader } from "../../../providers/usage/message-counts.ts";
import { isObject, type JsonObject, type JsonValue, textOrEmpty } from "../../../wire/json.ts";
import { completionJson, type Said } from "../../chat-answers/completion.ts";
import { withNames } from "../property-names.ts";
import { type Called, explanationOf, finishReason } from "./finish.ts";
import {
  type AnswerContext,
  annotationsOf,
  calledTool,
  callId,
  citationsOf,
  freeText,
  thinkingPiece,
} from "./parts.ts";
import { chatUsage } from "./usage.ts";

/** Draft is what has been read of a message. */
interface Draft extends Said {
  text: string;
  reasoning: string;
  /** answered is whether the text is the input of the tool that stands for the answer. */
  answered: boolean;
  functionCall: JsonObject | undefined;
  readonly thinkingBlocks: JsonObject[];
  readonly annotations: JsonObject[];
  readonly toolCalls: JsonObject[];
}

/** `usage` is the message's own, as it came. */
export function chatCompletion(message: Message, usage: JsonValue | undefined, context: AnswerContext): JsonObject {
  const counts = new MessageUsageReader();
  const hasTold = counts.take(usage);
  const draft: Draft = {
    text: "",
    refusal: null,
    reasoning: "",
    answered: false,
    functionCall: undefined,
    thinkingBlocks: [],
    annotations: [],
    toolCalls: [],
  };
  for (const block of message.content) addBlock(block, draft, context);
  const called: Called = draft.toolCalls.length > 0 ? "tool_calls" : draft.functionCall && "function_call";
  const finish = finishReason(message, called);
  const refusal = finish === "content_filter" ? (explanationOf(message.extra) ?? null) : null;
  const head = { ...context, model: message.model || context.model };
  const beside = hasTold ? { usage: chatUsage(counts) } : {};
  return completionJson(head, { ...draft, refusal }, { logprobs: null, finish, beside });
}

function addBlock(block: ContentBlock, draft: Draft, context: AnswerContext): void {
  switch (block.type) {
    case ContentBlockType.TEXT: {
      const start = draft.text.length;
      draft.text += block.text ?? "";
      draft.annotations.push(...annotationsOf(citationsOf(block), start, draft.text.length));
      return;
    }
    case ContentBlockType.THINKING:
    case ContentBlockType.REDACTED_THINKING: {
      draft.reasoning += block.thinking ?? "";
      const piece = thinkingPiece(block);
      if (piece) draft.thinkingBlocks.push(piece);
      return;
    }
    case ContentBlockType.TOOL_USE:
      addCall(block, draft, context);
  }
}

function addCall(block: ContentBlock, draft: Draft, context: AnswerContext): void {
  const { kind, name, argumentNames } = calledTool(block, context);
  const { input: told = readToolInput(textOrEmpty(block.extra?.input)) } = block;
  const input = argumentNames && isObject(told) ? withNames(told, argumentNames) : told;
  const id = callId(block, draft.toolCalls.length, context);
  switch (kind) {
    case "function":
      draft.toolCalls.push({ id, type: "function", function: { name, arguments: JSON.stringify(input) } });
      return;
    case "custom":
      draft.toolCalls.push({ id, type: "custom", custom: { name, input: freeText(input) } });
      return;
    case "function_call":
      draft.functionCall ??= { name, arguments: JSON.stringify(input) };
      return;
    case "text":
      if (!draft.answered) draft.text += JSON.stringify(input);
      draft.answered = true;
  }
}
