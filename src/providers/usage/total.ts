/** The total of usage as OpenAI's APIs tell it: typed clients require it, and servers leave it out. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { Operation } from "../../call/operations.ts";
import { isObject } from "../../wire/json.ts";
import { countOf } from "./count.ts";

/** withTotal returns usage with the total of its counts; undefined where it has one, or lacks a count. */
export function withTotal(usage: JsonValue | undefined, operation: Operation): JsonObject | undefined {
  if (!isObject(usage) || countOf(usage.total_tokens) !== undefined) return undefined;
  const input = countOf(usage.prompt_tokens);
  const output = operation === "embeddings" ? 0 : countOf(usage.completion_tokens);
  return input === undefined || output === undefined ? undefined : { ...usage, total_tokens: input + output };
}
