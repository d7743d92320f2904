/**
 * Finds errors in place of a response, or beside one: a failed response, an error in any shape, an unfinished
 * response, an empty one. None of them is passed on or charged as an answer.
 */
import type { JsonObject } from "@bufbuild/protobuf";
import { type Refusal, upstreamFailed } from "../../call/refusals.ts";
import { isFilledText, isObject } from "../../wire/json.ts";
import {
  brokenByError,
  type ErrorPlace,
  isFailedEnd,
  namesError,
  noAnswer,
  type RefusalOf,
} from "../errors/errors-in-answers.ts";
import { isForeignToResponses } from "../frames/native/foreign-pieces.ts";

/** responsesFaults returns a function that finds the refusal for JSON that is no response and no event of one. */
export function responsesFaults(refusalOf: RefusalOf) {
  return (json: JsonObject, bytes: Buffer, _: unknown, place: ErrorPlace): Refusal | undefined => {
    if (place === "frame" && json.type === "response.failed") return ofFailed(json.response, refusalOf, json);
    if (place === "frame" && json.type === "response.cancelled") return cancelled();
    if (place === "frame" && isObject(json.response)) {
      const { status, error = null } = json.response;
      if (status === "failed" || namesError({ error })) return ofFailed(json.response, refusalOf);
      if (status === "cancelled") return cancelled();
    }
    if (place === "whole" && isFailed(json)) return ofFailed(json, refusalOf);
    if (namesError(json)) return refusalOfError(json, bytes, refusalOf);
    if (place === "frame" && isForeignToResponses(json))
      return endsByFailure(json.choices) ? brokenByError() : undefined;
    if (place === "frame" && typeof json.type === "string") return undefined;
    if (place === "whole" && Array.isArray(json.output)) return faultOfWhole(json);
    return noAnswer(json, bytes, place, refusalOf);
  };
}

/** endsByFailure reports whether the choice of a chat ended by its server's failure. */
function endsByFailure(choices: JsonObject[string] | undefined): boolean {
  return Array.isArray(choices) && choices.some((choice) => isObject(choice) && isFailedEnd(choice.finish_reason));
}

function isFailed({ object, status, output }: JsonObject): boolean {
  return status === "failed" && (object === "response" || Array.isArray(output));
}

/** The error of a failed response stands inside it; some servers write it beside, or in the event itself. */
function ofFailed(response: JsonObject[string] | undefined, refusalOf: RefusalOf, event: JsonObject = {}): Refusal {
  const within = isObject(response) ? response : {};
  const { message = null, code = null } = event;
  const told = [within.error, within.last_error, event.error, message];
  const error = told.find((one) => isObject(one) || isFilledText(one)) ?? null;
  if (error === null) return brokenByError();
  return refusalOfError({ error: isObject(error) ? error : { message: error, code } }, Buffer.alloc(0), refusalOf);
}

/** Callers of the family read the error and nothing beside it. */
function refusalOfError(json: JsonObject, bytes: Buffer, refusalOf: RefusalOf): Refusal {
  if (!isObject(json.error)) return refusalOf(json, bytes);
  const { type = null, code = null, param = null, ...more } = json.error;
  const alone: JsonObject = { error: { ...more, type: type ?? code ?? "server_error", code, param } };
  return refusalOf(alone, Buffer.from(JSON.stringify(alone)));
}

/** An incomplete response may be empty: all of it was reasoning. */
function faultOfWhole({ status, output }: JsonObject): Refusal | undefined {
  if (status === "cancelled") return cancelled();
  if (status === "queued" || status === "in_progress") return upstreamFailed("its answer is not over");
  const isEmpty = Array.isArray(output) && !output.some(isObject);
  return isEmpty && status !== "incomplete" ? upstreamFailed("its answer is empty") : undefined;
}

function cancelled(): Refusal {
  return upstreamFailed("it cancelled its answer");
}
