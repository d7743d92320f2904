/** Fits conversations to templates whose turns alternate, or that take one call in a turn of the model's. No text is lost. */
import { isObject, type JsonObject, type JsonValue, listOrEmpty } from "../../../wire/json.ts";
import { asOne, isInstruction } from "../instructions.ts";
import type { Capabilities } from "../profile.ts";

/** Begins a conversation whose first turn is the model's. */
const begin: JsonObject = { role: "user", content: "Begin." };

/**
 * alternatingTurns returns the messages with neighbours of one speaker as one, and the user's turn first, where the server demands that; the same
 * list where they are so.
 */
export function alternatingTurns(
  messages: readonly JsonObject[],
  { turns: demanded }: Pick<Capabilities, "turns">,
): readonly JsonObject[] {
  if (demanded !== "alternating") return messages;
  const groups: [JsonObject, ...JsonObject[]][] = [];
  for (const message of messages) {
    const group = groups.at(-1);
    if (group && goesOn(group.at(-1) as JsonObject, message)) group.push(message);
    else groups.push([message]);
  }
  const first = groups.findIndex(([message]) => !isInstruction(message));
  if (groups[first]?.[0].role === "assistant") groups.splice(first, 0, [begin]);
  return groups.length === messages.length ? messages : groups.map(asOne);
}

/** Results of tools stand behind their calls. */
function goesOn({ role, tool_calls: calls = null, function_call: call = null }: JsonObject, next: JsonObject): boolean {
  return role === next.role && (role === "user" || (role === "assistant" && calls === null && call === null));
}

/** singleCalls returns the messages with a turn of the model's for each call, and its result behind it, where the server demands that. */
export function singleCalls(
  messages: readonly JsonObject[],
  { turn_calls: demanded }: Pick<Capabilities, "turn_calls">,
): readonly JsonObject[] {
  if (demanded !== "one" || !messages.some(callsMore)) return messages;
  const told: JsonObject[] = [];
  let at = 0;
  for (let message = messages[at]; message; message = messages[at]) {
    const end = messages.findIndex(({ role }, i) => i > at && role !== "tool");
    const behind = messages.slice(at + 1, end === -1 ? undefined : end);
    told.push(...(callsMore(message) ? turnsOf(message, behind) : [message, ...behind]));
    at += 1 + behind.length;
  }
  return told;
}

function callsMore({ tool_calls: calls }: JsonObject): boolean {
  return Array.isArray(calls) && calls.length > 1;
}

/** turnsOf returns a turn for each call of a message, with the results that have its id; results of no call stay behind the last. */
function turnsOf(message: JsonObject, results: readonly JsonObject[]): JsonObject[] {
  const calls = listOrEmpty(message.tool_calls);
  const ids = calls.map((call) => (isObject(call) ? (call.id ?? null) : null));
  const ofCall =
    (i: number) =>
    ({ tool_call_id: id = null }: JsonObject) =>
      i < ids.length - 1 ? id === (ids[i] as JsonValue) : !ids.slice(0, -1).includes(id);
  return calls.flatMap((call, i) => [
    { ...(i === 0 ? message : { role: "assistant", content: "" }), tool_calls: [call] },
    ...results.filter(ofCall(i)),
  ]);
}
