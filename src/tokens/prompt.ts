/**
 * Counts the tokens of a request the way chat models do: 3 a message, its role, text and calls, 3 to prime the
 * answer, and the tools as their JSON text. What is attached is not looked into: each image, sound or file counts 85.
 */
import type { ChatMessage, CreateChatCompletionRequestSchema } from "../../gen/modelgateway/v1/chat_pb.ts";
import type { Wire } from "../wire/wire.ts";
import { attachmentsOf, textOf } from "./content.ts";
import type { Tokenizer } from "./tokenizer.ts";

const perMessage = 3;
const perName = 1;
const perAttachment = 85;
const priming = 3;

/** Throws a Refusal when the caller leaves. */
export async function promptTokens(
  request: Wire<typeof CreateChatCompletionRequestSchema>,
  tokenizer: Tokenizer,
  signal: AbortSignal,
): Promise<number> {
  const { messages } = request.message();
  const { images, sounds, files } = attachmentsOf(messages);
  let total = perAttachment * (images + sounds + files) + priming;
  for (const text of [...messages.flatMap(textsOf), ...toolTexts(request)])
    total += await tokenizer.countLong(text, signal);
  // Every role is a word of one token.
  for (const message of messages) total += perMessage + 1 + (message.name ? perName : 0);
  return total;
}

function textsOf(message: ChatMessage): string[] {
  const calls = message.toolCalls.flatMap(({ function: called, custom }) => [
    called?.name,
    called?.arguments,
    custom?.name,
    custom?.input,
  ]);
  const legacy = [message.functionCall?.name, message.functionCall?.arguments];
  const texts = [textOf(message), message.refusal, message.reasoningContent, message.name, ...calls, ...legacy];
  return texts.filter((text) => text !== undefined);
}

function toolTexts(request: Wire<typeof CreateChatCompletionRequestSchema>): string[] {
  const { tools, functions } = request.message();
  if (tools.length === 0 && functions.length === 0) return [];
  const json = request.json();
  return [JSON.stringify(tools.length > 0 ? json.tools : json.functions)];
}
