/** Describes what the translation of an answer needs, and what unary and streamed answers share. */
import { sealReasoning } from "../../../providers/profile/reasoning-seal.ts";
import { isFilledText, isObject, type JsonObject, type JsonValue, textOrEmpty } from "../../../wire/json.ts";
import type { AnswerHead } from "../../chat-answers/chunk-writer.ts";

export interface AnswerContext extends AnswerHead {
  /** The upstream's hash (`providers/profile/reasoning-seal.ts`). */
  readonly maker: string;
  /** isLegacy is whether the request used the legacy `functions`, so that a call is a `function_call`. */
  readonly isLegacy: boolean;
}

/** Separates the texts of several messages: a model comments its work before it answers. */
export const betweenMessages = "\n\n";

/** finishOf returns the finish reason. `hasCalls` says that the model calls tools. */
export function finishOf(
  { status, incomplete_details }: JsonObject,
  hasCalls: boolean,
  { isLegacy }: AnswerContext,
): string {
  const details = isObject(incomplete_details) ? incomplete_details : {};
  if (status === "incomplete") return details.reason === "content_filter" ? "content_filter" : "length";
  if (!hasCalls) return "stop";
  return isLegacy ? "function_call" : "tool_calls";
}

/** textIn returns the joined texts of parts of these types. A string in place of parts is text. */
export function textIn(parts: JsonValue | undefined, types: readonly string[], key: string, between = ""): string {
  if (typeof parts === "string") return types.includes("output_text") ? parts : "";
  if (!Array.isArray(parts)) return "";
  return parts
    .filter(isObject)
    .filter(({ type }) => typeof type === "string" && types.includes(type))
    .map((part) => textOrEmpty(part[key]))
    .join(between);
}

/** reasoningIn returns the visible text of an item of reasoning: its summary, else its content. */
export function reasoningIn({ summary, content }: JsonObject): string {
  return textIn(summary, ["summary_text"], "text", "\n\n") || textIn(content, ["reasoning_text"], "text");
}

/**
 * reasoningBlock returns the block that callers send back for an item of reasoning, so that the next turn has it again; undefined where its
 * vendor does not want it back. `calls` is the number of calls before it.
 */
export function reasoningBlock(item: JsonObject, calls: number, maker: string): JsonObject | undefined {
  const { id, encrypted_content: encrypted } = item;
  if (!isFilledText(encrypted)) return undefined;
  const seal = sealReasoning({ maker, id: textOrEmpty(id), encrypted, calls });
  const thinking = reasoningIn(item);
  return thinking === "" ? { type: "redacted_thinking", data: seal } : { type: "thinking", thinking, signature: seal };
}

/** callOf returns a call in chat's form, with or without its input. */
export function callOf(item: JsonObject, hasInput: boolean): JsonObject {
  const { type, call_id, name, id: itemId, input } = item;
  const called = { name: textOrEmpty(name) };
  // A call without an id could not be answered.
  const id = textOrEmpty(call_id) || textOrEmpty(itemId);
  return type === "custom_tool_call"
    ? { id, type: "custom", custom: { ...called, input: hasInput ? textOrEmpty(input) : "" } }
    : { id, type: "function", function: { ...called, arguments: hasInput ? argumentsIn(item) : "" } };
}

/** argumentsIn returns the arguments of a function call as JSON. Some servers send the object itself. */
export function argumentsIn({ arguments: args }: JsonObject): string {
  return isObject(args) ? JSON.stringify(args) : textOrEmpty(args);
}

export function isCall({ type }: JsonObject): boolean {
  return type === "function_call" || type === "custom_tool_call";
}

/** sourcesIn returns the sources that are web pages. */
export function sourcesIn(annotations: JsonValue | undefined): JsonObject[] {
  if (!Array.isArray(annotations)) return [];
  return annotations.filter(isObject).flatMap(({ type, url, title, start_index = 0, end_index = 0 }) => {
    if (type !== "url_citation" || typeof url !== "string") return [];
    return [{ type, url_citation: { start_index, end_index, title: textOrEmpty(title) || url, url } }];
  });
}

export function logprobsOf(tokens: readonly JsonValue[]): JsonObject | null {
  return tokens.length === 0 ? null : { content: [...tokens], refusal: null };
}
