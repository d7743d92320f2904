/** OpenItem is an item of a streamed response that comes in pieces. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isObject } from "../../wire/json.ts";

/** OpenItem has not ended. */
export interface OpenItem {
  readonly item: JsonObject;
  /** By the type and the index of the part. */
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
  const { content, summary } = item;
  if (item.type === "reasoning") return !saysAnything(summary) && !saysAnything(content);
  return item.type === "message" && !saysAnything(content);
}

function saysAnything(parts: JsonValue | undefined): boolean {
  return Array.isArray(parts) && parts.some((part) => isObject(part) && (part.text || part.refusal));
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
  if (item.type === "reasoning") return closeReasoning({ item, texts, input: given }, status);
  if (item.type !== "message") return undefined;
  const told = [...texts.values()].filter(({ type }) => !isReasoningPart(type));
  if (told.length === 0)
    return Array.isArray(item.content) && item.content.length > 0 ? { ...item, status } : undefined;
  const content = told.map(({ type, text: content }) => {
    const text = content.toString();
    return type === "refusal" ? { type, refusal: text } : { type, text, annotations: [], logprobs: [] };
  });
  return { ...item, status, content };
}

/** isReasoningPart reports the types of parts that reasoning is told in. */
export function isReasoningPart(type: string | undefined): boolean {
  return type === "reasoning_text" || type === "summary_text";
}

/** closeReasoning returns undefined for reasoning that was neither told nor sealed. */
function closeReasoning({ item, texts }: OpenItem, status: string): JsonObject | undefined {
  const told = [...texts.values()].map(({ type, text }) => ({ type, text: text.toString() }));
  if (told.length === 0 && !item.encrypted_content) return undefined;
  const summary = told.filter(({ type }) => type === "summary_text");
  const content = told.filter(({ type }) => type === "reasoning_text");
  const known = item.status === undefined ? {} : { status };
  return { ...item, ...known, summary, ...(content.length > 0 ? { content } : {}) };
}
