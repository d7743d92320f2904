/**
 * Counts the tokens of a messages request in this process, for upstreams that do not count: an estimate, by the
 * tokenizer of another vendor, and free. A long request is estimated from its length alone: what is free must not keep
 * others waiting for their counts.
 */

import { CreateMessageRequestSchema, MessageTokenCountSchema } from "../../gen/modelgateway/v1/messages_pb.ts";
import type { Answer } from "../call.ts";
import { messagesToChat } from "../families/messages-to-chat/index.ts";
import type { Attempt, Provider, Speak } from "../providers/provider.ts";
import { counter } from "../tokens/counter.ts";
import { estimatePromptTokens as estimateTokens, promptTokens } from "../tokens/prompt.ts";
import { Wire } from "../wire/wire.ts";
import { doSoon } from "../work.ts";

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
  const context = { form: "whole", maxOutputTokens: undefined, answerId: "", now: 0, estimateTokens } as const;
  const { request: conversation } = await doSoon(messagesToChat.translate(asked, context), request.isLong);
  const isLong = request.byteLength > longest;
  const input_tokens = isLong ? estimateTokens(conversation) : await promptTokens(conversation, counter, signal);
  return { kind: "whole", body: Wire.ofJson(MessageTokenCountSchema, { input_tokens }) };
}
