/**
 * What a choice of a chat answer says, as the parts of a completion's choice, whole or streamed.
 *
 * A refusal of the model's is its text. Reasoning is not: the text is what goes on with the prompt. No tools were given,
 * so every end but a bound and a filter is `stop`.
 */
import { type AssistantMessage, type ChunkChoice, FinishReason } from "../../../../gen/modelgateway/v1/chat_pb.ts";
import type { JsonObject, JsonValue } from "../../../wire/json.ts";

export function textOf(message: AssistantMessage | undefined): string {
  return (message?.content ?? "") + (message?.refusal ?? "");
}

/** Whether the choice ends here; vendors have words of their own for it. */
export function hasEnded({ finishReason, extra }: Pick<ChunkChoice, "finishReason" | "extra">): boolean {
  const word = extra?.finish_reason;
  return Boolean(finishReason) || (typeof word === "string" && word !== "");
}

export function finishWord(reason: FinishReason | undefined): string {
  if (reason === FinishReason.LENGTH) return "length";
  return reason === FinishReason.CONTENT_FILTER ? "content_filter" : "stop";
}

/** Returns a choice with every key that clients know. A finish reason of null says that more is to come. */
export function completionChoice(
  index: number,
  text: string,
  logprobs: JsonValue,
  finishReason: string | null,
): JsonObject {
  return { text, index, logprobs, finish_reason: finishReason };
}
