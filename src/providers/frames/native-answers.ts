/**
 * Answers of other APIs than the one that was asked → answers of chat: proxies and servers that are half compatible pass on what Ollama's own
 * API, Cohere, Gemini, Bedrock's Converse, Anthropic or text-generation-inference say. They have been billed, so they are not asked again.
 * Of streams, those of Ollama and Gemini are read, whose pieces have the form of their whole answers. Other members stay beside the choices:
 * some hold the usage.
 */
import { newId } from "../../runtime/ids.ts";
import { isObject, type JsonObject, type JsonValue, textOrEmpty } from "../../wire/json.ts";

/** chatOf returns the answer of chat that a native one is; undefined for anything else. */
export function chatOf(answer: JsonObject): JsonObject | undefined {
  const choices = choicesIn(answer);
  if (choices.length === 0) return undefined;
  return { ...headOf(answer, newChatId()), object: "chat.completion", created: seconds(), choices };
}

/** createChunkReader returns a function that reads the pieces of one stream: it returns the chunk of chat that a piece is, if it is one. */
export function createChunkReader(): (piece: JsonObject) => JsonObject | undefined {
  const id = newChatId();
  const created = seconds();
  let calls = 0;
  /** Each call is whole, and the next one of its stream. */
  function numbered(one: JsonObject): JsonObject {
    const { message } = one;
    if (!isObject(message) || !Array.isArray(message.tool_calls)) return one;
    const all = message.tool_calls.map((call) => (isObject(call) ? { ...call, index: calls++ } : call));
    return { ...one, message: { ...message, tool_calls: all } };
  }
  return (piece) => {
    const choices = choicesOfPiece(piece).map(numbered);
    if (choices.length === 0) return undefined;
    return { ...headOf(piece, id), object: "chat.completion.chunk", created, choices };
  };
}

/** choicesOfPiece returns choices whose messages are the next parts of them, also where a piece has no more than an end. */
function choicesOfPiece(piece: JsonObject): JsonObject[] {
  const { candidates, message, done } = piece;
  if (Array.isArray(candidates)) {
    return candidates.filter(isObject).flatMap((candidate, place) => {
      const { finishReason = null } = candidate;
      const said = choiceOfCandidate(candidate, place);
      if (said.length > 0 || finishReason === null) return said;
      return [choice(indexIn(candidate, place), {}, finishReason)];
    });
  }
  if (!isObject(message) || typeof done !== "boolean") return [];
  return [choice(0, plainMessage(message), done ? (endOf(piece) ?? "stop") : null)];
}

/** headOf returns what stands beside the choices, with an id of the server's own where it has one. */
function headOf(answer: JsonObject, id: string): JsonObject {
  const rest = Object.fromEntries(Object.entries(answer).filter(([key]) => !told.has(key)));
  return { ...rest, id: textOrEmpty(answer.id) || id, model: textOrEmpty(answer.model) };
}

function newChatId(): string {
  return `chatcmpl-${newId("ans")}`;
}

function seconds(): number {
  return Math.floor(Date.now() / 1000);
}

/** told are the members that the choices tell. */
const told: ReadonlySet<string> = new Set([
  ...["message", "candidates", "output", "content", "generated_text", "response", "type", "role", "done", "details"],
  ...["finish_reason", "done_reason", "stop_reason", "stop_sequence", "stopReason", "created_at"],
]);

function choicesIn(answer: JsonObject): JsonObject[] {
  const { message, candidates, output, content, type, generated_text: generated, response, done } = answer;
  if (Array.isArray(candidates)) return candidates.filter(isObject).flatMap(choiceOfCandidate);
  // Ollama and Cohere have chat's message without a list of choices.
  if (isObject(message) && textOrEmpty(message.role) !== "") return [choice(0, plainMessage(message), endOf(answer))];
  if (isObject(output) && isObject(output.message)) return choiceOfParts(0, output.message.content, endOf(answer));
  if (type === "message" && Array.isArray(content)) return choiceOfParts(0, content, endOf(answer));
  const text = typeof generated === "string" ? generated : done === true ? response : undefined;
  return typeof text === "string" ? [choice(0, { role: "assistant", content: text }, endOf(answer))] : [];
}

function choiceOfCandidate(candidate: JsonObject, place: number): JsonObject[] {
  const { content, finishReason = null } = candidate;
  const parts = isObject(content) ? content.parts : undefined;
  return choiceOfParts(indexIn(candidate, place), parts, finishReason);
}

function indexIn({ index }: JsonObject, place: number): number {
  return typeof index === "number" ? index : place;
}

/** endOf returns why an answer ended, by the name of whichever API. */
function endOf({ finish_reason, done_reason, stop_reason, stopReason, details }: JsonObject): JsonValue {
  const inDetails = isObject(details) ? details.finish_reason : undefined;
  return finish_reason ?? done_reason ?? stop_reason ?? stopReason ?? inDetails ?? null;
}

function choice(index: number, message: JsonObject, finish_reason: JsonValue): JsonObject {
  return { index, message, finish_reason };
}

/** plainMessage returns a message as it is, but for calls, whose arguments become text. */
function plainMessage(message: JsonObject): JsonObject {
  const { tool_calls: calls = null, ...rest } = message;
  return Array.isArray(calls) && calls.length > 0 ? { ...rest, tool_calls: calls.map(plainCall) } : rest;
}

function plainCall(call: JsonValue): JsonValue {
  const called = isObject(call) ? call.function : undefined;
  if (!isObject(call) || !isObject(called)) return call;
  return callOf({ id: textOrEmpty(call.id), name: called.name, input: called.arguments });
}

/** callOf returns a call of chat. One without an id gets one later, as those of other servers. */
function callOf({ id, name = "", input = {} }: NativeCall): JsonObject {
  const written = typeof input === "string" ? input : JSON.stringify(input);
  return { ...(id === "" ? {} : { id }), type: "function", function: { name, arguments: written } };
}

function choiceOfParts(index: number, parts: JsonValue | undefined, end: JsonValue): JsonObject[] {
  const said = Array.isArray(parts) ? parts.filter(isObject) : [];
  const text = said.map(textIn).join("");
  const thinking = said.map(thinkingIn).join("");
  const calls = said.flatMap(callIn).map(callOf);
  if (text === "" && thinking === "" && calls.length === 0) return [];
  const message = {
    ...{ role: "assistant", content: text === "" && calls.length > 0 ? null : text },
    ...(thinking === "" ? {} : { reasoning_content: thinking }),
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
  };
  return [choice(index, message, end)];
}

function textIn({ text, thought }: JsonObject): string {
  return thought === true ? "" : textOrEmpty(text);
}

function thinkingIn({ type, text, thought, thinking, reasoningContent: reasoning }: JsonObject): string {
  if (thought === true) return textOrEmpty(text);
  if (type === "thinking") return textOrEmpty(thinking);
  const told = isObject(reasoning) ? reasoning.reasoningText : undefined;
  return isObject(told) ? textOrEmpty(told.text) : "";
}

interface NativeCall {
  readonly id: string;
  readonly name: JsonValue | undefined;
  readonly input: JsonValue | undefined;
}

function callIn({ type, id, name, input, functionCall, toolUse }: JsonObject): NativeCall[] {
  if (type === "tool_use") return [{ id: textOrEmpty(id), name, input }];
  if (isObject(toolUse)) return [{ id: textOrEmpty(toolUse.toolUseId), name: toolUse.name, input: toolUse.input }];
  if (!isObject(functionCall)) return [];
  return [{ id: textOrEmpty(functionCall.id), name: functionCall.name, input: functionCall.args }];
}
