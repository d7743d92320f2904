/**
 * The tokens that a call used: disjoint parts in the Messages API, sums with their parts named in the chat API.
 *
 * A stream tells its counts more than once, each time in full: what is told later stands.
 */
import type { MessageUsage } from "../../../gen/modelgateway/v1/messages_pb.ts";
import type { JsonObject } from "../../wire/json.ts";

export interface Counts {
  readonly fresh: number;
  readonly written: number;
  readonly read: number;
  readonly output: number;
  /** Included in the output; undefined where it was not told. */
  readonly thinking: number | undefined;
}

const nothing: Counts = { fresh: 0, written: 0, read: 0, output: 0, thinking: undefined };

export function countsOf(usage: MessageUsage, before: Counts = nothing): Counts {
  const { ephemeral5mInputTokens: short, ephemeral1hInputTokens: long } = usage.cacheCreation ?? {};
  const split = short === undefined && long === undefined ? undefined : (short ?? 0) + (long ?? 0);
  return {
    fresh: usage.inputTokens ?? before.fresh,
    written: usage.cacheCreationInputTokens ?? split ?? before.written,
    read: usage.cacheReadInputTokens ?? before.read,
    output: usage.outputTokens ?? before.output,
    thinking: usage.outputTokensDetails?.thinkingTokens ?? before.thinking,
  };
}

export function chatUsage({ fresh, written, read, output, thinking }: Counts = nothing): JsonObject {
  const input = fresh + written + read;
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: read, cache_write_tokens: written },
    ...(thinking === undefined ? {} : { completion_tokens_details: { reasoning_tokens: thinking } }),
  };
}
