/**
 * Counts the tokens of a request in this process, of messages for upstreams that do not count and of responses in any case: an
 * estimate, by the tokenizer of another vendor, and free. A long request is estimated from its length alone: what is free must
 * not keep others waiting for their counts.
 */

import { CreateMessageRequestSchema, MessageTokenCountSchema } from "../../../gen/modelgateway/v1/messages_pb.ts";
import type { Answer } from "../../call/call.ts";
import type { Input } from "../../call/operations.ts";
import type { Attempt, Provider, Speak } from "../../providers/contract.ts";
import type { Signal } from "../../runtime/caller-abort.ts";
import { counter } from "../../tokens/counter.ts";
import { estimatePromptTokens as estimateTokens, promptTokens } from "../../tokens/prompt.ts";
import { Wire } from "../../wire/wire.ts";
import { asChat } from "./as-chat.ts";

/** Lets a provider count here where it does not itself. */
export function withTokenCount(provider: Provider): Provider {
  return { ...provider, speaks: { count_tokens: countTokens as Speak<"count_tokens">, ...provider.speaks } };
}

/** In bytes. */
const longest = 262_144;

async function countTokens({
  request,
  signal,
}: Attempt<"count_tokens">): Promise<Answer<typeof MessageTokenCountSchema>> {
  // A request to count is one to answer without a bound, which the translation wants.
  const asked = Wire.ofJson(CreateMessageRequestSchema, { ...request.json(), max_tokens: 1 });
  const input_tokens = await counted(await asChat("messages", asked), request.byteLength, signal);
  return { kind: "whole", body: Wire.ofJson(MessageTokenCountSchema, { input_tokens }) };
}

/** Counts the tokens of a request for a response that refers to nothing any more. Throws a Refusal. */
export async function countResponseTokens(request: Wire<Input<"responses">>, signal: Signal): Promise<number> {
  return counted(await asChat("responses", request), request.byteLength, signal);
}

async function counted(conversation: Wire<Input<"chat">>, length: number, signal: Signal): Promise<number> {
  return length > longest ? estimateTokens(conversation) : promptTokens(conversation, counter, signal);
}
