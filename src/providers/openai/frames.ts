/**
 * A unary answer of OpenAI's dialect → the chunks that say the same: for each choice its content and its end, then
 * the usage.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { Operation } from "../../call/operations.ts";
import { isObject } from "../../wire/json.ts";

export function chunksOfAnswer(answer: JsonObject, operation: Operation): readonly JsonObject[] | undefined {
  if (operation !== "chat" && operation !== "completions") return undefined;
  const { choices, usage, ...rest } = answer;
  const head = { ...rest, object: operation === "chat" ? "chat.completion.chunk" : "text_completion" };
  const all = (Array.isArray(choices) ? choices : []).filter(isObject);
  const chunks = all.flatMap((choice): JsonObject[] => {
    const { message, finish_reason = null, ...more } = choice;
    if (!isObject(message)) return [{ ...head, choices: [choice] }];
    const content = { ...more, delta: deltaOf(message), finish_reason: null };
    const end = { index: choice.index ?? 0, delta: {}, logprobs: null, finish_reason };
    return [content, end].map((one) => ({ ...head, choices: [one] }));
  });
  return isObject(usage) ? [...chunks, { ...head, choices: [], usage }] : chunks;
}

/** Pieces of calls need an index, and the first one a type, which Mistral leaves out of whole answers. */
function deltaOf(message: JsonObject): JsonObject {
  const { tool_calls: calls } = message;
  if (!Array.isArray(calls)) return message;
  return {
    ...message,
    tool_calls: calls.map((call, index): JsonValue => {
      return isObject(call) ? { index, type: isObject(call.custom) ? "custom" : "function", ...call } : call;
    }),
  };
}
