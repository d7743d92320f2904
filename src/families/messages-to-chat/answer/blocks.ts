/**
 * The blocks of an answer, with every key that clients of the Messages API know.
 *
 * A chat model's reasoning has no signature, and clients require a string: it is empty, or the seal of the reasoning.
 * Sealed reasoning without visible text becomes a redacted block.
 */
import type { JsonObject } from "../../../wire/json.ts";
import type { ToolIds, ToolNames } from "../tool-names.ts";

export function thinkingBlock(thinking: string, signature = ""): JsonObject {
  return { type: "thinking", thinking, signature };
}

export function redactedBlock(data: string): JsonObject {
  return { type: "redacted_thinking", data };
}

/** textBlock has a list of citations, if an empty one: Anthropic's SDK for Java cannot add those of deltas to null, and the AI SDK refuses it. */
export function textBlock(text: string, citations: JsonObject[] = []): JsonObject {
  return { type: "text", text, citations };
}

/** signatureBlock holds the signature of the text before it. Callers send it back unread. */
export function signatureBlock(signature: string): JsonObject {
  return { type: "redacted_thinking", data: signature };
}

/** toolUseBlock returns a call. A call without a name gets one that no tool has, so that its caller reports it to the model. */
export function toolUseBlock(
  call: { readonly id: string; readonly name: string; readonly signature: string },
  input: JsonObject,
  ids: ToolIds,
  names: ToolNames,
): JsonObject {
  const name = names.toCaller(call.name) || "unknown";
  return { type: "tool_use", id: ids.next(call.id, call.signature), name, input, caller: { type: "direct" } };
}

/**
 * imageText tells of an image that the model made, for which answers of the Messages API have no place: the address of one of the web. An
 * image of data would come back as text with every turn.
 */
export function imageText(url: string): string {
  return url.startsWith("data:") ? "[An image, which the Messages API cannot carry.]" : `![image](${url})`;
}
