/**
 * Streams of other APIs than the one that was asked → chunks of a chat: events of Anthropic's, of the Responses API, of Cohere's and of
 * Converse's, and pieces that have the form of whole answers, of Ollama's own API, Gemini, llama.cpp and text-generation-inference.
 */
import { definedFields, isFilledText, isObject, type JsonObject } from "../../../wire/json.ts";
import { choicesOfPiece, headOf, newChatId, seconds } from "./answers.ts";
import { createCohereEvents } from "./cohere-events.ts";
import { converseEvent, createConverseEvents } from "./converse-events.ts";
import type { GroundedText } from "./grounded-text.ts";
import { createMessageEvents } from "./message-events.ts";
import { createResponseEvents } from "./response-events.ts";
import type { Said } from "./said.ts";

/** NativePiece is what a piece of another API's stream is in a chat. One that says nothing has no chunk. */
export interface NativePiece {
  readonly chunk?: JsonObject | undefined;
  /** isLast is whether the stream ends here. */
  readonly isLast: boolean;
}

/** isNativePiece reports a piece of another API's stream: it may have words in it that would else be those of an error. */
export function isNativePiece(piece: JsonObject): boolean {
  return isNativeEvent(piece) || choicesOfPiece(piece).length > 0;
}

function isNativeEvent(piece: JsonObject): boolean {
  const { type, event_type } = piece;
  if (typeof event_type === "string") return ofFirstCohere.test(event_type);
  return (typeof type === "string" && ofOthers.some((types) => types.test(type))) || converseEvent(piece) !== undefined;
}

const ofFirstCohere = /^(stream-start|text-generation|tool-calls-(chunk|generation)|citation-generation|stream-end)$/;
/** The types of Anthropic's events, of those of responses, and of Cohere's. */
const ofOthers = [
  /^(message_(start|delta|stop)|content_block_(start|delta|stop)|ping)$/,
  /^response\../,
  /^(message-(start|end)|(content|tool-call|citation)-(start|delta|end)|tool-plan-delta)$/,
] as const;

/**
 * createChunkReader returns a function that reads the pieces of one stream: it returns undefined for what is of no API that it knows. `id` is
 * for chunks whose server has none.
 */
export function createChunkReader(id: string = newChatId()): (piece: JsonObject) => NativePiece | undefined {
  const head = { id, object: "chat.completion.chunk", created: seconds(), model: "" };
  const readers = [createMessageEvents(), createResponseEvents(), createCohereEvents(), createConverseEvents()];
  const grounded = new Map<number, GroundedText>();
  let calls = 0;
  /** Each call is whole, and the next one of its stream. */
  function numbered(one: JsonObject): JsonObject {
    const { message } = one;
    if (!isObject(message) || !Array.isArray(message.tool_calls)) return one;
    const all = message.tool_calls.map((call) => (isObject(call) ? { ...call, index: calls++ } : call));
    return { ...one, message: { ...message, tool_calls: all } };
  }
  function chunkOf(said: Said): JsonObject | undefined {
    const { id, model, delta, end, usage, error } = said;
    if (isFilledText(id)) head.id = id;
    if (typeof model === "string") head.model = model;
    if (error !== undefined) return { error };
    const hasNothing = delta === undefined && (end ?? null) === null;
    if (hasNothing && usage === undefined) return undefined;
    const choices = hasNothing ? [] : [{ index: 0, delta: delta ?? {}, finish_reason: end ?? null }];
    return { ...head, choices, ...definedFields({ usage }) };
  }
  return (piece) => {
    if (isNativeEvent(piece)) {
      const said = readers.map((read) => read(piece)).find((read) => read !== undefined);
      return said && { chunk: chunkOf(said), isLast: said.isLast === true };
    }
    const choices = choicesOfPiece(piece, grounded).map(numbered);
    if (choices.length === 0) return undefined;
    const own = headOf(piece, head.id);
    head.id = own.id;
    return { chunk: { ...own, object: head.object, created: head.created, choices }, isLast: false };
  };
}
