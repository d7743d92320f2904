/**
 * Why a chat model stopped → why a Messages answer ended.
 *
 * An answer with tool calls ends in `tool_use` also where the upstream says `stop`, as OpenAI does when the call was
 * demanded by name, or a word that nobody knows: callers run tools for no other reason. Without calls it never does.
 */
import { FinishReason } from "../../../../gen/modelgateway/v1/chat_pb.ts";
import type { JsonObject } from "../../../wire/json.ts";

export interface End {
  /** The last known word of the upstream; unset for none, or one that nobody knows. */
  readonly finish: FinishReason | undefined;
  /** What vendors add to the end of a choice. */
  readonly extra: JsonObject | undefined;
  readonly hasCalls: boolean;
  readonly refusal: string;
}

/** Returns `stop_reason`, `stop_sequence` and `stop_details`. `stops` are the caller's stop texts. */
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

/** vLLM says in `stop_reason` which text stopped it, SGLang in `matched_stop`; both put numbers there for tokens. */
function stopMet(extra: JsonObject | undefined, stops: readonly string[]): string | undefined {
  return stops.find((stop) => stop === extra?.stop_reason || stop === extra?.matched_stop);
}
