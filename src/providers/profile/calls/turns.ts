/** Fits conversations to templates whose turns alternate, or that take one call in a turn of the model's. No text is lost. */
import { callsMore, isInstruction } from "../../../call/request/content-parts.ts";
import { isObject, type JsonObject, listOrEmpty } from "../../../wire/json.ts";
import { asOne } from "../instructions.ts";
import type { Capabilities } from "../profile.ts";

/** Begins a conversation whose first turn is the model's. */
const begin: JsonObject = { role: "user", content: "Begin." };

/** Group is messages that stand behind each other and belong together. */
type Group = [JsonObject, ...JsonObject[]];

/**
 * alternatingTurns returns the messages with neighbours of one speaker as one, and the user's turn first, where the server demands that; the same
 * list where they are so.
 */
export function alternatingTurns(
  messages: readonly JsonObject[],
  { turns: demanded }: Pick<Capabilities, "turns">,
): readonly JsonObject[] {
  if (demanded !== "alternating") return messages;
  const turns = grouped(messages, isOfSameSpeaker).map(asOne);
  const first = turns.findIndex((turn) => !isInstruction(turn));
  if (turns[first]?.role === "assistant") return turns.toSpliced(first, 0, begin);
  return turns.length === messages.length ? messages : turns;
}

/** isOfSameSpeaker reports whether a message goes on with the turn of the one before. Results of tools stand behind their calls. */
function isOfSameSpeaker({ role, tool_calls: calls = null, function_call: call = null }: JsonObject, next: JsonObject) {
  return role === next.role && (role === "user" || (role === "assistant" && calls === null && call === null));
}

/** grouped returns the messages in groups. `goesOn` reports whether the next message belongs to the group of the one before. */
function grouped(
  messages: readonly JsonObject[],
  goesOn: (before: JsonObject, next: JsonObject) => boolean,
): readonly Group[] {
  const groups: Group[] = [];
  for (const [i, message] of messages.entries()) {
    if (i > 0 && goesOn(messages[i - 1] as JsonObject, message)) groups.at(-1)?.push(message);
    else groups.push([message]);
  }
  return groups;
}

/** singleCalls returns the messages with a turn of the model's for each call, and its result behind it, where the server demands that. */
export function singleCalls(
  messages: readonly JsonObject[],
  { turn_calls: demanded }: Pick<Capabilities, "turn_calls">,
): readonly JsonObject[] {
  if (demanded !== "one" || !messages.some(callsMore)) return messages;
  const isResult = (_: JsonObject, { role }: JsonObject) => role === "tool";
  return grouped(messages, isResult).flatMap((group) => (callsMore(group[0]) ? turnsOf(group) : group));
}

/** turnsOf returns a turn for each call of a message, with the results that have its id; results of no call stay behind the last. */
function turnsOf([message, ...results]: Group): JsonObject[] {
  const turns = listOrEmpty(message.tool_calls).map(
    (call, i): Group => [{ ...(i === 0 ? message : { role: "assistant", content: "" }), tool_calls: [call] }],
  );
  const byId = new Map(turns.map((turn) => [idOfCall(turn[0]), turn] as const).toReversed());
  for (const result of results) (byId.get(result.tool_call_id ?? null) ?? turns.at(-1))?.push(result);
  return turns.flat();
}

function idOfCall({ tool_calls: calls }: JsonObject) {
  const [call] = listOrEmpty(calls);
  return isObject(call) ? (call.id ?? null) : null;
}
