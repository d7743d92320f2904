/**
 * The usage of a chat answer as a completion reports it: no output where the caller asked for no tokens and got none.
 * Vendors' additions stay.
 */
import { type ChatUsage, ChatUsageSchema } from "../../../../gen/modelgateway/v1/chat_pb.ts";
import { totalInput } from "../../../call/usage.ts";
import type { JsonObject, JsonValue } from "../../../wire/json.ts";
import { writeMessage } from "../../../wire/write.ts";
import type { ChatUsageTracker } from "../../chat-usage.ts";
import type { AnswerContext } from "../request/request.ts";

/** `usage` is what the upstream reported last in the family's own member, if it did. */
export function usageJson(
  { parts, hasReasoning }: ChatUsageTracker,
  usage: ChatUsage | undefined,
  { muted }: AnswerContext,
): JsonValue {
  const reported = usage ? (writeMessage(ChatUsageSchema, usage) as JsonObject) : {};
  const { prompt_tokens_details, completion_tokens_details, ...rest } = reported;
  const output = muted ? 0 : parts.output;
  const input = totalInput(parts);
  return {
    ...rest,
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    ...withCounts("prompt_tokens_details", prompt_tokens_details, {
      cached_tokens: parts.cacheRead,
      cache_write_tokens: parts.cacheWrite + parts.cacheWriteHour,
    }),
    ...(muted
      ? {}
      : withCounts("completion_tokens_details", completion_tokens_details, {
          reasoning_tokens: hasReasoning ? parts.reasoning : 0,
        })),
  };
}

/** withCounts returns the member with these counts; nothing where it was not reported and all counts are zero. */
function withCounts(
  key: string,
  reported: JsonValue | undefined,
  counts: Readonly<Record<string, number>>,
): JsonObject {
  const details = typeof reported === "object" && !Array.isArray(reported) ? reported : null;
  const known = Object.entries(counts).filter(([name, count]) => count > 0 || Object.hasOwn(details ?? {}, name));
  if (known.length === 0) return reported === undefined ? {} : { [key]: reported };
  return { [key]: { ...details, ...Object.fromEntries(known) } };
}
