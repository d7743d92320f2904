/** An item of a streamed response while it is told piece by piece, and as it is when no more comes. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isObject } from "../../wire/json.ts";

/** An item that has not ended. */
export interface OpenItem {
  readonly item: JsonObject;
  /** By the place of their part. */
  readonly texts: Map<JsonValue, { readonly type: string; readonly text: TextBuilder }>;
  /** What a call is given. */
  readonly input: TextBuilder;
}

/** How many pieces are put together at once: a text that grows by each keeps all of them as they came. */
const piecesAtOnce = 64;

export class TextBuilder {
  #text = "";
  #pieces: string[] = [];

  add(piece: string): void {
    if (this.#pieces.push(piece) < piecesAtOnce) return;
    this.#text += this.#pieces.join("");
    this.#pieces = [];
  }

  toString(): string {
    return this.#text + this.#pieces.join("");
  }
}

/** Whether it is an item whose text, or whose arguments, were left out. */
export function isEmptyItem(item: JsonValue): item is JsonObject {
  if (!isObject(item)) return false;
  if (item.type === "function_call") return !item.arguments;
  if (item.type === "custom_tool_call") return !item.input;
  const { content } = item;
  if (item.type !== "message") return false;
  return !Array.isArray(content) || !content.some((part) => isObject(part) && (part.text || part.refusal));
}

/** Returns an item of which nothing more has been told yet. */
export function openItem(item: JsonObject): OpenItem {
  return { item, texts: new Map(), input: new TextBuilder() };
}

/** Returns an item that was told in pieces, or as it began; undefined where it says nothing that its caller could use. */
export function closeItem({ item, texts, input: given }: OpenItem, status: string): JsonObject | undefined {
  const input = given.toString();
  if (item.type === "function_call") return { ...item, status, arguments: input || (item.arguments ?? "") };
  if (item.type === "custom_tool_call") return { ...item, status, input: input || (item.input ?? "") };
  if (item.type !== "message") return undefined;
  if (texts.size === 0) return Array.isArray(item.content) && item.content.length > 0 ? { ...item, status } : undefined;
  const content = [...texts.values()].map(({ type, text: told }) => {
    const text = told.toString();
    return type === "refusal" ? { type, refusal: text } : { type, text, annotations: [], logprobs: [] };
  });
  return { ...item, status, content };
}
