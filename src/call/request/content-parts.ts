/** Reads the content of a message, in which parts are chat's word and blocks that of the Messages API. It may be one text in their place. */
import { isObject, type JsonValue, listOrEmpty } from "../../wire/json.ts";

/** blocksIn returns the blocks of a message; none where its content is a text. */
export function blocksIn(message: JsonValue | undefined): readonly JsonValue[] {
  return isObject(message) ? listOrEmpty(message.content) : [];
}

/** partsOf returns the parts of a content; a text is one of them, unless it is empty. */
export function partsOf(content: JsonValue | undefined): JsonValue[] {
  if (typeof content !== "string") return listOrEmpty(content);
  return content === "" ? [] : [{ type: "text", text: content }];
}
