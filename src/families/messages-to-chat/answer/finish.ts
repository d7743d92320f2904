/**
 * A chat model's finish reason → the stop reason of a message.
 *
 * An answer with tool calls ends in `tool_use` even where the upstream says `stop`, as OpenAI does for forced calls,
 * or an unknown word: clients run tools for no other reason. Without calls it never does.
 */
import { FinishReason } from "../../../../gen/modelgateway/v1/chat_pb.ts";
import type { JsonObject } from "../../../wire/json.ts";

export interface End {
  /** The upstream's last known finish reason; undefined for none, and for an unknown one. */
  readonly finish: FinishReason | undefined;
  /** Vendors' additions to the end of a choice. */
  readonly extra: JsonObject | undefined;
  readonly hasCalls: boolean;
  readonly refusal: string;
}

/** endingOf returns `stop_reason`, `stop_sequence` and `stop_details`. `stops` are the caller's stop texts. */
export function endingOf(end: End, stops: readonly string[]): JsonObject {
  if (end.finish === FinishReason.CONTENT_FILTER || end.refusal !== "") {
    const details = { type: "refusal", category: null, explanation: end.refusal || null };
    return { stop_reason: "refusal", stop_sequence: null, stop_details: details };
  }
  const met = end.hasCalls || end.finish !== FinishReason.STOP ? undefined : stopMet(end.extra, stops);
  return {
    stop_reason: met === undefined ? reasonOf(end) : "stop_sequence",
    stop_sequence: met ?? null,
    stop_details: null,
  };
}

function reasonOf({ finish, hasCalls }: End): string {
  if (finish === FinishReason.LENGTH) return "max_tokens";
  return hasCalls ? "tool_use" : "end_turn";
}

/** stopMet finds the matched stop text: vLLM has it in `stop_reason`, SGLang in `matched_stop`; both put numbers there for tokens. */
function stopMet(extra: JsonObject | undefined, stops: readonly string[]): string | undefined {
  return stops.find((stop) => stop === extra?.stop_reason || stop === extra?.matched_stop);
}
