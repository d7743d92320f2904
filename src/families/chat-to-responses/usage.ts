/** The parts that a response used, as a chat completion tells them. */

import { ChatCounts } from "../../providers/usage/chat-counts.ts";
import type { JsonObject } from "../../wire/json.ts";
import { believed, inputOf } from "../counted.ts";

/** Returns undefined where nothing was told. */
export function chatUsage({ usage = null }: JsonObject): JsonObject | undefined {
  const counts = new ChatCounts();
  if (!counts.take({ usage })) return undefined;
  const { told } = counts;
  const [cacheRead, cacheWrite] = [believed(told.cacheRead), believed(told.cacheWrite)];
  const output = believed(told.output);
  const input = inputOf({ input: believed(told.input), cacheRead, cacheWrite, output, reasoning: 0 });
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: {
      cached_tokens: cacheRead,
      ...(cacheWrite === 0 ? {} : { cache_write_tokens: cacheWrite }),
    },
    completion_tokens_details: { reasoning_tokens: believed(told.reasoning) },
  };
}
