/** Tells chats with calls or results of tools from all others, which need nothing of what mends these. */
import { type CooperativeTask, endsSlice } from "../../runtime/cooperative.ts";
import { isObject, type JsonValue } from "../../wire/json.ts";

/** hasToolTurns reports whether a message of a chat has calls, or is the result of one. */
export function* hasToolTurns(messages: readonly JsonValue[]): CooperativeTask<boolean> {
  for (const [i, message] of messages.entries()) {
    if (endsSlice(i)) yield;
    if (isObject(message) && (message.tool_calls !== undefined || message.role === "tool")) return true;
  }
  return false;
}
