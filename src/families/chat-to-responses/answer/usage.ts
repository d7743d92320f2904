/** The usage of a response as a chat completion reports it. */

import { ChatUsageReader } from "../../../providers/usage/chat-counts.ts";
import type { JsonObject } from "../../../wire/json.ts";
import { boundedCount, totalInput } from "../../chat-usage.ts";

/** chatUsage returns undefined where no usage was reported. */
export function chatUsage({ usage = null }: JsonObject): JsonObject | undefined {
  const counts = new ChatUsageReader();
  if (!counts.take({ usage })) return undefined;
  const { reported } = counts;
  const [cacheRead, cacheWrite] = [boundedCount(reported.cacheRead), boundedCount(reported.cacheWrite)];
  const output = boundedCount(reported.output);
  const input = totalInput({ input: boundedCount(reported.input), cacheRead, cacheWrite, output, reasoning: 0 });
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: {
      cached_tokens: cacheRead,
      ...(cacheWrite === 0 ? {} : { cache_write_tokens: cacheWrite }),
    },
    completion_tokens_details: { reasoning_tokens: boundedCount(reported.reasoning) },
  };
}
