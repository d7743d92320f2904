/**
 * Counts the input of a request in this process, for charges where the upstream told no usage: an estimate, by the
 * tokenizer of another vendor. What it cannot count, or not in good time, is taken at four bytes a token: no call loses its
 * settlement by it.
 */
import type { CreateChatCompletionRequestSchema } from "../../gen/modelgateway/v1/chat_pb.ts";
import type { CreateMessageRequestSchema } from "../../gen/modelgateway/v1/messages_pb.ts";
import { messagesToChat } from "../families/messages-to-chat/index.ts";
import type { Operation } from "../providers/operations.ts";
import { estimatePromptTokens, promptTokens } from "../tokens/prompt.ts";
import { loadTokenizer, type Tokenizer } from "../tokens/tokenizer.ts";
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
    const tokenizer = await loadTokenizer();
    if (operation === "chat") return await promptTokens(request as ChatRequest, tokenizer, never);
    if (operation === "messages") {
      const translated = messagesToChat.translate(request as Wire<typeof CreateMessageRequestSchema>, context);
      return await promptTokens(translated.request, tokenizer, never);
    }
    const { prompt, input } = request.json();
    return await countTexts(prompt ?? input, tokenizer);
  } catch {
    return estimate(request);
  }
}

/** In bytes: what is longer would keep the process from its other work. */
const longest = 1_048_576;

function estimate(request: Wire): number {
  return Math.ceil(request.bytes().length / bytesPerToken);
}

type ChatRequest = Wire<typeof CreateChatCompletionRequestSchema>;

/** A text, a list of tokens, or a list of either. */
async function countTexts(value: unknown, tokenizer: Tokenizer): Promise<number> {
  if (typeof value === "string") return tokenizer.countLong(value, never);
  if (typeof value === "number") return 1;
  if (!Array.isArray(value)) return 0;
  let total = 0;
  for (const item of value) total += typeof item === "number" ? 1 : await countTexts(item, tokenizer);
  return total;
}
