/**
 * ChatOutput is what a chat model puts out, in a unary message or the next delta of a stream, in whichever form its
 * vendor writes it.
 *
 * Reasoning is `reasoning_content`, `reasoning`, `reasoning_text`, `reasoning_details`, or parts of the content; content may be a part or
 * a list of them, which may be mere texts, the JSON that was asked for, or what is spoken; arguments may be an object instead of text, and
 * may stand beside the name in the call itself; `function_call` is a call, too, and an empty object is none. A call's index is undefined
 * where the vendor gives none, and its id and name are empty where they did not come.
 */
import { create } from "@bufbuild/protobuf";
import {
  type AssistantMessage,
  AssistantMessageSchema,
  type Choice,
  type ChunkChoice,
  type ToolCall,
  ToolCallSchema,
} from "../../gen/modelgateway/v1/chat_pb.ts";
import { upstreamFailed } from "../call/refusals.ts";
import type { CallPiece } from "../call/tools/call-list.ts";
import { isSealedReasoning } from "../providers/profile/reasoning-seal.ts";
import { isFilledText, isObject, type JsonObject, type JsonValue, textOrEmpty } from "../wire/json.ts";
import { readMessage } from "../wire/read.ts";
import { signatureOf } from "./call-signature.ts";

export interface ChatOutput {
  readonly reasoning: string;
  /** The sealed reasoning, block by block. */
  readonly sealed: readonly SealedThinking[];
  readonly text: string;
  readonly refusal: string;
  readonly calls: readonly CallPiece[];
  /** The vendor's signature of the text; empty without one. */
  readonly signature: string;
  /** OpenRouter's signed and encrypted reasoning, which it wants back. */
  readonly details: readonly JsonObject[];
  /** Blocks of thinking that a vendor signed, which an aggregator passes on and wants back. */
  readonly signed: readonly JsonObject[];
  /** The addresses of images that the model made, of data or of the web. */
  readonly images: readonly string[];
}

/** SealedThinking is reasoning that was sealed (`providers/profile/reasoning-seal.ts`). */
export interface SealedThinking {
  /** The visible text; empty without one. */
  readonly thinking: string;
  readonly seal: string;
}

const nothing: ChatOutput = {
  reasoning: "",
  sealed: [],
  text: "",
  refusal: "",
  calls: [],
  signature: "",
  details: [],
  signed: [],
  images: [],
};

/** deltaOf returns the next part of a choice. Some vendors have it in `message`, as in a unary answer, or in `text`, as in a completion. */
export function deltaOf({ delta, extra }: Pick<ChunkChoice, "delta" | "extra">): AssistantMessage | undefined {
  if (delta || !isObject(extra?.message)) return delta ?? messageOfText(extra);
  return readMessage(AssistantMessageSchema, extra.message, { lenient: true });
}

/** messageIn returns the message of a choice. Some vendors have a text instead, as in a completion. */
export function messageIn({ message, extra }: Pick<Choice, "message" | "extra">): AssistantMessage | undefined {
  return message ?? messageOfText(extra);
}

/** onlyChoice returns the one choice that was asked for, whatever number its server gives it. Throws a Refusal where there is none. */
export function onlyChoice<C extends Pick<Choice, "index">>(choices: readonly C[]): C {
  const choice = choices.find(({ index }) => index === 0) ?? choices[0];
  if (!choice) throw upstreamFailed("its answer is empty");
  return choice;
}

/** summaryIn returns the text of a model that was asked to sum its conversation up. Throws a Refusal where it is empty. */
export function summaryIn(text: string): string {
  const summary = text.trim();
  if (summary === "") throw upstreamFailed("it did not sum the conversation up");
  return summary;
}

function messageOfText(extra: JsonObject | undefined): AssistantMessage | undefined {
  const text = textOrEmpty(extra?.text);
  return text === "" ? undefined : create(AssistantMessageSchema, { content: text });
}

export function readChatOutput(message: AssistantMessage | undefined): ChatOutput {
  if (!message) return nothing;
  const { content, refusal = "", toolCalls, functionCall, audio, extra } = message;
  const calls = [...toolCalls, ...onlyCall(extra?.tool_calls)].map(callOf).filter(saysSomething);
  // Some servers have the key in every message: without a name and arguments it calls nothing.
  if (functionCall?.name || functionCall?.arguments) calls.push(callOf({ index: 0, function: functionCall }));
  const parts = partsOf(extra?.content);
  const details = Array.isArray(extra?.reasoning_details) ? extra.reasoning_details.filter(isObject) : [];
  return {
    reasoning: message.reasoningContent || otherReasoning(extra, parts) || detailedText(details),
    sealed: sealedIn(extra?.thinking_blocks),
    text: (content ?? (textIn(parts) || valueIn(extra?.content))) || (audio?.transcript ?? ""),
    refusal,
    calls,
    signature: signatureOf(extra) || signatureIn(parts),
    details: wantedBack(details),
    signed: signedIn(extra?.thinking_blocks),
    images: [...partsOf(extra?.images), ...parts].map(imageIn).filter((url) => url !== ""),
  };
}

/** imageIn returns the address of an image, which OpenRouter has in a list beside the content and others in a part of it. */
function imageIn(part: JsonValue): string {
  const { image_url: image } = isObject(part) ? part : {};
  return textOrEmpty(isObject(image) ? image.url : image);
}

/**
 * wantedBack returns the signed and encrypted details. Of several signatures in one message each gets its text: the pieces of its index
 * up to it.
 */
function wantedBack(details: readonly JsonObject[]): JsonObject[] {
  const wanted = details.filter(isWantedBack);
  if (wanted.filter(({ type }) => type === "reasoning.text").length < 2) return wanted;
  const texts = new Map<JsonValue | undefined, string>();
  return details.flatMap((detail) => {
    const { type, index } = detail;
    if (type !== "reasoning.text") return isWantedBack(detail) ? [detail] : [];
    const text = (texts.get(index) ?? "") + textOrEmpty(detail.text);
    texts.set(index, isWantedBack(detail) ? "" : text);
    return isWantedBack(detail) ? [{ ...detail, text }] : [];
  });
}

function isWantedBack({ type, signature }: JsonObject): boolean {
  return type === "reasoning.encrypted" || isFilledText(signature);
}

/** otherReasoning reads Ollama's and vLLM's name, GitHub Copilot's, and Mistral's parts. */
function otherReasoning(extra: JsonObject | undefined, parts: readonly JsonValue[]): string {
  return (textOrEmpty(extra?.reasoning) || textOrEmpty(extra?.reasoning_text)) + thinkingIn(parts);
}

function partsOf(content: JsonValue | undefined): readonly JsonValue[] {
  if (Array.isArray(content)) return content;
  return isObject(content) ? [content] : [];
}

function detailedText(details: readonly JsonObject[]): string {
  return details.map(({ text, summary }) => textOrEmpty(text) || textOrEmpty(summary)).join("");
}

/** signatureIn returns the last signature of the parts: it covers all of the text. */
function signatureIn(parts: readonly JsonValue[]): string {
  const signatures = parts.map((part) => signatureOf(part as JsonObject | undefined));
  return signatures.findLast((signature) => signature !== "") ?? "";
}

function sealedIn(blocks: JsonValue | undefined): SealedThinking[] {
  if (!Array.isArray(blocks)) return [];
  return blocks.filter(isObject).flatMap(({ thinking, signature, data }) => {
    const seal = isSealedReasoning(signature) ? signature : data;
    return isSealedReasoning(seal) ? [{ thinking: textOrEmpty(thinking), seal }] : [];
  });
}

function signedIn(blocks: JsonValue | undefined): JsonObject[] {
  if (!Array.isArray(blocks)) return [];
  return blocks.filter(isObject).filter(({ type, signature, data }) => {
    const proof = type === "redacted_thinking" ? data : signature;
    return isFilledText(proof) && !isSealedReasoning(proof);
  });
}

/** onlyCall returns a call that stands where a list of calls should. */
function onlyCall(calls: JsonValue | undefined): ToolCall[] {
  return isObject(calls) ? [readMessage(ToolCallSchema, calls, { lenient: true })] : [];
}

/** saysSomething reports whether a piece says anything of a call: some servers fill lists of calls up with empty objects. */
function saysSomething({ id, name, input, signature }: CallPiece): boolean {
  return id !== "" || name !== "" || input !== "" || signature !== "";
}

function callOf(call: Pick<ToolCall, "index" | "function"> & Partial<ToolCall>): CallPiece {
  const { index, id = "", function: called, custom, extra } = call;
  const name = called?.name ?? custom?.name ?? textOrEmpty(extra?.name);
  const input = called?.arguments ?? custom?.input ?? (argumentsIn(called?.extra) || argumentsIn(extra));
  return { index, id, name, input, signature: signatureOf(extra) };
}

function argumentsIn(extra: JsonObject | undefined): string {
  const input = extra?.arguments;
  if (typeof input === "string") return input;
  // PHP writes an empty object as an empty list.
  if (Array.isArray(input) && input.length === 0) return "{}";
  return typeof input === "object" && input !== null ? JSON.stringify(input) : "";
}

function textIn(parts: readonly JsonValue[]): string {
  return parts.map((part) => textOrEmpty(isObject(part) ? part.text : part)).join("");
}

/** valueIn returns the JSON of a content that is no text, which servers that parse the model's JSON have, such as Cloudflare's. */
function valueIn(content: JsonValue | undefined): string {
  if (typeof content === "number" || typeof content === "boolean") return JSON.stringify(content);
  return isObject(content) && !("type" in content) && !("text" in content) ? JSON.stringify(content) : "";
}

/** thinkingIn reads Mistral's reasoning: `{type: "thinking", thinking: [{type: "text", text}]}`. */
function thinkingIn(parts: readonly JsonValue[]): string {
  return parts
    .map((part) => (part as JsonObject | null)?.thinking)
    .map((thinking) => (Array.isArray(thinking) ? textIn(thinking) : textOrEmpty(thinking)))
    .join("");
}

/**
 * nameAfter returns a call's name with what the next piece says of it: some vendors repeat the name with every piece, and some send a long
 * one in pieces. `isPartial` reports whether a name is only the beginning of one.
 */
export function nameAfter(name: string, next: string, isPartial: (name: string) => boolean): string {
  if (name === "" || next === "") return name || next;
  if (next === name || !isPartial(name)) return name;
  return next.startsWith(name) ? next : name + next;
}
