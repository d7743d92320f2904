/** The parts that a response used, as a chat completion tells them. */

import { ChatUsageReader } from "../../../providers/usage/chat-counts.ts";
import type { JsonObject } from "../../../wire/json.ts";
import { believed, inputOf } from "../../chat-usage.ts";

/** Returns undefined where nothing was told. */
export function chatUsage({ usage = null }: JsonObject): JsonObject | undefined {
  const counts = new ChatUsageReader();
  if (!counts.take({ usage })) return undefined;
  const { reported } = counts;
  const [cacheRead, cacheWrite] = [believed(reported.cacheRead), believed(reported.cacheWrite)];
  const output = believed(reported.output);
  const input = inputOf({ input: believed(reported.input), cacheRead, cacheWrite, output, reasoning: 0 });
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: {
      cached_tokens: cacheRead,
      ...(cacheWrite === 0 ? {} : { cache_write_tokens: cacheWrite }),
    },
    completion_tokens_details: { reasoning_tokens: believed(reported.reasoning) },
  };
}
