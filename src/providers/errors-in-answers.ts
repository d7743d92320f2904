/**
 * The error that stands where an answer should, or beside one: vendors, servers and proxies write it in many ways, and many of them
 * under status 200.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";

/** What an error says, in OpenAI's words. */
export interface ErrorWords extends JsonObject {
  readonly message: string;
}

/** Where JSON stands that may be an error: a whole answer, a frame of a stream, or one that is named `error`. */
export type Place = "whole" | "frame" | "error";

/** Returns an error that is called so; undefined where there is none. An answer that stands beside it is none. */
export function errorIn(json: JsonObject): ErrorWords | undefined {
  const { error } = json;
  if (!saysNothing(error)) return isObject(error) ? wordsOf(error) : { message: textOf(error) };
  return json.object === "error" || json.type === "error" ? wordsOf(json) : undefined;
}

/** Returns the error that JSON is which is no answer: `{"detail"}`, `{"code","msg"}`, `{"message"}`. */
export function errorInPlaceOf(json: JsonObject): ErrorWords | undefined {
  const words = wordsOf(json);
  return words.message === "" ? undefined : words;
}

function wordsOf(error: JsonObject): ErrorWords {
  const { message, msg, detail, error_msg, errors, error: inner, code, error_code, status, type, param } = error;
  const said = [message, msg, detail, error_msg, errors, inner].find((value) => !saysNothing(value));
  const words: Record<string, JsonValue> = { message: textOf(said) };
  if (typeof type === "string") words.type = type;
  if (typeof param === "string") words.param = param;
  const told = [code, error_code, status].find((value) => typeof value === "string" || typeof value === "number");
  if (told !== undefined) words.code = told;
  return words as ErrorWords;
}

/** A text; what is said in a list, or an object, is said in its text, and else as it stands. */
function textOf(value: JsonValue | undefined): string {
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return value.slice(0, mostWords).map(textIn).filter(Boolean).join("; ");
  return textIn(value);
}

/** How many of a list of errors are told. */
const mostWords = 16;

function textIn(value: JsonValue | undefined): string {
  if (typeof value === "string") return value;
  if (!isObject(value)) return "";
  const { message, msg, detail } = value;
  const said = [message, msg, detail].find((one) => typeof one === "string" && one !== "");
  return typeof said === "string" ? said : JSON.stringify(value);
}

/** Some servers write an empty error beside every answer. */
function saysNothing(value: JsonValue | undefined): boolean {
  if (value === undefined || value === null || value === false || value === "" || value === 0) return true;
  const values = isObject(value) ? Object.values(value) : value;
  return Array.isArray(values) && values.every((one) => one === null || one === "" || one === 0);
}

export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The words of many servers for an end by a failure of theirs: what they said before is no whole answer. */
const failedEnds: ReadonlySet<unknown> = new Set([
  "error",
  "abort",
  "aborted",
  "network_error",
  "internal_error",
  "server_error",
  "insufficient_system_resource",
]);

/** Whether an answer ended because its upstream failed, by its `finish_reason` or `stop_reason`. */
export function isFailedEnd(reason: JsonValue | undefined): boolean {
  return typeof reason === "string" && failedEnds.has(reason.toLowerCase());
}
