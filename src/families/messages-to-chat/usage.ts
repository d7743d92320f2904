/**
 * Chat's counts, which include each other, → the Messages API's, which are disjoint.
 *
 * An upstream that tells no usage counts as zero. Counts that contradict each other never give one below zero.
 */
import type { ChatUsage } from "../../../gen/modelgateway/v1/chat_pb.ts";
import type { JsonObject } from "../../wire/json.ts";

/** Returns the usage of a whole answer, or of the beginning of a stream. */
export function usageOf(usage: ChatUsage | undefined): JsonObject {
  return {
    ...finalUsageOf(usage),
    cache_creation: null,
    service_tier: "standard",
    speed: null,
    inference_geo: null,
  };
}

/** Returns the usage at the end of a stream: input too, for only an estimate of it was known when the stream began. */
export function finalUsageOf(usage: ChatUsage | undefined): JsonObject {
  const read = usage?.promptTokensDetails?.cachedTokens ?? 0;
  const written = usage?.promptTokensDetails?.cacheWriteTokens ?? 0;
  const thinking = usage?.completionTokensDetails?.reasoningTokens;
  return {
    input_tokens: Math.max(0, (usage?.promptTokens ?? 0) - read - written),
    output_tokens: usage?.completionTokens ?? 0,
    cache_creation_input_tokens: written,
    cache_read_input_tokens: read,
    output_tokens_details: thinking === undefined ? null : { thinking_tokens: thinking },
    server_tool_use: null,
  };
}
