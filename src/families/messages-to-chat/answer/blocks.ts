/**
 * The blocks of an answer, with every key that clients of the Messages API know.
 *
 * A chat model's reasoning has no signature, but clients want one that is a string: it is empty. What has been sealed of
 * reasoning stands in its place, or where none of it is shown in a block that shows nothing.
 */
import type { JsonObject } from "../../../wire/json.ts";
import type { ToolIds, ToolNames } from "../tool-names.ts";

export function thinkingBlock(thinking: string, signature = ""): JsonObject {
  return { type: "thinking", thinking, signature };
}

export function redactedBlock(data: string): JsonObject {
  return { type: "redacted_thinking", data };
}

export function textBlock(text: string): JsonObject {
  return { type: "text", text, citations: null };
}

/** Holds the signature of the text before it, which callers send back unread. */
export function signatureBlock(signature: string): JsonObject {
  return { type: "redacted_thinking", data: signature };
}

/** A call whose name was never told is kept under a name that no tool has: its caller says so to the model. */
export function toolUseBlock(
  call: { readonly id: string; readonly name: string; readonly signature: string },
  input: JsonObject,
  ids: ToolIds,
  names: ToolNames,
): JsonObject {
  const name = names.toCaller(call.name) || "unknown";
  return { type: "tool_use", id: ids.next(call.id, call.signature), name, input, caller: { type: "direct" } };
}
