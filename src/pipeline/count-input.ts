/**
 * Counts the input of a request in this process, for charges where the upstream told no usage: an estimate, by the
 * tokenizer of another vendor. What it cannot count, or not in good time, is taken at four bytes a token: no call loses its
 * settlement by it.
 */
import type { CreateChatCompletionRequestSchema } from "../../gen/modelgateway/v1/chat_pb.ts";
import type { CreateMessageRequestSchema } from "../../gen/modelgateway/v1/messages_pb.ts";
import { messagesToChat } from "../families/messages-to-chat/index.ts";
import type { Operation } from "../providers/operations.ts";
import { counter } from "../tokens/counter.ts";
import { estimatePromptTokens, promptTokens } from "../tokens/prompt.ts";
import type { Wire } from "../wire/wire.ts";

const context = {
  form: "whole",
  maxOutputTokens: undefined,
  answerId: "",
  now: 0,
  estimateTokens: estimatePromptTokens,
} as const;

const bytesPerToken = 4;

/** What is charged is counted to the end, whoever has left. */
const never = new AbortController().signal;

export async function countInput(operation: Operation, request: Wire): Promise<number> {
  if (request.bytes().length > longest) return estimate(request);
  try {
    if (operation === "chat") return await promptTokens(request as ChatRequest, counter, never);
    if (operation === "messages") {
      const translated = messagesToChat.translate(request as Wire<typeof CreateMessageRequestSchema>, context);
      return await promptTokens(translated.request, counter, never);
    }
    const { prompt, input } = request.json();
    const { texts, tokens } = partsOf(prompt ?? input);
    return tokens + (await counter.countAll(texts, never));
  } catch {
    return estimate(request);
  }
}

/** In bytes: what is longer would keep others waiting for their counts. */
const longest = 1_048_576;

function estimate(request: Wire): number {
  return Math.ceil(request.bytes().length / bytesPerToken);
}

type ChatRequest = Wire<typeof CreateChatCompletionRequestSchema>;

/** Of a text, a list of tokens, or a list of either: the texts, and how many tokens there are beside. */
function partsOf(value: unknown): { readonly texts: readonly string[]; readonly tokens: number } {
  const parts = [value].flat(2);
  const texts = parts.filter((part) => typeof part === "string");
  return { texts, tokens: parts.filter((part) => typeof part === "number").length };
}
