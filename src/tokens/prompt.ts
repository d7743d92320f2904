/**
 * Counts the tokens of a request as chat models do: 3 per message, its role, text and calls, 3 to prime the answer,
 * and the tools as their JSON text. Each image, sound or file counts 85, unread, unless the caller says how much they count.
 *
 * A tokenizer counts exactly. An estimate serves where nothing may wait: the tokenizer takes half a millisecond per
 * thousand characters, and a sixth of a second before the first.
 */
import type { ChatMessage, CreateChatCompletionRequestSchema } from "../../gen/modelgateway/v1/chat_pb.ts";
import type { Signal } from "../runtime/caller-abort.ts";
import type { Wire } from "../wire/wire.ts";
import { attachmentsOf, textOf } from "./content.ts";
import type { TextCounter } from "./tokenizer.ts";

const perMessage = 3;
const perName = 1;
const perAttachment = 85;
const priming = 3;
/** UTF-8 bytes per token: 3.5 to 4.6 in English, code, JSON, Chinese and Japanese; 5 to 8 in other scripts. */
const bytesPerToken = 4;

type ChatRequest = Wire<typeof CreateChatCompletionRequestSchema>;

/**
 * promptTokens throws a Refusal when the caller disconnects. `attached` is how many tokens the images, sounds and files count as; without
 * it each counts 85.
 */
export async function promptTokens(
  request: ChatRequest,
  counter: TextCounter,
  signal: Signal,
  attached?: number,
): Promise<number> {
  return frameTokens(request, attached) + (await counter.countAll(textsOf(request), signal));
}

/** estimatePromptTokens estimates the tokens from the length of the texts. */
export function estimatePromptTokens(request: ChatRequest): number {
  let bytes = 0;
  for (const text of textsOf(request)) bytes += Buffer.byteLength(text);
  return frameTokens(request) + Math.ceil(bytes / bytesPerToken);
}

/** frameTokens counts what surrounds the texts. */
function frameTokens(request: ChatRequest, attached?: number): number {
  const { messages } = request.message();
  let total = priming + (attached ?? attachedTokens(messages));
  // Every role is one token.
  for (const message of messages) total += perMessage + 1 + (message.name ? perName : 0);
  return total;
}

function attachedTokens(messages: readonly ChatMessage[]): number {
  const { images, sounds, files } = attachmentsOf(messages);
  return perAttachment * (images + sounds + files);
}

function textsOf(request: ChatRequest): string[] {
  return [...request.message().messages.flatMap(textsOfMessage), ...toolTexts(request)];
}

function textsOfMessage(message: ChatMessage): string[] {
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

function toolTexts(request: ChatRequest): string[] {
  const { tools, functions } = request.message();
  if (tools.length === 0 && functions.length === 0) return [];
  const json = request.json();
  return [JSON.stringify(tools.length > 0 ? json.tools : json.functions)];
}
