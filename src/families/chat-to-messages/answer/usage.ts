/**
 * The usage of a message as a chat completion reports it: sums, with their parts named. It is the usage that the call
 * is charged for.
 */
import type { MessageUsageReader } from "../../../providers/usage/message-counts.ts";
import type { JsonObject } from "../../../wire/json.ts";
import { boundedCount } from "../../chat-usage.ts";

export function chatUsage({ reported, hasReasoning }: MessageUsageReader): JsonObject {
  const [read, output] = [boundedCount(reported.cacheRead), boundedCount(reported.output)];
  const written = boundedCount(reported.cacheWrite) + boundedCount(reported.cacheWriteHour);
  const input = boundedCount(reported.input) + written + read;
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: read, cache_write_tokens: written },
    ...(hasReasoning ? { completion_tokens_details: { reasoning_tokens: boundedCount(reported.reasoning) } } : {}),
  };
}
