/** A generated answer → the unary chat completion, and what unary and streamed answers share. */
import { ChatCompletionSchema } from "../../../gen/modelgateway/v1/chat_pb.ts";
import type { Piece } from "../../tokens/tokenizer.ts";
import type { JsonObject } from "../../wire/json.ts";
import { Wire } from "../../wire/wire.ts";
import type { GeneratedAnswer, GeneratedCall, GeneratedChoice } from "./chat.ts";

export const fingerprint = "fp_embedded";

/** Head names the model and the time of an answer. */
export interface Head {
  readonly model: string;
  /** In seconds since 1970. */
  readonly created: number;
}

export function wholeAnswer(answer: GeneratedAnswer, head: Head): Wire<typeof ChatCompletionSchema> {
  return Wire.ofJson(ChatCompletionSchema, {
    id: answer.id,
    object: "chat.completion",
    created: head.created,
    model: head.model,
    choices: answer.choices.map((choice, index) => ({
      index,
      message: messageOf(choice),
      logprobs: null,
      finish_reason: choice.finish,
    })),
    usage: usageOf(answer),
    system_fingerprint: fingerprint,
  });
}

export function usageOf({ promptTokens, completionTokens }: GeneratedAnswer): JsonObject {
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    prompt_tokens_details: { cached_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 0 },
  };
}

function messageOf({ text, calls }: GeneratedChoice): JsonObject {
  const message: JsonObject = { role: "assistant", content: text ? joined(text) : null, refusal: null };
  const [first] = calls;
  if (first?.kind === "legacy") message.function_call = { name: first.name, arguments: joined(first.pieces) };
  else if (first) message.tool_calls = calls.map(callOf);
  return message;
}

function callOf({ kind, id, name, pieces }: GeneratedCall): JsonObject {
  if (kind === "custom") return { id, type: "custom", custom: { name, input: joined(pieces) } };
  return { id, type: "function", function: { name, arguments: joined(pieces) } };
}

function joined(pieces: readonly Piece[]): string {
  return pieces.map((piece) => piece.text).join("");
}
