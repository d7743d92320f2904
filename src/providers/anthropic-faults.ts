/**
 * What an upstream of Anthropic's dialect says in the place of an answer, or beside one: its own errors, those that proxies and
 * other servers write in other shapes, an end by a failure, an answer without anything in it.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { type Refusal, upstreamFailed } from "../errors.ts";
import { type ErrorWords, errorIn, errorInPlaceOf, isFailedEnd, isObject, type Place } from "./errors-in-answers.ts";
import type { Operation } from "./operations.ts";

/** Makes the refusal of an error in the vendor's shape. */
type RefusalOf = (error: JsonObject, bytes: Buffer) => Refusal;

/** Returns what finds the refusal for what is no answer, or no piece of one. */
export function anthropicFaults(refusalOf: RefusalOf) {
  return (json: JsonObject, bytes: Buffer, operation: Operation, place: Place): Refusal | undefined => {
    const error = errorIn(json);
    if (error) return isShaped(json) ? refusalOf(json, bytes) : refusalOfWords(error, refusalOf);
    if (place === "frame" && typeof json.type === "string") return endsByFailure(json.delta) ? brokenOff() : undefined;
    if (place === "whole" && isAnswer(json, operation)) return endsByFailure(json) ? brokenOff() : undefined;
    const words = errorInPlaceOf(json);
    if (words) return refusalOfWords(words, refusalOf);
    if (place === "frame") return undefined;
    return upstreamFailed(place === "error" ? "it answered with an error" : "its answer is empty");
  };
}

function isShaped({ type, error }: JsonObject): boolean {
  return type === "error" && isObject(error) && typeof error.type === "string";
}

/** A count may come with a message around it: it is free, and told as it came. */
function isAnswer({ content, input_tokens, usage }: JsonObject, operation: Operation): boolean {
  if (Array.isArray(content)) return true;
  return operation === "count_tokens" && (typeof input_tokens === "number" || isObject(usage));
}

function endsByFailure(end: JsonValue | undefined): boolean {
  return isObject(end) && isFailedEnd(end.stop_reason);
}

function brokenOff(): Refusal {
  return upstreamFailed("it broke off its answer by an error");
}

function refusalOfWords({ message, type }: ErrorWords, refusalOf: RefusalOf): Refusal {
  if (message === "") return upstreamFailed("it answered with an error");
  const error = { type: typeof type === "string" && type !== "error" ? type : "api_error", message };
  const shaped = { type: "error", error };
  return refusalOf(shaped, Buffer.from(JSON.stringify(shaped)));
}
