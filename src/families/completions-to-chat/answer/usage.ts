/**
 * The parts that a chat answer used, as a completion tells them: none of the output where the caller asked for no tokens, and
 * got none. What else its upstream told of them stays.
 */
import { type ChatUsage, ChatUsageSchema } from "../../../../gen/modelgateway/v1/chat_pb.ts";
import type { JsonObject, JsonValue } from "../../../wire/json.ts";
import { writeMessage } from "../../../wire/write.ts";
import { type ChatUsageTracker, totalInput } from "../../chat-usage.ts";
import type { AnswerContext } from "../request/request.ts";

/** `usage` is what the upstream told last, if it stood where the family has it. */
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
    ...{ prompt_tokens: input, completion_tokens: output, total_tokens: input + output },
    ...withCounts("prompt_tokens_details", prompt_tokens_details, {
      cached_tokens: parts.cacheRead,
      cache_write_tokens: parts.cacheWrite,
    }),
    ...(muted
      ? {}
      : withCounts("completion_tokens_details", completion_tokens_details, {
          reasoning_tokens: hasReasoning ? parts.reasoning : 0,
        })),
  };
}

/** Returns the member with these counts in it; left out where nothing was told of it and all are zero. */
function withCounts(key: string, reported: JsonValue | undefined, counts: Readonly<Record<string, number>>): JsonObject {
  const details = typeof reported === "object" && !Array.isArray(reported) ? reported : null;
  const known = Object.entries(counts).filter(([name, count]) => count > 0 || Object.hasOwn(details ?? {}, name));
  if (known.length === 0) return reported === undefined ? {} : { [key]: reported };
  return { [key]: { ...details, ...Object.fromEntries(known) } };
}
