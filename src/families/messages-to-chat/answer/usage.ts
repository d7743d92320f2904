/** The usage of a chat answer as the Messages API reports it. Unreported usage counts as zero. */
import type { Usage } from "../../../call/usage.ts";
import type { JsonObject } from "../../../wire/json.ts";
import { ChatUsageTracker } from "../../chat-usage.ts";

/** usageOf returns the usage of a unary answer, or of the start of a stream. */
export function usageOf(counted: ChatUsageTracker = new ChatUsageTracker()): JsonObject {
  return {
    cache_creation: null,
    ...finalUsageOf(counted),
    service_tier: "standard",
    speed: null,
    inference_geo: null,
  };
}

/** finalUsageOf returns the usage at the end of a stream, with the input, of which the start had an estimate only. */
export function finalUsageOf({ parts, hasReasoning }: ChatUsageTracker): JsonObject {
  return {
    input_tokens: parts.input,
    output_tokens: parts.output,
    cache_creation_input_tokens: parts.cacheWrite + parts.cacheWriteHour,
    ...(parts.cacheWriteHour > 0 && { cache_creation: splitOf(parts) }),
    cache_read_input_tokens: parts.cacheRead,
    output_tokens_details: hasReasoning ? { thinking_tokens: parts.reasoning } : null,
    server_tool_use: null,
  };
}

/** splitOf tells what was written to the cache by lifetime, in the API's own two. */
function splitOf({ cacheWrite, cacheWriteHour }: Usage): JsonObject {
  return { ephemeral_5m_input_tokens: cacheWrite, ephemeral_1h_input_tokens: cacheWriteHour };
}
