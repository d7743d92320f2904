/**
 * The parts that a chat answer used, as the Messages API tells them.
 *
 * An upstream that tells no usage counts as zero.
 */
import type { JsonObject } from "../../../wire/json.ts";
import { ChatUsageTracker } from "../../chat-usage.ts";

/** Returns the usage of a whole answer, or of the beginning of a stream. */
export function usageOf(counted: ChatUsageTracker = new ChatUsageTracker()): JsonObject {
  return {
    ...finalUsageOf(counted),
    cache_creation: null,
    service_tier: "standard",
    speed: null,
    inference_geo: null,
  };
}

/** Returns the usage at the end of a stream: input too, for only an estimate of it was known when the stream began. */
export function finalUsageOf({ parts, hasReasoning }: ChatUsageTracker): JsonObject {
  return {
    input_tokens: parts.input,
    output_tokens: parts.output,
    cache_creation_input_tokens: parts.cacheWrite,
    cache_read_input_tokens: parts.cacheRead,
    output_tokens_details: hasReasoning ? { thinking_tokens: parts.reasoning } : null,
    server_tool_use: null,
  };
}
