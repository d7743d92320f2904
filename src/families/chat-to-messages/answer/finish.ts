/**
 * Why an answer ended, in the chat API's words; a word of the other API's never gets through.
 */
import { StopReason } from "../../../../gen/modelgateway/v1/messages_pb.ts";
import type { JsonObject } from "../../../wire/json.ts";

/** What the answer calls, as its caller sees it. */
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
  // A tool was called, or nobody knows; a call that is the answer's text is none to the caller.
  return called ?? "stop";
}

/** Returns why the model refused, where it says so: beside the stop reason, in `stop_details`. */
export function explanationOf(extra: JsonObject | undefined): string | undefined {
  const details = extra?.stop_details;
  if (typeof details !== "object" || details === null || Array.isArray(details)) return undefined;
  return typeof details.explanation === "string" && details.explanation !== "" ? details.explanation : undefined;
}
