/**
 * What an upstream of OpenAI's dialect says in the place of an answer, or beside one: an error in whatever shape, an end by a
 * failure of its own, an answer without anything in it. None of them is told as an answer, nor charged as one.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { Operation } from "../../call/operations.ts";
import { type Refusal, upstreamFailed } from "../../call/refusals.ts";
import { isObject } from "../../wire/json.ts";
import { type ErrorPlace, isFailedEnd, namesError, saysAnything } from "../errors/errors-in-answers.ts";

/** Makes the refusal of an error in whatever shape. */
type RefusalOf = (json: JsonObject, bytes: Buffer) => Refusal;

/** Returns what finds the refusal for what is no answer, or no piece of one. */
export function openAiFaults(refusalOf: RefusalOf) {
  return (json: JsonObject, bytes: Buffer, operation: Operation, place: ErrorPlace): Refusal | undefined => {
    if (namesError(json)) return refusalOfError(json, bytes, refusalOf);
    if (!isPart(json, operation, place)) {
      if (saysAnything(json)) return refusalOf(json, bytes);
      if (place === "error") return upstreamFailed("it answered with an error");
      if (place === "whole") return upstreamFailed("its answer is empty");
    }
    return endsByFailure(json.choices) ? upstreamFailed("it broke off its answer by an error") : undefined;
  };
}

/** Whether it is an answer, or a piece of one. What some servers send between pieces is none, and no error either. */
function isPart({ choices, usage, data }: JsonObject, operation: Operation, place: ErrorPlace): boolean {
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

/** Callers of the family read an error and nothing that stands beside it. */
function refusalOfError(json: JsonObject, bytes: Buffer, refusalOf: RefusalOf): Refusal {
  if (!("choices" in json)) return refusalOf(json, bytes);
  const alone: JsonObject = { error: json.error ?? null };
  return refusalOf(alone, Buffer.from(JSON.stringify(alone)));
}
