/**
 * What an upstream of Anthropic's dialect says in the place of an answer, or beside one: its own errors, those that proxies and
 * other servers write in other shapes, an end by a failure, an answer without anything in it.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { Operation } from "../../call/operations.ts";
import { type Refusal, upstreamFailed } from "../../call/refusals.ts";
import { isObject } from "../../wire/json.ts";
import { type ErrorPlace, isFailedEnd, namesError, saysAnything } from "../errors/errors-in-answers.ts";

/** Makes the refusal of an error in whatever shape. */
type RefusalOf = (error: JsonObject, bytes: Buffer) => Refusal;

/** Returns what finds the refusal for what is no answer, or no piece of one. */
export function anthropicFaults(refusalOf: RefusalOf) {
  return (json: JsonObject, bytes: Buffer, operation: Operation, place: ErrorPlace): Refusal | undefined => {
    if (namesError(json)) return refusalOf(json, bytes);
    if (place === "frame" && typeof json.type === "string") return endsByFailure(json.delta) ? brokenOff() : undefined;
    if (place === "whole" && isAnswer(json, operation)) return endsByFailure(json) ? brokenOff() : undefined;
    if (saysAnything(json)) return refusalOf(json, bytes);
    if (place === "frame") return undefined;
    return upstreamFailed(place === "error" ? "it answered with an error" : "its answer is empty");
  };
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
