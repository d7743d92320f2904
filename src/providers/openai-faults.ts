/**
 * What an upstream of OpenAI's dialect says in the place of an answer, or beside one: an error in whatever shape, an end by a
 * failure of its own, an answer without anything in it. None of them is told as an answer, nor charged as one.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { type Refusal, upstreamFailed } from "../errors.ts";
import { type ErrorWords, errorIn, errorInPlaceOf, isFailedEnd, isObject, type Place } from "./error-words.ts";
import type { Operation } from "./operations.ts";
import { refusalOfErrorIn } from "./upstream-error.ts";

/** Returns the refusal for what is no answer, or no piece of one; undefined for what is. */
export function openAiFault(json: JsonObject, bytes: Buffer, operation: Operation, place: Place): Refusal | undefined {
  const error = errorIn(json);
  if (error) return refusalOfWords(error, json, bytes);
  if (place === "error") return refusalOfWords(errorInPlaceOf(json) ?? { message: "" }, json, bytes);
  if (operation === "embeddings") return Array.isArray(json.data) ? undefined : noAnswer(json, bytes);
  const { choices } = json;
  if (Array.isArray(choices)) {
    const end = choices.find((choice) => isObject(choice) && isFailedEnd(choice.finish_reason));
    if (end) return upstreamFailed("it broke off its answer by an error");
  }
  if (place === "whole") return Array.isArray(choices) && choices.some(isAnswer) ? undefined : noAnswer(json, bytes);
  return isPiece(json) ? undefined : errorRefusal(json, bytes);
}

/** A whole choice has something that was said, be it empty. */
function isAnswer(choice: JsonValue): boolean {
  return isObject(choice) && (isObject(choice.message) || typeof choice.text === "string");
}

/** What some servers send between pieces says nothing of an error either. */
function isPiece({ choices, usage }: JsonObject): boolean {
  return (choices ?? usage ?? null) !== null;
}

function noAnswer(json: JsonObject, bytes: Buffer): Refusal {
  return errorRefusal(json, bytes) ?? upstreamFailed("its answer is empty");
}

function errorRefusal(json: JsonObject, bytes: Buffer): Refusal | undefined {
  const words = errorInPlaceOf(json);
  return words && refusalOfWords(words, json, bytes);
}

/** Callers of the family read an error in the family's shape, and nothing beside it: as it came where it has that. */
function refusalOfWords(words: ErrorWords, json: JsonObject, bytes: Buffer): Refusal {
  const isShaped = isObject(json.error) && typeof json.error.message === "string" && json.error.message !== "";
  if (isShaped && !("choices" in json)) return refusalOfErrorIn(json, bytes);
  if (words.message === "") return upstreamFailed("it answered with an error");
  const shaped: JsonObject = {
    error: isShaped ? (json.error as JsonObject) : { type: "server_error", param: null, code: null, ...words },
  };
  return refusalOfErrorIn(shaped, Buffer.from(JSON.stringify(shaped)));
}
