/**
 * Finds errors in place of an answer of Anthropic's dialect, or beside one: its own errors, those of proxies and
 * other servers in other shapes, an end by a failure, an empty answer.
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
import { isForeignToMessages } from "../frames/native/chat-as-message.ts";

/** anthropicFaults returns a function that finds the refusal for JSON that is no answer and no frame of one. */
export function anthropicFaults(refusalOf: RefusalOf) {
  return (json: JsonObject, bytes: Buffer, _: Operation, place: ErrorPlace): Refusal | undefined => {
    if (namesError(json)) return refusalOf(json, bytes);
    if (place === "frame" && isForeignToMessages(json)) return undefined;
    if (place === "frame" && typeof json.type === "string")
      return endsByFailure(json.delta) ? brokenByError() : undefined;
    if (place === "whole" && Array.isArray(json.content)) return endsByFailure(json) ? brokenByError() : undefined;
    return noAnswer(json, bytes, place, refusalOf);
  };
}

function endsByFailure(end: JsonValue | undefined): boolean {
  return isObject(end) && isFailedEnd(end.stop_reason);
}
