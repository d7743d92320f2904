/** OpenItem is an item of a streamed response that comes in pieces. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isObject } from "../../wire/json.ts";

/** OpenItem has not ended. */
export interface OpenItem {
  readonly item: JsonObject;
  /** By the index of the content part. */
  readonly texts: Map<JsonValue, { readonly type: string; readonly text: TextBuilder }>;
  /** The input of a call. */
  readonly input: TextBuilder;
}

/** Pieces joined at once. Concatenating each piece would keep all of them alive. */
const piecesAtOnce = 64;

export class TextBuilder {
  #text = "";
  #pieces: string[] = [];

  get isEmpty(): boolean {
    return this.#text === "" && this.#pieces.length === 0;
  }

  add(piece: string): void {
    if (piece === "") return;

    if (this.#pieces.push(piece) < piecesAtOnce) return;
    this.#text += this.#pieces.join("");
    this.#pieces = [];
  }

  toString(): string {
    return this.#text + this.#pieces.join("");
  }
}

/** isEmptyItem reports an item without its text or arguments. */
export function isEmptyItem(item: JsonValue): item is JsonObject {
  if (!isObject(item)) return false;
  if (item.type === "function_call") return !item.arguments;
  if (item.type === "custom_tool_call") return !item.input;
  const { content } = item;
  if (item.type !== "message") return false;
  return !Array.isArray(content) || !content.some((part) => isObject(part) && (part.text || part.refusal));
}

/** openItem returns an item without any pieces yet. */
export function openItem(item: JsonObject): OpenItem {
  return { item, texts: new Map(), input: new TextBuilder() };
}

/** closeItem returns the item from its pieces, or as it began; undefined where it has nothing that the caller could use. */
export function closeItem({ item, texts, input: given }: OpenItem, status: string): JsonObject | undefined {
  const input = given.toString();
  if (item.type === "function_call") return { ...item, status, arguments: input || (item.arguments ?? "") };
  if (item.type === "custom_tool_call") return { ...item, status, input: input || (item.input ?? "") };
  if (item.type !== "message") return undefined;
  if (texts.size === 0) return Array.isArray(item.content) && item.content.length > 0 ? { ...item, status } : undefined;
  const content = [...texts.values()].map(({ type, text: content }) => {
    const text = content.toString();
    return type === "refusal" ? { type, refusal: text } : { type, text, annotations: [], logprobs: [] };
  });
  return { ...item, status, content };
}
