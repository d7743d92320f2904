/**
 * Makes the ids of answers and calls from the request: the same request gets the same ids, unary or streamed, through
 * any door.
 */
import { createHash } from "node:crypto";
import type { JsonObject } from "../../wire/json.ts";
import { canonical } from "./canonical.ts";

/** Members that do not change the question. */
const ignoredKeys = new Set(["model", "stream", "stream_options", "metadata"]);

export function answerId(request: JsonObject): string {
  const asked = Object.fromEntries(Object.entries(request).filter(([key]) => !ignoredKeys.has(key)));
  return `chatcmpl-${digest(canonical(asked))}`;
}

export function callId(answer: string, choice: number, index: number): string {
  return `call_${digest(`${answer}/${choice}/${index}`)}`;
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 24);
}
