/**
 * Translates why a message ended into the finish reason. Servers that only resemble the vendor's may say it in chat's
 * words, or in any other vendor's. Unknown stop reasons become `stop`, or name the call.
 */
import { FinishReason } from "../../../../gen/modelgateway/v1/chat_pb.ts";
import { StopReason } from "../../../../gen/modelgateway/v1/messages_pb.ts";
import { isObject, type JsonObject, type JsonValue, textOrEmpty } from "../../../wire/json.ts";
import { finishOf } from "../../finish-words.ts";

/** Called is the kind of call in the answer, as the caller sees it. */
export type Called = "tool_calls" | "function_call" | undefined;

/** Ending is how a message ended, as the upstream says it. */
interface Ending {
  readonly stopReason?: StopReason | undefined;
  readonly extra?: JsonObject | undefined;
}

/** otherWords are the stop reasons for other servers' words, which finishOf has made one of chat's. */
const otherWords: ReadonlyMap<FinishReason | undefined, StopReason> = new Map([
  [FinishReason.STOP, StopReason.END_TURN],
  [FinishReason.LENGTH, StopReason.MAX_TOKENS],
  [FinishReason.CONTENT_FILTER, StopReason.REFUSAL],
]);

function otherReason(word: JsonValue = null): StopReason | undefined {
  return word === "compaction" ? StopReason.END_TURN : otherWords.get(finishOf({ extra: { finish_reason: word } }));
}

export function finishReason({ stopReason, extra }: Ending, called: Called): string {
  switch (stopReason ?? otherReason(extra?.stop_reason)) {
    case StopReason.MAX_TOKENS:
    case StopReason.MODEL_CONTEXT_WINDOW_EXCEEDED:
      return "length";
    case StopReason.REFUSAL:
      return "content_filter";
    case StopReason.STOP_SEQUENCE:
    case StopReason.PAUSE_TURN:
      return "stop";
  }
  // A tool was called, which some servers call a plain end, or the reason is unknown. A call that is the answer's text is none to the caller.
  return called ?? "stop";
}

/** explanationOf returns the model's explanation of a refusal from `stop_details`, if it gave one. */
export function explanationOf(extra: JsonObject | undefined): string | undefined {
  const details = extra?.stop_details;
  return textOrEmpty(isObject(details) ? details.explanation : undefined) || undefined;
}
