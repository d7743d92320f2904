/** Reads why an answer ended, in whichever form a server writes it, as one word that can be looked up. */
import type { JsonValue } from "@bufbuild/protobuf";
import { isObject } from "../../wire/is-object.ts";

/** unfinished are the words that say that an answer goes on, as null does. */
const unfinished: ReadonlySet<string> = new Set(["", "null", "none", "undefined", "unspecified", "not_finished"]);

/**
 * finishWord returns a finish reason as it is compared, in lower case with underscores; empty where the answer goes on. It removes the
 * name of an enumeration before the word (`FinishReason.STOP`, `FINISH_REASON_STOP`) and that of a filter behind a colon
 * (`content_filter: SAFETY`).
 * SGLang has the word in an object.
 */
export function finishWord(reason: JsonValue | undefined): string {
  if (isObject(reason)) return isObject(reason.type) ? "" : finishWord(reason.type);
  // The first of an enumeration is the one for no reason yet.
  if (typeof reason === "number") return reason === 0 ? "" : `${reason}`;
  if (typeof reason !== "string") return "";
  const words = reason
    .trim()
    .replace(/:.*$/s, "")
    .replace(/^(?:finish|stop)_?reason[._]/i, "")
    .replaceAll(/(?<=[a-z])(?=[A-Z])|[\s-]+/g, "_")
    .toLowerCase();
  return unfinished.has(words) ? "" : words;
}

/** isFinished reports whether a finish reason says that the answer has ended. */
export function isFinished(reason: JsonValue | undefined): boolean {
  return finishWord(reason) !== "";
}
