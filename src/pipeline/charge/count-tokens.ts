/**
 * Counts the tokens of a request in this process: of messages where the upstream does not count, or has no path for it, and of responses
 * always. The count is an estimate, by another vendor's tokenizer, and free. A long request is estimated from its length alone, so that free
 * calls do not delay the counts of others.
 */

import { CreateMessageRequestSchema, MessageTokenCountSchema } from "../../../gen/modelgateway/v1/messages_pb.ts";
import type { Answer } from "../../call/call.ts";
import type { Input } from "../../call/operations.ts";
import { Refusal } from "../../call/refusals.ts";
import type { Attempt, Provider, Speak } from "../../providers/contract.ts";
import type { Signal } from "../../runtime/caller-abort.ts";
import type { MaybePromise } from "../../runtime/maybe-promise.ts";
import { createUnserved, type Unserved } from "../../targets/unserved.ts";
import { counter } from "../../tokens/counter.ts";
import { estimatePromptTokens as estimateTokens, promptTokens } from "../../tokens/prompt.ts";
import { Wire } from "../../wire/wire.ts";
import { asChat } from "./as-chat.ts";

/**
 * withTokenCount adds token counting to a provider that does not offer it, or whose server turns out not to. Such a server is asked again after
 * a while. `clock` returns milliseconds since 1970.
 */
export function withTokenCount(provider: Provider, clock: () => number): Provider {
  const { count_tokens: asked } = provider.speaks;
  const count_tokens = asked ? orCounted(asked as SpeakCount, createUnserved(clock)) : countTokens;
  return { ...provider, speaks: { ...provider.speaks, count_tokens: count_tokens as Speak<"count_tokens"> } };
}

type SpeakCount = (attempt: Attempt<"count_tokens">) => MaybePromise<Answer<typeof MessageTokenCountSchema>>;

/** orCounted counts here what the server of a model does not: servers behind one address may differ by model. */
function orCounted(speak: SpeakCount, unserved: Unserved): SpeakCount {
  return async (attempt) => {
    if (unserved.has(attempt.model)) return countTokens(attempt);
    try {
      return await speak(attempt);
    } catch (error) {
      if (!(error instanceof Refusal) || !error.isUnserved) throw error;
      unserved.note(attempt.model);
      return countTokens(attempt);
    }
  };
}

/** Longer requests, in bytes, are estimated from their length. */
const maxCounted = 262_144;

async function countTokens({
  request,
  signal,
}: Attempt<"count_tokens">): Promise<Answer<typeof MessageTokenCountSchema>> {
  // A request to count has no output bound, which the translation requires.
  const asked = Wire.ofJson(CreateMessageRequestSchema, { ...request.json(), max_tokens: 1 });
  const input_tokens = await counted(await asChat("messages", asked), request.byteLength, signal);
  return { kind: "whole", body: Wire.ofJson(MessageTokenCountSchema, { input_tokens }) };
}

/** countResponseTokens counts the tokens of a request for a response. All that it refers to must be in it. Throws a Refusal. */
export async function countResponseTokens(request: Wire<Input<"responses">>, signal: Signal): Promise<number> {
  return counted(await asChat("responses", request), request.byteLength, signal);
}

async function counted(conversation: Wire<Input<"chat">>, length: number, signal: Signal): Promise<number> {
  return length > maxCounted ? estimateTokens(conversation) : promptTokens(conversation, counter, signal);
}
