/**
 * The content of a chat message in parts of text and thinking, as Mistral's reasoning models write it → a text and `reasoning_content`.
 * Clients of chat take a text for granted: some print `[object Object]`, others throw. Parts of other kinds pass as they came.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isObject } from "../../wire/json.ts";

/** withPlainContent returns a message, or the next part of one, whose content is a text; the same object where it is, or cannot be one. */
export function withPlainContent(message: JsonObject): JsonObject {
  const { content } = message;
  const told = isObject(content) ? [content] : content;
  if (!Array.isArray(told)) return message;
  const parts = told.map(said);
  if (!parts.every((part) => part !== undefined)) return message;
  const text = parts.map((part) => part.text ?? "").join("");
  const thinking = parts.map((part) => part.thinking ?? "").join("");
  const hasText = thinking === "" || text !== "";
  return { ...message, content: hasText ? text : null, ...(thinking === "" ? {} : { reasoning_content: thinking }) };
}

interface Said {
  readonly text?: string;
  readonly thinking?: string;
}

/** The members of a part that is nothing but a text or thinking. */
const plain: ReadonlySet<string> = new Set(["type", "text", "thinking", "closed"]);

/** said returns what a part says; undefined where it has more than a text or thinking. */
function said(part: JsonValue): Said | undefined {
  if (typeof part === "string") return { text: part };
  if (!isObject(part) || !Object.keys(part).every((key) => plain.has(key))) return undefined;
  const { text, thinking } = part;
  if (typeof text === "string") return { text };
  if (typeof thinking === "string") return { thinking };
  const inner = Array.isArray(thinking) ? thinking.map(said) : [undefined];
  return inner.every((one) => one !== undefined)
    ? { thinking: inner.map((one) => one.text ?? "").join("") }
    : undefined;
}
