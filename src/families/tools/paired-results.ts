/**
 * Puts the results of tools right behind their calls in the messages of a chat, as chat servers demand.
 *
 * Histories of agents may be broken: a result that comes after other messages moves to its call, a call without a
 * result gets one that says so, and a result without a call becomes text of the user's that says what it is. Complete
 * histories stay.
 */
import { type CooperativeTask, itemsPerSlice } from "../../runtime/cooperative.ts";
import { isObject, type JsonObject, type JsonValue, textOrEmpty } from "../../wire/json.ts";
import { madeLike } from "../paths/origins.ts";

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
  /** By the id of the call; undefined where none has come. */
  readonly results: Map<string, JsonObject | undefined>;
}

/** pairedResults returns the same list where every result stands right behind its calls. */
export function* pairedResults(messages: JsonObject[]): CooperativeTask<JsonObject[]> {
  if (yield* isPaired(messages)) return messages;
  const turns: Turn[] = [];
  const turnOf = new Map<string, Turn>();
  for (const [i, message] of messages.entries()) {
    if (i % itemsPerSlice === itemsPerSlice - 1) yield;
    const id = textOrEmpty(message.tool_call_id);
    const called = message.role === "tool" ? turnOf.get(id) : undefined;
    if (called && called.results.get(id) === undefined) {
      called.results.set(id, message);
      continue;
    }
    const turn = { message: message.role === "tool" ? asText(message) : message, results: new Map(noneYet(message)) };
    turns.push(turn);
    for (const callId of turn.results.keys()) turnOf.set(callId, turn);
  }
  const paired: JsonObject[] = [];
  for (const [i, { message, results }] of turns.entries()) {
    if (i % itemsPerSlice === itemsPerSlice - 1) yield;
    paired.push(message);
    for (const [id, result] of results) paired.push(result ?? { role: "tool", tool_call_id: id, content: interrupted });
  }
  return paired;
}

function noneYet(message: JsonObject): [string, undefined][] {
  return callIdsOf(message).map((id) => [id, undefined]);
}

function* isPaired(messages: readonly JsonObject[]): CooperativeTask<boolean> {
  let open = new Set<string>();
  for (const [i, message] of messages.entries()) {
    if (i % itemsPerSlice === itemsPerSlice - 1) yield;
    if (message.role === "tool") {
      if (!open.delete(textOrEmpty(message.tool_call_id))) return false;
    } else {
      if (open.size > 0) return false;
      open = new Set(callIdsOf(message));
    }
  }
  return open.size === 0;
}

function callIdsOf({ role, tool_calls: calls }: JsonObject): string[] {
  if (role !== "assistant" || !Array.isArray(calls)) return [];
  return calls.filter(isObject).map(({ id }) => textOrEmpty(id));
}

function asText(result: JsonObject): JsonObject {
  return madeLike(result, { role: "user", content: withHeading(result.content, "text") });
}

/** withHeading returns the content of a result that no call waits for. `type` is that of the family's parts of text. */
export function withHeading(content: JsonValue | undefined, type: "text" | "input_text"): JsonValue {
  if (Array.isArray(content)) return [{ type, text: withoutCall }, ...content];
  return `${withoutCall}\n\n${textOrEmpty(content)}`;
}
