/**
 * Translates why a message ended into the finish reason. Servers that only resemble the vendor's may say it in chat's
 * words. Unknown stop reasons become `stop`, or name the call.
 */
import { StopReason } from "../../../../gen/modelgateway/v1/messages_pb.ts";
import type { JsonObject } from "../../../wire/json.ts";

/** Called is the kind of call in the answer, as the caller sees it. */
export type Called = "tool_calls" | "function_call" | undefined;

/** Ending is how a message ended, as the upstream says it. */
interface Ending {
  readonly stopReason?: StopReason | undefined;
  readonly extra?: JsonObject | undefined;
}

const otherWords: ReadonlyMap<string, StopReason> = new Map([
  ["stop", StopReason.END_TURN],
  ["length", StopReason.MAX_TOKENS],
  ["max_tokens", StopReason.MAX_TOKENS],
  ["content_filter", StopReason.REFUSAL],
  ["compaction", StopReason.END_TURN],
]);

export function finishReason({ stopReason, extra }: Ending, called: Called): string {
  const word = extra?.stop_reason;
  switch (stopReason ?? (typeof word === "string" ? otherWords.get(word.toLowerCase()) : undefined)) {
    case StopReason.MAX_TOKENS:
    case StopReason.MODEL_CONTEXT_WINDOW_EXCEEDED:
      return "length";
    case StopReason.REFUSAL:
      return "content_filter";
    case StopReason.END_TURN:
    case StopReason.STOP_SEQUENCE:
    case StopReason.PAUSE_TURN:
      return "stop";
  }
  // A tool was called, or the reason is unknown. A call that is the answer's text is none to the caller.
  return called ?? "stop";
}

/** explanationOf returns the model's explanation of a refusal from `stop_details`, if it gave one. */
export function explanationOf(extra: JsonObject | undefined): string | undefined {
  const details = extra?.stop_details;
  if (typeof details !== "object" || details === null || Array.isArray(details)) return undefined;
  return typeof details.explanation === "string" && details.explanation !== "" ? details.explanation : undefined;
}
