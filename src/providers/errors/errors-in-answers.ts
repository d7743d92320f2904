/**
 * The error that stands where an answer should, or beside one: vendors, servers and proxies write it in many ways, and many of them
 * under status 200. What it says is read as of an error answer (`error-words.ts`).
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isObject } from "../../wire/json.ts";
import { readErrorJson } from "./error-words.ts";

/** Where JSON stands that may be an error: a whole answer, a frame of a stream, or one that is named `error`. */
export type ErrorPlace = "whole" | "frame" | "error";

/** Whether JSON names an error. An empty one is none: some servers write it beside every answer. */
export function namesError({ error, object, type }: JsonObject): boolean {
  return !saysNothing(error) || object === "error" || type === "error";
}

/** Whether JSON that is no answer says anything: `{"detail"}`, `{"code","msg"}`, `{"message"}`. */
export function saysAnything(json: JsonObject): boolean {
  return readErrorJson(json).message !== undefined;
}

function saysNothing(value: JsonValue | undefined): boolean {
  if (value === undefined || value === null || value === false || value === "" || value === 0) return true;
  const values = isObject(value) ? Object.values(value) : value;
  return Array.isArray(values) && values.every((one) => one === null || one === "" || one === 0);
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
