/**
 * A unary answer of OpenAI's dialect → the chunks that say the same: for each choice its content and its end, then
 * the usage.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { Operation } from "../../call/operations.ts";
import { isObject, objectsIn } from "../../wire/json.ts";
import { callsSomething, isFinished } from "../usage/finish-word.ts";

export function chunksOfAnswer(answer: JsonObject, operation: Operation): readonly JsonObject[] | undefined {
  if (operation !== "chat" && operation !== "completions") return undefined;
  const { choices, usage, ...rest } = answer;
  const head = { ...rest, object: operation === "chat" ? "chat.completion.chunk" : "text_completion" };
  const all = objectsIn(choices);
  const chunks = all.flatMap((choice): JsonObject[] => {
    const { message, finish_reason = null, native_finish_reason: native = null, ...more } = choice;
    const reason = reasonFor(finish_reason, isObject(message) ? message : choice);
    if (!isObject(message)) return [{ ...head, choices: [{ ...choice, finish_reason: reason }] }];
    const content = { ...more, delta: deltaOf(message), finish_reason: null };
    const own = native === null ? {} : { native_finish_reason: native };
    const end = { index: choice.index ?? 0, delta: {}, logprobs: null, finish_reason: reason, ...own };
    return [content, end].map((one) => ({ ...head, choices: [one] }));
  });
  return isObject(usage) ? [...chunks, { ...head, choices: [], usage }] : chunks;
}

/** reasonFor returns why an answer ended: it is whole, also where its server gives no reason, or an empty one. */
export function reasonFor(reason: JsonValue, { tool_calls: calls, function_call: legacy }: JsonObject): JsonValue {
  if (isFinished(reason)) return reason;
  if (Array.isArray(calls) && calls.length > 0) return "tool_calls";
  return callsSomething(legacy) ? "function_call" : "stop";
}

/** deltaOf returns a message as one piece. Pieces of calls need an index, and the first one a type, which Mistral leaves out of whole answers. */
function deltaOf({ function_call: legacy, ...message }: JsonObject): JsonObject {
  const { tool_calls: calls } = message;
  return {
    ...message,
    ...(callsSomething(legacy) ? { function_call: legacy } : {}),
    ...(Array.isArray(calls) ? { tool_calls: calls.map(pieceOf) } : {}),
  };
}

function pieceOf(call: JsonValue, index: number): JsonValue {
  return isObject(call) ? { index, type: isObject(call.custom) ? "custom" : "function", ...call } : call;
}
