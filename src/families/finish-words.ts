/** The finish reasons of chat, in whichever words a server has them. */
import { FinishReason } from "../../gen/modelgateway/v1/chat_pb.ts";
import { type ChatWord, chatWordOf, isFinished } from "../providers/usage/finish-word.ts";
import type { JsonObject } from "../wire/json.ts";

const reasons: Readonly<Record<ChatWord, FinishReason>> = {
  stop: FinishReason.STOP,
  length: FinishReason.LENGTH,
  tool_calls: FinishReason.TOOL_CALLS,
  content_filter: FinishReason.CONTENT_FILTER,
  function_call: FinishReason.FUNCTION_CALL,
};

/** Ending is how a choice ended, as the upstream says it. */
interface Ending {
  readonly finishReason?: FinishReason | undefined;
  readonly extra?: JsonObject | undefined;
}

/** finishOf returns the reason; `UNSPECIFIED` for a word that nobody knows, undefined while the choice goes on. */
export function finishOf({ finishReason, extra }: Ending): FinishReason | undefined {
  if (finishReason !== undefined) return finishReason;
  const told = extra?.finish_reason;
  if (!isFinished(told)) return undefined;
  const word = chatWordOf(told);
  return word === undefined ? FinishReason.UNSPECIFIED : reasons[word];
}
