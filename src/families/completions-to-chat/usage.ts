/**
 * The usage of a chat answer, as its completion tells it: none of the output where the caller asked for no tokens, and
 * got none.
 */
import { type ChatUsage, ChatUsageSchema } from "../../../gen/modelgateway/v1/chat_pb.ts";
import type { JsonValue } from "../../wire/json.ts";
import { writeMessage } from "../../wire/write.ts";
import type { Reading } from "./request.ts";

export function usageTold(usage: ChatUsage, { muted }: Reading): JsonValue {
  if (!muted) return writeMessage(ChatUsageSchema, usage);
  const { completionTokensDetails: _, ...rest } = usage;
  return writeMessage(ChatUsageSchema, { ...rest, completionTokens: 0, totalTokens: usage.promptTokens });
}
