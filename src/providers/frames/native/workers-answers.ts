/**
 * Answers of Cloudflare's Workers AI → choices of chat. The text, or the JSON that was asked for, stands in `response`, and calls of tools
 * beside it, without an id. Its streams have no end but their mark.
 *
 * Source: https://www.npmjs.com/package/@cloudflare/workers-types, `AiTextGenerationOutput`
 */
import { isObject, type JsonObject, type JsonValue, objectsIn, textOrEmpty } from "../../../wire/json.ts";
import { writtenInput } from "./said.ts";

/** isOfWorkers reports a whole answer. A text in `response` alone may be an error. */
export function isOfWorkers({ response, tool_calls: calls, usage, ...rest }: JsonObject): boolean {
  if (response === undefined || rest.done !== undefined || Array.isArray(rest.choices)) return false;
  return isObject(usage) || Array.isArray(calls);
}

/** isPieceOfWorkers reports a piece of a stream. */
export function isPieceOfWorkers(piece: JsonObject): boolean {
  const { response } = piece;
  if (typeof response !== "string" && !Array.isArray(piece.tool_calls)) return false;
  return response !== undefined && Object.keys(piece).every((key) => ofPieces.has(key));
}

/** ofPieces are the members of pieces. `p` fills each up to one length. */
const ofPieces: ReadonlySet<string> = new Set(["response", "p", "tool_calls", "usage"]);

/** messageOfWorkers returns the message, or the next part of one. */
export function messageOfWorkers({ response = null, tool_calls: calls }: JsonObject): JsonObject {
  const called = objectsIn(calls).map(callOf);
  return {
    content: response === null ? null : writtenInput(response),
    ...(called.length > 0 ? { tool_calls: called } : {}),
  };
}

/** callOf returns a call of chat. Some models call in its own form. */
function callOf(call: JsonObject): JsonObject {
  const { name = "", arguments: input }: JsonObject = isObject(call.function) ? call.function : call;
  const id = textOrEmpty(call.id);
  return {
    ...(id === "" ? {} : { id }),
    type: "function",
    function: { name: name as JsonValue, arguments: writtenInput(input) },
  };
}
