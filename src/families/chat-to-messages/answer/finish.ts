/** Translates why a message ended into the finish reason. Unknown stop reasons become `stop`, or name the call. */
import { StopReason } from "../../../../gen/modelgateway/v1/messages_pb.ts";
import type { JsonObject } from "../../../wire/json.ts";

/** Called is the kind of call in the answer, as the caller sees it. */
export type Called = "tool_calls" | "function_call" | undefined;

export function finishReason(reason: StopReason | undefined, called: Called): string {
  switch (reason) {
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

/** Returns the model's explanation of a refusal from `stop_details`, if it gave one. */
export function explanationOf(extra: JsonObject | undefined): string | undefined {
  const details = extra?.stop_details;
  if (typeof details !== "object" || details === null || Array.isArray(details)) return undefined;
  return typeof details.explanation === "string" && details.explanation !== "" ? details.explanation : undefined;
}
