/**
 * The parts that a message used, as the chat API tells them: sums with their parts named.
 *
 * They are the same that the call is charged for: what a stream tells more than once is read in one place.
 */
import { MessageUsageReader } from "../../../providers/usage/message-counts.ts";
import type { JsonObject } from "../../../wire/json.ts";
import { boundedCount } from "../../chat-usage.ts";

export { MessageUsageReader as MessageCounts };

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
