/**
 * The parts that a message used, as the chat API tells them: sums with their parts named.
 *
 * They are the same that the call is charged for: what a stream tells more than once is read in one place.
 */
import { MessageCounts } from "../../../providers/usage/message-counts.ts";
import type { JsonObject } from "../../../wire/json.ts";
import { believed } from "../../counted.ts";

export { MessageCounts };

export function chatUsage({ told, hasReasoning }: MessageCounts): JsonObject {
  const [read, output] = [believed(told.cacheRead), believed(told.output)];
  const written = believed(told.cacheWrite) + believed(told.cacheWriteHour);
  const input = believed(told.input) + written + read;
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: read, cache_write_tokens: written },
    ...(hasReasoning ? { completion_tokens_details: { reasoning_tokens: believed(told.reasoning) } } : {}),
  };
}
