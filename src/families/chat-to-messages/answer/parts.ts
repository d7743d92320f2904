/** The members of a chat message that blocks become, the same in unary answers and in streams. */
import type { Citation, ContentBlock } from "../../../../gen/modelgateway/v1/messages_pb.ts";
import { isObject, type JsonObject, type JsonValue } from "../../../wire/json.ts";
import type { AnswerHead } from "../../chat-answers/chunk-writer.ts";
import { freeTextIn } from "../../tools/free-text.ts";
import type { ArgumentNames } from "../property-names.ts";

/** AnswerContext is what the translation of the answer needs from the request. */
export interface AnswerContext extends AnswerHead {
  readonly called: ReadonlyMap<string, CalledTool>;
}

/** CalledTool says what a call becomes: a tool call, a `function_call`, or the answer's own text. */
export interface CalledTool {
  readonly kind: "function" | "custom" | "function_call" | "text";
  /** The caller's name of the tool. */
  readonly name: string;
  /** The caller's names of arguments, by the upstream's; undefined where all are the same. */
  readonly argumentNames?: ArgumentNames | undefined;
}

/** calledTool returns what a call is to the caller. A name that was not offered is the model's invention, and stays. */
export function calledTool({ name = "" }: ContentBlock, { called }: AnswerContext): CalledTool {
  return called.get(name) ?? { kind: "function", name };
}

/** callId returns the call's id. Clients need one: without an id of the upstream's it is made from the answer's. */
export function callId({ id }: ContentBlock, index: number, context: AnswerContext): string {
  return id || `call_${context.id.replace(/^chatcmpl-/, "")}_${index}`;
}

/** freeText returns the free text in the input of a custom tool's call. */
export function freeText(input: JsonValue): string {
  const isBare = Array.isArray(input) || (isObject(input) && Object.keys(input).length === 0);
  return (isBare ? undefined : freeTextIn(input)) ?? JSON.stringify(input);
}

/**
 * thinkingPiece returns the block as callers send it back in `thinking_blocks`, unchanged, since the signature proves it. Without a
 * signature there is nothing to send back.
 */
export function thinkingPiece({ thinking, signature, data }: Partial<ContentBlock>): JsonObject | undefined {
  if (data) return { type: "redacted_thinking", data };
  return signature ? { type: "thinking", thinking: thinking ?? "", signature } : undefined;
}

/** annotationsOf returns the annotations of a text from `start` to `end` of the content: citations of web pages only. */
export function annotationsOf(citations: readonly Citation[], start: number, end: number): JsonObject[] {
  const annotations: JsonObject[] = [];
  for (const { url, title } of citations) {
    if (!url) continue;
    const citation = { start_index: start, end_index: end, title: title || url, url };
    annotations.push({ type: "url_citation", url_citation: citation });
  }
  return annotations;
}

export function citationsOf({ citations }: ContentBlock): readonly Citation[] {
  return citations.case === "citationsList" ? citations.value.citations : [];
}
