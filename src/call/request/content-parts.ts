/**
 * Reads a message: whether it instructs, its calls, and its content, in which parts are chat's word and blocks that of the Messages API. A content
 * may be one text in their place.
 */
import { isObject, type JsonObject, type JsonValue, listOrEmpty } from "../../wire/json.ts";

/** blocksIn returns the blocks of a message; none where its content is a text. */
export function blocksIn(message: JsonValue | undefined): readonly JsonValue[] {
  return isObject(message) ? listOrEmpty(message.content) : [];
}

/** partsOf returns the parts of a content; a text is one of them, unless it is empty. */
export function partsOf(content: JsonValue | undefined): JsonValue[] {
  if (typeof content !== "string") return listOrEmpty(content);
  return content === "" ? [] : [{ type: "text", text: content }];
}

type Instruction = JsonObject & { readonly role: "system" | "developer" };

/** isInstruction reports a message, or an item, by its role. */
export function isInstruction(message: JsonValue | undefined): message is Instruction {
  return isObject(message) && (message.role === "system" || message.role === "developer");
}

/** callsMore reports whether a message of a chat has several calls. */
export function callsMore({ tool_calls: calls }: JsonObject): boolean {
  return listOrEmpty(calls).length > 1;
}
