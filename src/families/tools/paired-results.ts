/**
 * Puts the results of tools right behind their calls in the messages of a chat, as chat servers demand.
 *
 * Histories of agents may be broken: a result that comes after other messages moves to its call, a call without a
 * result gets one that says so, and a result without a call becomes text of the user's that says what it is. Of several calls
 * of a turn with one id the later get others. Complete histories stay. What has no id stays where it is.
 */
import { type CooperativeTask, endsSlice } from "../../runtime/cooperative.ts";
import { isFilledText, isObject, type JsonObject, type JsonValue, textOrEmpty } from "../../wire/json.ts";
import { madeLike } from "../paths/origins.ts";
import { type CallPair, CallPairs } from "./call-pairs.ts";

/** interrupted is the result of a call that has none. */
export const interrupted = "The tool call was interrupted: there is no result.";

/** withoutCall comes before a result that no call waits for, so that what a tool printed is not taken for the user's words. */
export const withoutCall = "The result of a tool, for which no call is waiting:";

/** failedResult returns the text of a failed tool's result, for which chat has no flag. */
export function failedResult(text: string): string {
  return text === "" ? "Error" : `Error: ${text}`;
}

interface Turn {
  readonly message: JsonObject;
  readonly pairs: readonly CallPair<JsonObject>[];
}

/** pairedResults returns the same list where every result stands right behind its calls, and each call of a turn has an id of its own. */
export function* pairedResults(messages: JsonObject[]): CooperativeTask<JsonObject[]> {
  if (yield* isPaired(messages)) return messages;
  const calls = new CallPairs<JsonObject>("turn");
  const turns: Turn[] = [];
  for (const [i, message] of messages.entries()) {
    if (endsSlice(i)) yield;
    const id = resultIdOf(message);
    if (id === undefined) turns.push(turnOf(message, calls));
    else if (!calls.answer(id, message)) turns.push({ message: asText(message), pairs: [] });
  }
  const paired: JsonObject[] = [];
  for (const [i, { message, pairs }] of turns.entries()) {
    if (endsSlice(i)) yield;
    paired.push(message);
    for (const { id, result } of pairs) {
      if (!result) paired.push({ role: "tool", tool_call_id: id, content: interrupted });
      else paired.push(result.tool_call_id === id ? result : madeLike(result, { ...result, tool_call_id: id }));
    }
  }
  return paired;
}

function turnOf(message: JsonObject, calls: CallPairs<JsonObject>): Turn {
  const ids = callIdsOf(message);
  if (ids.length === 0) return { message, pairs: [] };
  calls.beginTurn();
  const pairs = ids.map((id) => calls.begin(id));
  if (pairs.every(({ id }, i) => id === ids[i])) return { message, pairs };
  const left = pairs.values();
  const renamed = (message.tool_calls as JsonValue[]).map((call) =>
    callIdOf(call) === undefined ? call : { ...(call as JsonObject), id: left.next().value?.id ?? "" },
  );
  return { message: madeLike(message, { ...message, tool_calls: renamed }), pairs };
}

function* isPaired(messages: readonly JsonObject[]): CooperativeTask<boolean> {
  let open = new Set<string>();
  for (const [i, message] of messages.entries()) {
    if (endsSlice(i)) yield;
    const id = resultIdOf(message);
    if (id !== undefined) {
      if (!open.delete(id)) return false;
    } else if (message.role !== "tool") {
      if (open.size > 0) return false;
      const ids = callIdsOf(message);
      open = new Set(ids);
      if (open.size < ids.length) return false;
    }
  }
  return open.size === 0;
}

/** resultIdOf returns the id of the call that a message is the result of; undefined for any other message, and without an id. */
function resultIdOf({ role, tool_call_id: id }: JsonObject): string | undefined {
  return role === "tool" && isFilledText(id) ? id : undefined;
}

function callIdsOf({ role, tool_calls: calls }: JsonObject): string[] {
  if (role !== "assistant" || !Array.isArray(calls)) return [];
  return calls.map(callIdOf).filter((id) => id !== undefined);
}

function callIdOf(call: JsonValue): string | undefined {
  return isObject(call) && isFilledText(call.id) ? call.id : undefined;
}

function asText(result: JsonObject): JsonObject {
  return madeLike(result, { role: "user", content: withHeading(result.content, "text") });
}

/** withHeading returns the content of a result that no call waits for. `type` is that of the family's parts of text. */
export function withHeading(content: JsonValue | undefined, type: "text" | "input_text"): JsonValue {
  if (Array.isArray(content)) return [{ type, text: withoutCall }, ...content];
  return `${withoutCall}\n\n${textOrEmpty(content)}`;
}
