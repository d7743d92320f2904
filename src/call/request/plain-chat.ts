/**
 * Tells the chats that most callers send: what was said, and a few settings that are plain values. No step between door and upstream that
 * mends what clients write has anything to mend in one, so that each may ask this first.
 */
import { isObject, type JsonObject, type JsonValue } from "../../wire/json.ts";

/** isPlainChat reports whether a body of the path of chat has nothing but plain turns and settings. It may be an outline. */
export function isPlainChat(json: JsonObject): boolean {
  for (const key in json) if (!isPlainMember(key, json[key] as JsonValue)) return false;
  return true;
}

/** mostTurns is how many turns are looked at, in some microseconds. A longer chat is not called plain. */
const mostTurns = 64;

const roles: ReadonlySet<JsonValue | undefined> = new Set(["system", "user", "assistant"]);
const settings: ReadonlySet<string> = new Set([
  ...["model", "stream", "temperature", "top_p", "n", "seed", "frequency_penalty", "presence_penalty", "user"],
]);
const bounds: ReadonlySet<string> = new Set(["max_tokens", "max_completion_tokens"]);

function isPlainMember(key: string, value: JsonValue): boolean {
  if (key === "messages") return Array.isArray(value) && value.length <= mostTurns && value.every(isPlainTurn);
  if (settings.has(key)) return typeof value !== "object";
  return bounds.has(key) && typeof value === "number" && value >= 0;
}

function isPlainTurn(turn: JsonValue): boolean {
  if (!isObject(turn)) return false;
  for (const key in turn) if (key !== "role" && key !== "content") return false;
  return typeof turn.content === "string" && roles.has(turn.role);
}
