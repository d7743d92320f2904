/** Writes a chat completion of one choice, with every key that strict clients require. */
import type { JsonObject } from "../../wire/json.ts";
import type { AnswerHead } from "./chunk-writer.ts";

/** Said is what the model said. Empty texts and lists say nothing. */
export interface Said {
  readonly text: string;
  /** refusal is null where the model has not refused. */
  readonly refusal: string | null;
  readonly reasoning: string;
  readonly thinkingBlocks: readonly JsonObject[];
  readonly annotations: readonly JsonObject[];
  readonly toolCalls: readonly JsonObject[];
  /** functionCall is a call in the oldest form of tools. */
  readonly functionCall: JsonObject | undefined;
}

/** Rest is what a completion has besides what was said. */
interface Rest {
  readonly logprobs: JsonObject | null;
  readonly finish: string;
  /** beside are members beside the choices: the usage, and the tier. */
  readonly beside: JsonObject;
}

export function completionJson(head: Omit<AnswerHead, "includeUsage">, said: Said, rest: Rest): JsonObject {
  const { id, created, model } = head;
  const { logprobs, finish, beside } = rest;
  const choice = { index: 0, message: messageOf(said), logprobs, finish_reason: finish };
  return { id, object: "chat.completion", created, model, choices: [choice], ...beside };
}

function messageOf({ text, refusal, ...said }: Said): JsonObject {
  const { reasoning, functionCall, thinkingBlocks, annotations, toolCalls } = said;
  const isSilent = text === "" && (toolCalls.length > 0 || functionCall !== undefined || refusal !== null);
  return {
    role: "assistant",
    content: isSilent ? null : text,
    refusal,
    ...(reasoning === "" ? {} : { reasoning_content: reasoning }),
    ...(thinkingBlocks.length === 0 ? {} : { thinking_blocks: [...thinkingBlocks] }),
    ...(annotations.length === 0 ? {} : { annotations: [...annotations] }),
    ...(toolCalls.length === 0 ? {} : { tool_calls: [...toolCalls] }),
    ...(functionCall ? { function_call: functionCall } : {}),
  };
}
