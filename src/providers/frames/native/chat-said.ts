/** Reads what the choices of a chat say, whole or in pieces, for answers and streams of messages and responses that are made of them. */
import { definedFields, isObject, type JsonObject, type JsonValue, textOrEmpty } from "../../../wire/json.ts";
import { membersOf } from "../../usage/count.ts";
import { callsSomething } from "../../usage/finish-word.ts";

/** isOfChat reports an answer of a chat or of a text completion, or a chunk of one. */
export function isOfChat({ choices, type, content }: JsonObject): boolean {
  return Array.isArray(choices) && type === undefined && content === undefined;
}

/** firstOf returns the first choice. The others have no place in a message or a response. */
export function firstOf(choices: JsonValue | undefined): JsonObject {
  return membersOf(Array.isArray(choices) ? choices[0] : undefined);
}

/** messageIn returns the message of a choice, or the next piece of one. Text completions have a text in its place. */
export function messageIn({ delta, message, text }: JsonObject): JsonObject {
  return membersOf(delta ?? message ?? (typeof text === "string" ? { content: text } : undefined));
}

/** textIn returns the text of a content, also of one in parts. */
export function textIn(content: JsonValue | undefined): string {
  return Array.isArray(content) ? content.map((part) => textIn(membersOf(part).text)).join("") : textOrEmpty(content);
}

export function thinkingIn({ reasoning_content, reasoning, thinking }: JsonObject): string {
  return textOrEmpty(reasoning_content) || textOrEmpty(reasoning) || textOrEmpty(thinking);
}

/** callsIn returns the calls of tools, also one in the form of before there were tools. */
export function callsIn({ tool_calls: calls, function_call: legacy }: JsonObject): JsonObject[] {
  if (Array.isArray(calls) && calls.length > 0) return calls.filter(isObject);
  return callsSomething(legacy) ? [{ index: 0, function: legacy }] : [];
}

/** NamedCall is a call of a tool, or the next piece of one. */
export interface NamedCall {
  /** isCustom is whether the tool takes a text, and no arguments. */
  readonly isCustom: boolean;
  readonly id: string;
  readonly name: string;
  readonly input: string;
}

export function namedCall({ id, function: called, custom }: JsonObject): NamedCall {
  const isCustom = isObject(custom);
  const { name, arguments: args, input } = isCustom ? custom : membersOf(called);
  const told = isCustom ? input : args;
  return { isCustom, id: textOrEmpty(id), name: textOrEmpty(name), input: writtenPiece(told) };
}

function writtenPiece(input: JsonValue | undefined): string {
  return isObject(input) || Array.isArray(input) ? JSON.stringify(input) : textOrEmpty(input);
}

/** headOfChat returns the members that a chat and a response have both. */
export function headOfChat({ model, created, service_tier }: JsonObject): JsonObject {
  return definedFields({ model, created_at: typeof created === "number" ? created : undefined, service_tier });
}
