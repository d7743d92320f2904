/** The usage of a response as a chat completion reports it. */

import { ChatUsageReader } from "../../../providers/usage/chat-counts.ts";
import type { JsonObject } from "../../../wire/json.ts";
import { boundedCount } from "../../chat-usage.ts";

/** chatUsage returns undefined where no usage was reported. */
export function chatUsage({ usage = null }: JsonObject): JsonObject | undefined {
  const counts = new ChatUsageReader();
  if (!counts.take({ usage })) return undefined;
  const { reported } = counts;
  const cacheRead = boundedCount(reported.cacheRead);
  const longer = boundedCount(reported.cacheWriteHour);
  const written = boundedCount(reported.cacheWrite) + longer;
  const output = boundedCount(reported.output);
  const input = boundedCount(reported.input) + cacheRead + written;
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: {
      cached_tokens: cacheRead,
      ...(written === 0 ? {} : { cache_write_tokens: written }),
      ...(longer === 0
        ? {}
        : { cache_write_tokens_details: { ttl_12h_tokens: longer, ttl_30m_tokens: written - longer } }),
    },
    completion_tokens_details: { reasoning_tokens: boundedCount(reported.reasoning) },
  };
}
