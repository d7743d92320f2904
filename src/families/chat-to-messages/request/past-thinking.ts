/**
 * Signed thinking of an earlier turn → the blocks that Claude wants back, unchanged.
 *
 * Answers of this gateway and of LiteLLM have them in `thinking_blocks`, older ones of LiteLLM below
 * `provider_specific_fields`, those of OpenRouter in `reasoning_details`, whose text comes in pieces before its signature. Thinking of
 * another vendor, and what has no signature, is dropped and named.
 */
import type { ChatMessage } from "../../../../gen/modelgateway/v1/chat_pb.ts";
import { isFilledText, isObject, type JsonObject, type JsonValue, textOrEmpty } from "../../../wire/json.ts";
import type { Dropped } from "../../paths/dropped.ts";

/** thinkingKeys are the keys of a message that may hold thinking. */
export const thinkingKeys = ["thinking_blocks", "reasoning_details", "provider_specific_fields"] as const;

/** thinkingBlocks reads the first of the keys that has any thinking, and names what else there is. */
export function thinkingBlocks({ extra }: ChatMessage, path: string, dropped: Dropped): JsonObject[] {
  if (!extra) return [];
  const { thinking_blocks: given, reasoning_details: details, provider_specific_fields: specific } = extra;
  const own = blocksIn(given ?? null, `${path}.thinking_blocks`, dropped);
  const { thinking_blocks: older = null, ...others } = isObject(specific) ? specific : {};
  if (isObject(specific)) dropped.addExtra(others, `${path}.provider_specific_fields`);
  else dropped.addExtra({ provider_specific_fields: specific ?? null }, path);
  if (own.length > 0) {
    dropped.addExtra({ reasoning_details: details ?? null }, path);
    return own;
  }
  const inFields = blocksIn(older, `${path}.provider_specific_fields.thinking_blocks`, dropped);
  if (inFields.length === 0) return blocksOfDetails(details ?? null, `${path}.reasoning_details`, dropped);
  dropped.addExtra({ reasoning_details: details ?? null }, path);
  return inFields;
}

/** listOf returns a list; none where there is no value, or another one, which is named. */
function listOf(value: JsonValue, path: string, dropped: Dropped): readonly JsonValue[] {
  if (Array.isArray(value)) return value;
  if (value !== null) dropped.add(path);
  return [];
}

function blocksIn(given: JsonValue, path: string, dropped: Dropped): JsonObject[] {
  const blocks: JsonObject[] = [];
  for (const [i, value] of listOf(given, path, dropped).entries()) {
    const block = signedThinking(value);
    if (block) blocks.push(block);
    else dropped.add(`${path}[${i}]`);
  }
  return blocks;
}

function signedThinking(value: JsonValue): JsonObject | undefined {
  if (!isObject(value)) return undefined;
  const { type, thinking = "", signature, data } = value;
  if (type === "redacted_thinking") return isFilledText(data) ? { type, data } : undefined;
  if (type !== "thinking" || typeof thinking !== "string") return undefined;
  return isFilledText(signature) ? { type, thinking, signature } : undefined;
}

/** Piece is a part of a thought whose signature has not come. */
interface Piece {
  readonly text: string;
  readonly path: string;
}

/** blocksOfDetails joins the pieces of each index up to its signature. */
function blocksOfDetails(details: JsonValue, path: string, dropped: Dropped): JsonObject[] {
  const blocks: JsonObject[] = [];
  const waiting = new Map<JsonValue | undefined, Piece[]>();
  for (const [i, detail] of listOf(details, path, dropped).entries()) {
    const { type, format, text, signature, data, index } = isObject(detail) ? detail : {};
    const isClaudes = typeof format === "string" && format.startsWith("anthropic");
    if (isClaudes && type === "reasoning.encrypted" && isFilledText(data)) {
      blocks.push({ type: "redacted_thinking", data });
    } else if (isClaudes && type === "reasoning.text") {
      const pieces = waiting.get(index) ?? [];
      pieces.push({ text: textOrEmpty(text), path: `${path}[${i}]` });
      waiting.set(index, pieces);
      if (!isFilledText(signature)) continue;
      const thought = pieces.splice(0).map((piece) => piece.text);
      blocks.push({ type: "thinking", thinking: thought.join(""), signature });
    } else dropped.add(`${path}[${i}]`);
  }
  for (const unsigned of [...waiting.values()].flat()) dropped.add(unsigned.path);
  return blocks;
}
