/**
 * The content of a chat choice as a completion's choice, unary or streamed.
 *
 * A refusal counts as text. Reasoning does not: the text continues the prompt. No tools were given, so every end
 * other than a bound and a filter is `stop`.
 */
import {
  type AssistantMessage,
  type ChatCompletion,
  type ChatCompletionChunk,
  FinishReason,
} from "../../../../gen/modelgateway/v1/chat_pb.ts";
import type { JsonObject, JsonValue } from "../../../wire/json.ts";
import { readChatOutput } from "../../chat-output.ts";
import type { AnswerContext } from "../request/request.ts";

export function textOf(message: AssistantMessage | undefined): string {
  const { text, refusal } = readChatOutput(message);
  return text + refusal;
}

export function finishWord(reason: FinishReason | undefined): string {
  if (reason === FinishReason.LENGTH) return "length";
  return reason === FinishReason.CONTENT_FILTER ? "content_filter" : "stop";
}

/** completionChoice returns a choice with every key that clients know. A null finish reason means that more follows. */
export function completionChoice(
  index: number,
  text: string,
  logprobs: JsonValue,
  finishReason: string | null,
): JsonObject {
  return { text, index, logprobs, finish_reason: finishReason };
}

/** headOf returns what a completion, or each piece of one, has beside its choices. */
export function headOf(
  {
    created,
    model,
    systemFingerprint,
  }: Pick<ChatCompletion | ChatCompletionChunk, "created" | "model" | "systemFingerprint">,
  context: AnswerContext,
): JsonObject {
  return {
    id: context.id,
    object: "text_completion",
    created: Number(created) || context.now,
    model: model || context.model,
    ...(systemFingerprint === undefined ? {} : { system_fingerprint: systemFingerprint }),
  };
}
