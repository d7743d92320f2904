/**
 * The finish reasons of chat, in whichever words a server has them: its own family's, Anthropic's, Google's, Cohere's,
 * Mistral's, IBM's; in whichever spelling.
 */
import { FinishReason } from "../../gen/modelgateway/v1/chat_pb.ts";
import { finishWord } from "../providers/usage/finish-word.ts";
import type { JsonObject } from "../wire/json.ts";

const words: ReadonlyMap<string, FinishReason> = new Map([
  ...["stop", "end_turn", "stop_sequence", "complete", "eos", "eos_token"].map(as(FinishReason.STOP)),
  ...["length", "max_tokens", "max_output_tokens", "model_length", "max_length"].map(as(FinishReason.LENGTH)),
  ...["max_new_tokens", "max_completion_tokens", "token_limit", "time_limit"].map(as(FinishReason.LENGTH)),
  ...["model_context_window_exceeded", "context_length_exceeded", "error_limit"].map(as(FinishReason.LENGTH)),
  ...["tool_calls", "tool_call", "tool_use"].map(as(FinishReason.TOOL_CALLS)),
  ...["content_filter", "content_filtered", "safety", "recitation", "prohibited_content", "blocklist"].map(
    as(FinishReason.CONTENT_FILTER),
  ),
  ...["spii", "image_safety", "error_toxic", "refusal", "sensitive"].map(as(FinishReason.CONTENT_FILTER)),
  ...["guardrail_intervened", "model_armor", "language", "blocked"].map(as(FinishReason.CONTENT_FILTER)),
  ["function_call", FinishReason.FUNCTION_CALL],
]);

function as(reason: FinishReason): (word: string) => readonly [string, FinishReason] {
  return (word) => [word, reason];
}

/** Ending is how a choice ended, as the upstream says it. */
interface Ending {
  readonly finishReason?: FinishReason | undefined;
  readonly extra?: JsonObject | undefined;
}

/** finishOf returns the reason; `UNSPECIFIED` for a word that nobody knows, undefined while the choice goes on. */
export function finishOf({ finishReason, extra }: Ending): FinishReason | undefined {
  if (finishReason !== undefined) return finishReason;
  const word = finishWord(extra?.finish_reason);
  return word === "" ? undefined : (words.get(word) ?? FinishReason.UNSPECIFIED);
}
