/**
 * Efforts in mid-conversation, each in a turn of instructions, mostly without a word. A model that takes none, and a server of another API,
 * refuses the request for it: there the effort that the answer is asked for by the turns is the request's.
 *
 * Directly behind what the user says an effort holds for the answer to that, anywhere else from the user's next words on. Results of tools
 * are no words.
 *
 * Source: https://platform.claude.com/docs/en/build-with-claude/effort-per-message
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isObject } from "../../wire/json.ts";

/** TurnEffort is an effort, and the index of the turn that asks for it. */
export interface TurnEffort {
  readonly effort: JsonValue;
  readonly turn: number;
}

/** effortIn returns what a turn of instructions asks for; null for any other turn. */
function effortIn(turn: JsonValue): JsonValue {
  if (!isObject(turn) || turn.role !== "system" || !isObject(turn.output_config)) return null;
  return turn.output_config.effort ?? null;
}

/** hasTurnEffort reports whether a turn asks for an effort, or has an empty member for it. */
export function hasTurnEffort(turn: JsonValue): boolean {
  return isObject(turn) && turn.role === "system" && turn.output_config !== undefined;
}

/** effortOfTurns returns the effort that holds for the next answer; undefined where no turn asks for one. */
export function effortOfTurns(turns: readonly JsonValue[]): TurnEffort | undefined {
  let inForce: TurnEffort | undefined;
  let waiting: TurnEffort | undefined;
  let isBehindWords = false;
  for (const [i, turn] of turns.entries()) {
    const effort = effortIn(turn);
    if (effort !== null) {
      if (isBehindWords) inForce = { effort, turn: i };
      else waiting = { effort, turn: i };
    }
    if (!isObject(turn) || turn.role === "system") continue;
    isBehindWords = turn.role === "user" && hasWords(turn);
    if (isBehindWords && waiting) [inForce, waiting] = [waiting, undefined];
  }
  return inForce;
}

function hasWords({ content }: JsonObject): boolean {
  if (!Array.isArray(content)) return true;
  return content.length === 0 || content.some((block) => !isObject(block) || block.type !== "tool_result");
}

/** withoutTurnEfforts returns the turns without their efforts, and none for those that say nothing else. */
export function withoutTurnEfforts(turns: readonly JsonValue[]): JsonValue[] {
  return turns.flatMap((turn) => {
    if (!hasTurnEffort(turn)) return [turn];
    const { output_config: _, ...rest } = turn as JsonObject;
    return isWordless(turn as JsonObject) ? [] : [rest];
  });
}

/** isWordless reports a turn without a word. */
export function isWordless({ content = null }: JsonObject): boolean {
  return content === null || content === "" || (Array.isArray(content) && content.length === 0);
}
