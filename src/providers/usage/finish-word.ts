/** Reads why an answer ended, in whichever form a server writes it, as one word that can be looked up. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isObject } from "../../wire/is-object.ts";

/** unfinished are the words that say that an answer goes on, as null does. */
const unfinished: ReadonlySet<string> = new Set(["", "null", "none", "undefined", "unspecified", "not_finished"]);

/**
 * finishWord returns a finish reason as it is compared, in lower case with underscores; empty where the answer goes on. It removes the
 * name of an enumeration before the word (`FinishReason.STOP`, `FINISH_REASON_STOP`) and that of a filter behind a colon
 * (`content_filter: SAFETY`).
 * SGLang has the word in an object.
 */
export function finishWord(reason: JsonValue | undefined): string {
  if (isObject(reason)) return isObject(reason.type) ? "" : finishWord(reason.type);
  // The first of an enumeration is the one for no reason yet.
  if (typeof reason === "number") return reason === 0 ? "" : `${reason}`;
  if (typeof reason !== "string") return "";
  if (chatWords.has(reason)) return reason; // Most are as they are compared.
  const words = reason
    .trim()
    .replace(/:.*$/s, "")
    .replace(/^(?:finish|stop)_?reason[._]/i, "")
    .replaceAll(/(?<=[a-z])(?=[A-Z])|[\s-]+/g, "_")
    .toLowerCase();
  return unfinished.has(words) ? "" : words;
}

/** ChatWord is a finish reason of chat. */
export type ChatWord = "stop" | "length" | "tool_calls" | "content_filter" | "function_call";

/** chatWords are the words that servers have for each. */
const chatWords: ReadonlyMap<string, ChatWord> = new Map([
  ...["stop", "end_turn", "stop_sequence", "complete", "eos", "eos_token", "word"].map(meaning("stop")),
  ...["length", "max_tokens", "max_output_tokens", "model_length", "max_length"].map(meaning("length")),
  ...["max_new_tokens", "max_completion_tokens", "token_limit", "time_limit"].map(meaning("length")),
  ...["model_context_window_exceeded", "context_length_exceeded", "error_limit"].map(meaning("length")),
  ...["length_limit", "max_tokens_reached", "output_limit", "truncated", "incomplete", "limit"].map(meaning("length")),
  // vLLM cuts off a text that repeats itself.
  ["repetition", "length"],
  ...["tool_calls", "tool_call", "tool_use", "tool_calling", "function_calls"].map(meaning("tool_calls")),
  ...["content_filter", "content_filtered", "safety", "recitation", "prohibited_content", "blocklist"].map(
    meaning("content_filter"),
  ),
  ...["spii", "image_safety", "error_toxic", "refusal", "sensitive"].map(meaning("content_filter")),
  ...["image_prohibited_content", "image_recitation"].map(meaning("content_filter")),
  ...["guardrail_intervened", "model_armor", "language", "blocked", "filtered"].map(meaning("content_filter")),
  ["function_call", "function_call"],
]);

function meaning(chatWord: ChatWord): (word: string) => readonly [string, ChatWord] {
  return (word) => [word, chatWord];
}

/**
 * chatWordOf returns a finish reason as chat has it, whichever family's word it is, or vendor's: Anthropic's, Google's, Cohere's, Mistral's,
 * IBM's. It is undefined for a word that nobody knows, and while the answer goes on.
 */
export function chatWordOf(reason: JsonValue | undefined): ChatWord | undefined {
  return chatWords.get(finishWord(reason));
}

/** callsSomething reports whether a `function_call` has a name or arguments: some servers have the key in every message. */
export function callsSomething(legacy: JsonValue | undefined): legacy is JsonObject {
  return isObject(legacy) && Boolean(legacy.name || legacy.arguments);
}

/** OwnEnd is how a choice ends for clients of chat or of text completions. */
export interface OwnEnd {
  /** finish_reason is null while the choice goes on. */
  readonly finish_reason: JsonValue;
  /** native_finish_reason is the server's own word, as OpenRouter tells it. */
  readonly native_finish_reason?: string;
}

/**
 * ownEnd returns the end of a choice in OpenAI's words, beside which the server's own word stands; undefined where the server says it so. A
 * word that nobody knows is a plain end: OpenAI's SDK for .NET, enumerations of typed clients and some agents throw at any other.
 */
export function ownEnd(reason: JsonValue, words: ReadonlySet<JsonValue>): OwnEnd | undefined {
  if (reason === null || words.has(reason)) return undefined;
  if (!isFinished(reason)) return { finish_reason: null };
  const word = chatWordOf(reason) ?? "stop";
  const own = words.has(word) ? word : "stop";
  return { finish_reason: own, ...(typeof reason === "string" ? { native_finish_reason: reason } : {}) };
}

/** endsOfChat are the finish reasons of chat, endsOfText those of text completions. */
export const endsOfText: ReadonlySet<JsonValue> = new Set(["stop", "length", "content_filter"]);
export const endsOfChat: ReadonlySet<JsonValue> = new Set([...endsOfText, "tool_calls", "function_call"]);

/** The stop reasons of messages, by what they are in chat. */
const messageWords: Readonly<Record<ChatWord, string>> = {
  stop: "end_turn",
  length: "max_tokens",
  tool_calls: "tool_use",
  function_call: "tool_use",
  content_filter: "refusal",
};

/** ownWords are the words of Anthropic that stand for another in chat. */
const ownWords: ReadonlySet<JsonValue | undefined> = new Set([
  ...["end_turn", "max_tokens", "stop_sequence", "tool_use", "refusal", "model_context_window_exceeded"],
]);

/**
 * messageWordOf returns a stop reason as messages have it; the same one where that is Anthropic's own, or nobody knows it. A plain end
 * after a call (`hasCalled`), as servers that resemble Anthropic's may say it, is the call.
 */
export function messageWordOf(reason: JsonValue | undefined, hasCalled: boolean): JsonValue | undefined {
  if (reason === "end_turn" && hasCalled) return "tool_use";
  const word = ownWords.has(reason) ? undefined : chatWordOf(reason);
  if (word === undefined) return reason;
  const own = finishWord(reason);
  if (ownWords.has(own)) return own === "end_turn" && hasCalled ? "tool_use" : own;
  return messageWords[word === "stop" && hasCalled ? "tool_calls" : word];
}

/** isFinished reports whether a finish reason says that the answer has ended. */
export function isFinished(reason: JsonValue | undefined): boolean {
  return finishWord(reason) !== "";
}
