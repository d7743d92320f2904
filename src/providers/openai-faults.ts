/**
 * What an upstream of OpenAI's dialect says in the place of an answer, or beside one: an error in whatever shape, an end by a
 * failure of its own, an answer without anything in it. None of them is told as an answer, nor charged as one.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { type Refusal, upstreamFailed } from "../errors.ts";
import { type ErrorWords, errorIn, errorInPlaceOf, isFailedEnd, isObject, type Place } from "./errors-in-answers.ts";
import type { Operation } from "./operations.ts";

/** Makes the refusal of an error in the family's shape. */
type RefusalOf = (json: JsonObject, bytes: Buffer) => Refusal;

/** Returns what finds the refusal for what is no answer, or no piece of one. */
export function openAiFaults(refusalOf: RefusalOf) {
  return (json: JsonObject, bytes: Buffer, operation: Operation, place: Place): Refusal | undefined => {
    const error = errorIn(json);
    if (error) return refusalOfWords(error, json, bytes, refusalOf);
    const words = isPart(json, operation, place) ? undefined : errorInPlaceOf(json);
    if (words) return refusalOfWords(words, json, bytes, refusalOf);
    if (place === "error") return upstreamFailed("it answered with an error");
    if (endsByFailure(json.choices)) return upstreamFailed("it broke off its answer by an error");
    return place === "whole" && !isPart(json, operation, place) ? upstreamFailed("its answer is empty") : undefined;
  };
}

/** Whether it is an answer, or a piece of one. What some servers send between pieces is none, and no error either. */
function isPart({ choices, usage, data }: JsonObject, operation: Operation, place: Place): boolean {
  if (place === "error") return false;
  if (place === "frame") return (choices ?? usage ?? null) !== null;
  if (operation === "embeddings") return Array.isArray(data);
  return Array.isArray(choices) && choices.some(isAnswer);
}

function endsByFailure(choices: JsonValue | undefined): boolean {
  return Array.isArray(choices) && choices.some((choice) => isObject(choice) && isFailedEnd(choice.finish_reason));
}

/** A whole choice has something that was said, be it empty. */
function isAnswer(choice: JsonValue): boolean {
  return isObject(choice) && (isObject(choice.message) || typeof choice.text === "string");
}

/** Callers of the family read an error in the family's shape, and nothing beside it: as it came where it has that. */
function refusalOfWords(words: ErrorWords, json: JsonObject, bytes: Buffer, refusalOf: RefusalOf): Refusal {
  const isShaped = isObject(json.error) && typeof json.error.message === "string" && json.error.message !== "";
  if (isShaped && !("choices" in json)) return refusalOf(json, bytes);
  if (words.message === "") return upstreamFailed("it answered with an error");
  const shaped: JsonObject = {
    error: isShaped ? (json.error as JsonObject) : { type: "server_error", param: null, code: null, ...words },
  };
  return refusalOf(shaped, Buffer.from(JSON.stringify(shaped)));
}
