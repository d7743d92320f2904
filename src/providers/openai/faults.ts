/**
 * Finds errors in place of an answer of OpenAI's dialect, or beside one: an error in any shape, an end by a failure,
 * an empty answer. None of them is passed on or charged as an answer.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { Operation } from "../../call/operations.ts";
import type { Refusal } from "../../call/refusals.ts";
import { isObject } from "../../wire/json.ts";
import {
  brokenByError,
  type ErrorPlace,
  isFailedEnd,
  namesError,
  noAnswer,
  type RefusalOf,
} from "../errors/errors-in-answers.ts";
import { isNativePiece } from "../frames/native/chunks.ts";
import { isVector } from "../frames/vectors.ts";
import { membersOf } from "../usage/count.ts";
import { chatWordOf } from "../usage/finish-word.ts";

/** openAiFaults returns a function that finds the refusal for JSON that is no answer and no chunk of one. */
export function openAiFaults(refusalOf: RefusalOf) {
  return (json: JsonObject, bytes: Buffer, operation: Operation, place: ErrorPlace): Refusal | undefined => {
    if (namesError(json)) return refusalOfError(json, bytes, refusalOf);
    // Groq says in a chunk of an answer why it broke that off.
    if (isObject(json.x_groq) && namesError({ error: json.x_groq.error ?? null }))
      return refusalOfError({ choices: [], error: json.x_groq.error ?? null }, bytes, refusalOf);
    if (!isPart(json, operation, place) && !(place === "frame" && isNativePiece(json))) {
      // The status that MiniMax writes beside every answer says nothing here: it is not that of an error.
      const { base_resp: _, ...said } = json;
      const refusal = noAnswer(said, bytes, place, refusalOf);
      if (refusal) return refusal;
    }
    const inChoice = errorInChoice(json.choices);
    if (inChoice) return refusalOfError({ choices: [], error: inChoice }, bytes, refusalOf);
    return endsByFailure(json.choices) ? brokenByError() : undefined;
  };
}

/** isPart reports an answer or a chunk. What some servers send between chunks is neither, and no error. */
function isPart({ choices, usage, data }: JsonObject, operation: Operation, place: ErrorPlace): boolean {
  if (place === "error") return false;
  if (place === "frame")
    return (usage ?? null) !== null || (Array.isArray(choices) ? choices.length > 0 : Boolean(choices));
  // Entries of which none is in the usual form are looked for in others.
  if (operation === "embeddings") return Array.isArray(data) && (data.length === 0 || data.some(isVector));
  return Array.isArray(choices) && choices.some((choice) => isAnswer(choice, operation));
}

/**
 * errorInChoice returns the error that OpenRouter puts into a choice whose provider failed, and others into its delta; undefined without
 * one.
 */
function errorInChoice(choices: JsonValue | undefined): JsonValue | undefined {
  if (!Array.isArray(choices)) return undefined;
  for (const choice of choices.filter(isObject)) {
    const error = [choice.error, membersOf(choice.delta).error].find(isError);
    if (error !== undefined) return error;
  }
  return undefined;
}

function isError(error: JsonValue | undefined): boolean {
  return error !== undefined && namesError({ error });
}

/**
 * endsByFailure reports whether a choice ended by a failure. An aggregator may call a failure `stop`, and have the provider's own word
 * beside it.
 */
function endsByFailure(choices: JsonValue | undefined): boolean {
  if (!Array.isArray(choices)) return false;
  return choices.some(
    (choice) => isObject(choice) && (isFailedEnd(choice.finish_reason) || isFailedEnd(choice.native_finish_reason)),
  );
}

/** A complete choice has a message or a text, even an empty one. Azure leaves the message out where a filter took it. */
function isAnswer(choice: JsonValue, operation: Operation): boolean {
  if (!isObject(choice)) return false;
  const isFiltered = operation === "chat" && chatWordOf(choice.finish_reason) === "content_filter";
  return isFiltered || isObject(choice.message) || typeof choice.text === "string";
}

/** Callers of the family read the error and nothing beside it. */
function refusalOfError(json: JsonObject, bytes: Buffer, refusalOf: RefusalOf): Refusal {
  if (!("choices" in json)) return refusalOf(json, bytes);
  const alone: JsonObject = { error: json.error ?? json.base_resp ?? null };
  return refusalOf(alone, Buffer.from(JSON.stringify(alone)));
}
