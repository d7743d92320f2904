/**
 * Answers of other APIs than the one that was asked → answers of chat. Proxies and servers that are half compatible pass on what Ollama's
 * own API, Cohere, Gemini, Bedrock's Converse, Workers AI, Anthropic, the Responses API, llama.cpp or text-generation-inference say. They have been
 * billed, so they are not asked again. `chunks.ts` reads their streams. Other members stay beside the choices: some hold the usage.
 */
import { newId } from "../../../runtime/ids.ts";
import { isObject, type JsonObject, type JsonValue, listOrEmpty, objectsIn, textOrEmpty } from "../../../wire/json.ts";
import { chatWordOf } from "../../usage/finish-word.ts";
import { GroundedText } from "./grounded-text.ts";
import { citedIn, imagesIn } from "./native-sources.ts";
import { endOfResponse, messageOfItems } from "./response-events.ts";
import { writtenInput } from "./said.ts";
import { isOfWorkers, isPieceOfWorkers, messageOfWorkers } from "./workers-answers.ts";

/** chatOf returns the answer of chat that a native one is; undefined for anything else. */
export function chatOf(answer: JsonObject): JsonObject | undefined {
  const choices = choicesIn(answer);
  if (choices.length === 0) return undefined;
  return { ...headOf(answer, newChatId()), object: "chat.completion", created: seconds(), choices };
}

/**
 * choicesOfPiece returns choices whose messages are the next parts of them, also where a piece has no more than an end. `grounded` has what
 * came of Gemini's choices before, by index.
 */
export function choicesOfPiece(piece: JsonObject, grounded = new Map<number, GroundedText>()): JsonObject[] {
  const { candidates, message, done, response, token } = piece;
  if (isBlocked(piece)) return [choice(0, {}, "content_filter")];
  if (Array.isArray(candidates)) {
    return candidates.filter(isObject).flatMap((candidate, place) => {
      const { finishReason = null, groundingMetadata: grounding = null } = candidate;
      const index = indexIn(candidate, place);
      const text = grounded.get(index) ?? new GroundedText();
      grounded.set(index, text);
      const said = choiceOfCandidate(candidate, index, text, finishReason !== null);
      if (said.length > 0 || (finishReason ?? grounding) === null) return said;
      return [choice(index, {}, finishReason)];
    });
  }
  if (isCompletion(piece)) return choiceOfCompletion(piece);
  if (isObject(token) && typeof token.text === "string") return [choice(0, tokenMessage(token), endOf(piece))];
  if (isPieceOfWorkers(piece)) return [choice(0, messageOfWorkers(piece), null)];
  if (typeof done !== "boolean") return [];
  const said = isObject(message)
    ? plainMessage(message)
    : typeof response === "string"
      ? { content: response }
      : undefined;
  return said ? [choice(0, said, done ? (endOf(piece) ?? "stop") : null)] : [];
}

/** isCompletion reports a piece, or the whole, of llama.cpp's own completion. */
function isCompletion({ content, stop, tokens_predicted }: JsonObject): boolean {
  return typeof content === "string" && (typeof stop === "boolean" || tokens_predicted !== undefined);
}

function choiceOfCompletion({ content = "", stop, ...piece }: JsonObject): JsonObject[] {
  const end = piece.stopped_limit === true ? "length" : (endOf(piece) ?? "stop");
  return [choice(0, { role: "assistant", content }, stop === false ? null : end)];
}

/** tokenMessage returns what a token of text-generation-inference says. A special one, as that of the end, is no text. */
function tokenMessage({ text = "", special }: JsonObject): JsonObject {
  return { content: special === true ? "" : text };
}

/** headOf returns what stands beside the choices, with an id of the server's own where it has one. */
export function headOf(answer: JsonObject, id: string): JsonObject & { readonly id: string } {
  const isBeside = (key: string) => (answer.object === "response" ? ofResponse.has(key) : !told.has(key));
  const rest = Object.fromEntries(Object.entries(answer).filter(([key]) => isBeside(key)));
  return { ...rest, id: textOrEmpty(answer.id) || id, model: textOrEmpty(answer.model) };
}

export function newChatId(): string {
  return `chatcmpl-${newId("ans")}`;
}

export function seconds(): number {
  return Math.floor(Date.now() / 1000);
}

/** ofResponse are the members of a response that a chat has, too. */
const ofResponse: ReadonlySet<string> = new Set(["usage", "service_tier", "metadata"]);

/** told are the members that the choices tell. */
const told: ReadonlySet<string> = new Set([
  ...["message", "candidates", "output", "content", "generated_text", "response", "type", "role", "done"],
  ...["finish_reason", "done_reason", "stop_reason", "stop_sequence", "stopReason", "created_at"],
  ...["token", "stop", "stop_type", "stopping_word", "prompt", "generation_settings", "text", "chat_history"],
  ...["tool_calls", "p"],
]);

function choicesIn(answer: JsonObject): JsonObject[] {
  const { message, candidates, output, content, type, generated_text: generated, response, done } = answer;
  if (isBlocked(answer)) return [choice(0, { role: "assistant", content: "" }, "content_filter")];
  if (Array.isArray(candidates)) {
    return candidates
      .filter(isObject)
      .flatMap((candidate, place) => choiceOfCandidate(candidate, indexIn(candidate, place), new GroundedText(), true));
  }
  // Ollama and Cohere have chat's message without a list of choices.
  if (isObject(message) && textOrEmpty(message.role) !== "") return [choice(0, plainMessage(message), endOf(answer))];
  if (isObject(output) && isObject(output.message)) return choiceOfParts(0, output.message.content, endOf(answer));
  if (Array.isArray(output) && answer.object === "response") return choiceOfResponse(answer, output.filter(isObject));
  if (isCompletion(answer)) return choiceOfCompletion(answer);
  if (type === "message" && Array.isArray(content)) return choiceOfParts(0, content, endOf(answer));
  if (typeof answer.generation_id === "string") return choiceOfFirstCohere(answer);
  if (isOfWorkers(answer)) return [choice(0, { role: "assistant", ...messageOfWorkers(answer) }, endOf(answer))];
  const text = typeof generated === "string" ? generated : done === true ? response : undefined;
  return typeof text === "string" ? [choice(0, { role: "assistant", content: text }, endOf(answer))] : [];
}

function choiceOfResponse(response: JsonObject, items: readonly JsonObject[]): JsonObject[] {
  const message = messageOfItems(items);
  const hasCalled = message.tool_calls !== undefined;
  const end = endOfResponse(response, hasCalled);
  if (!hasCalled && !message.content && !message.refusal && !isToldBy(end)) return [];
  return [choice(0, message, end)];
}

/** choiceOfFirstCohere reads the first version of Cohere's API. */
function choiceOfFirstCohere({ text = "", tool_calls: called, finish_reason: end = null }: JsonObject): JsonObject[] {
  const calls = objectsIn(called).map(({ name, parameters }) => callOf({ id: "", name, input: parameters }));
  if (text === "" && calls.length === 0 && !isToldBy(end)) return [];
  const message = { role: "assistant", content: text, ...(calls.length > 0 ? { tool_calls: calls } : {}) };
  return [choice(0, message, end === "COMPLETE" && calls.length > 0 ? "tool_calls" : end)];
}

/** choiceOfCandidate adds a candidate to what came of its choice before. `hasEnded` is whether its pages are told now. */
function choiceOfCandidate(
  candidate: JsonObject,
  index: number,
  grounded: GroundedText,
  hasEnded: boolean,
): JsonObject[] {
  const { content, finishReason = null, groundingMetadata: grounding } = candidate;
  const parts = isObject(content) ? listOrEmpty(content.parts) : [];
  grounded.add(
    parts.map((part) => (isObject(part) ? textIn(part) : "")),
    grounding,
  );
  return choiceOfParts(index, parts, finishReason, hasEnded ? grounded.annotations() : []);
}

/** isBlocked reports that Gemini has refused the prompt: then there are no candidates. */
function isBlocked({ promptFeedback: feedback, candidates }: JsonObject): boolean {
  const hasCandidates = Array.isArray(candidates) && candidates.length > 0;
  return !hasCandidates && isObject(feedback) && textOrEmpty(feedback.blockReason) !== "";
}

function indexIn({ index }: JsonObject, place: number): number {
  return typeof index === "number" ? index : place;
}

/** endOf returns why an answer ended, by the name of whichever API. */
function endOf({ finish_reason, done_reason, stop_reason, stopReason, stop_type, details }: JsonObject): JsonValue {
  const inDetails = isObject(details) ? details.finish_reason : undefined;
  return finish_reason ?? done_reason ?? stop_reason ?? stopReason ?? stop_type ?? inDetails ?? null;
}

function choice(index: number, message: JsonObject, finish_reason: JsonValue): JsonObject {
  return { index, message, finish_reason };
}

/** plainMessage returns a message as it is, but for calls, whose arguments become text, and Cohere's plans and citations. */
function plainMessage({ tool_calls: calls = null, tool_plan: plan, citations, ...rest }: JsonObject): JsonObject {
  const annotations = citedIn(citations);
  return {
    ...rest,
    ...(textOrEmpty(plan) === "" ? {} : { reasoning_content: plan as JsonValue }),
    ...(annotations.length > 0 ? { annotations } : {}),
    ...(Array.isArray(calls) && calls.length > 0 ? { tool_calls: calls.map(plainCall) } : {}),
  };
}

function plainCall(call: JsonValue): JsonValue {
  const called = isObject(call) ? call.function : undefined;
  if (!isObject(call) || !isObject(called)) return call;
  return callOf({ id: textOrEmpty(call.id), name: called.name, input: called.arguments });
}

/** callOf returns a call of chat. One without an id gets one later, as those of other servers. */
function callOf({ id, name = "", input = {} }: NativeCall): JsonObject {
  return { ...(id === "" ? {} : { id }), type: "function", function: { name, arguments: writtenInput(input) } };
}

function choiceOfParts(
  index: number,
  parts: JsonValue | undefined,
  end: JsonValue,
  annotations: readonly JsonObject[] = [],
): JsonObject[] {
  const said = objectsIn(parts);
  const text = said.map(textIn).join("");
  const thinking = said.map(thinkingIn).join("");
  const calls = said.flatMap(callIn).map(callOf);
  const signed = said.map(inMessagesWords).filter(isSigned);
  const images = imagesIn(said);
  const isSilent = [text, thinking, calls, images, annotations].every(({ length }) => length === 0);
  if (isSilent && !isToldBy(end)) return [];
  const message = {
    ...{ role: "assistant", content: text === "" && calls.length > 0 ? null : text },
    ...(thinking === "" ? {} : { reasoning_content: thinking }),
    ...(signed.length === 0 ? {} : { thinking_blocks: signed }),
    ...(images.length === 0 ? {} : { images }),
    ...(annotations.length === 0 ? {} : { annotations: [...annotations] }),
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
  };
  return [choice(index, message, end)];
}

/** isToldBy reports whether the end says why an answer may be empty: all of its bound was reasoning, or it was filtered. */
function isToldBy(end: JsonValue): boolean {
  const word = chatWordOf(end);
  return word === "length" || word === "content_filter";
}

function textIn({ text, thought, citationsContent: cited }: JsonObject): string {
  if (isObject(cited) && Array.isArray(cited.content)) return cited.content.filter(isObject).map(textIn).join("");
  return thought === true ? "" : textOrEmpty(text);
}

function thinkingIn({ type, text, thought, thinking, reasoningContent: reasoning }: JsonObject): string {
  if (thought === true) return textOrEmpty(text);
  if (type === "thinking") return textOrEmpty(thinking);
  const told = isObject(reasoning) ? reasoning.reasoningText : undefined;
  return isObject(told) ? textOrEmpty(told.text) : "";
}

/** inMessagesWords returns the thinking of Converse's as the Messages API has it; the same part where it is anything else. */
function inMessagesWords(part: JsonObject): JsonObject {
  const { reasoningContent: reasoning } = part;
  if (!isObject(reasoning)) return part;
  const { reasoningText: told, redactedContent: data } = reasoning;
  if (data !== undefined) return { type: "redacted_thinking", data };
  const { text: thinking = "", signature = "" } = isObject(told) ? told : {};
  return { type: "thinking", thinking, signature };
}

/** isSigned reports thinking of the Messages API that goes back to its maker as it was. */
function isSigned({ type, signature, data }: JsonObject): boolean {
  if (type === "redacted_thinking") return textOrEmpty(data) !== "";
  return type === "thinking" && textOrEmpty(signature) !== "";
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
