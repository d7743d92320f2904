/**
 * Recognises errors in place of an answer or beside one. Vendors, servers and proxies write them in many shapes,
 * often with status 200. Their message is read by `error-fields.ts`.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { type Refusal, upstreamFailed } from "../../call/refusals.ts";
import { isObject } from "../../wire/json.ts";
import { finishWord } from "../usage/finish-word.ts";
import { exceptionIn, readErrorJson } from "./error-fields.ts";

/** RefusalOf turns an error of any shape into a refusal. */
export type RefusalOf = (json: JsonObject, bytes: Buffer) => Refusal;

/** ErrorPlace is where the JSON stands: a unary answer, a frame of a stream, or an event named `error`. */
export type ErrorPlace = "whole" | "frame" | "error";

/** namesError reports whether JSON names an error. An empty one does not count: some servers write it beside every answer. */
export function namesError(json: JsonObject): boolean {
  const { error, object, type, base_resp } = json;
  if (!saysNothing(error) || object === "error" || type === "error" || isFailedStatus(base_resp)) return true;
  return exceptionIn(json) !== undefined;
}

/** isFailedStatus reports whether the status that MiniMax writes beside every answer is that of an error. */
function isFailedStatus(status: JsonValue | undefined): boolean {
  return isObject(status) && !saysNothing(status.status_code);
}

/** saysAnything reports whether JSON that is no answer has a message: `{"detail"}`, `{"code","msg"}`, `{"message"}`. */
function saysAnything(json: JsonObject): boolean {
  return readErrorJson(json).message !== undefined;
}

function saysNothing(value: JsonValue | undefined): boolean {
  if (value === undefined || value === null || value === false || value === "" || value === 0) return true;
  const values = isObject(value) ? Object.values(value) : value;
  return Array.isArray(values) && values.every((one) => one === null || one === "" || one === 0);
}

/** Finish reasons that servers use for their own failures. The output before them is incomplete. */
const failedEnds: ReadonlySet<string> = new Set([
  ...["error", "abort", "aborted", "cancelled", "canceled", "failed", "failure", "timeout"],
  ...["network_error", "internal_error", "server_error", "insufficient_system_resource"],
  ...["function_call_filter", "malformed_function_call", "unexpected_tool_call", "too_many_tool_calls"], // Gemini
  ...["malformed_model_output", "malformed_tool_use"], // Bedrock
  "parse_error", // LMDeploy
]);

/** isFailedEnd reports whether an answer ended by its upstream's failure, by its `finish_reason` or `stop_reason`. */
export function isFailedEnd(reason: JsonValue | undefined): boolean {
  return failedEnds.has(finishWord(reason));
}

/**
 * noAnswer returns the refusal for JSON that is neither an answer nor a frame of one: the error that it tells, if any. Undefined for a
 * frame that tells nothing.
 */
export function noAnswer(
  json: JsonObject,
  bytes: Buffer,
  place: ErrorPlace,
  refusalOf: RefusalOf,
): Refusal | undefined {
  if (saysAnything(json)) return refusalOf(json, bytes);
  if (place === "frame") return undefined;
  return upstreamFailed(place === "error" ? "it answered with an error" : "its answer is empty");
}

/** brokenByError refuses a call whose upstream ended its answer by its own failure. */
export function brokenByError(): Refusal {
  return upstreamFailed("it broke off its answer by an error");
}
