/**
 * The arguments of earlier calls → JSON objects, which servers put into their templates. A model may have written none, something
 * else, or been cut off: most servers then refuse the conversation, and refuse it for good. Nothing is lost: text that is no
 * object becomes one with the member `_raw`, as in answers to messages. A call without a type is one of a function.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { hasToolTurns } from "../../call/tools/has-tool-turns.ts";
import { isEmptyList } from "../../call/tools/tool-input.ts";
import type { CooperativeTask } from "../../runtime/cooperative.ts";
import { isObject, mappedByTasks, mappedInSlices, parsedJson } from "../../wire/json.ts";

/** ParseBudget is how many characters of a request may still be parsed. Text beyond it is judged by its ends, where what was cut off shows. */
export interface ParseBudget {
  left: number;
}

/** newParseBudget returns what is parsed in some milliseconds. */
export function newParseBudget(): ParseBudget {
  return { left: 524_288 };
}

/** withObjectArguments returns a message's calls with objects for arguments; the same list where all are. */
export function* withObjectArguments(
  calls: JsonValue | undefined,
  budget: ParseBudget,
): CooperativeTask<JsonValue | undefined> {
  if (!Array.isArray(calls)) return calls;
  return yield* mappedInSlices(calls, (call) => {
    if (!isObject(call) || !isObject(call.function)) return call;
    const written = objectText(call.function.arguments, budget);
    // Strict servers demand the type, which some clients leave out.
    const typed = (call.type ?? null) === null ? { ...call, type: "function" } : call;
    return written === undefined ? typed : { ...typed, function: { ...call.function, arguments: written } };
  });
}

/** inMessages returns the messages of a chat with such calls; the same list where all are. */
export function* inMessages(messages: JsonValue | undefined): CooperativeTask<JsonValue | undefined> {
  if (!Array.isArray(messages) || !(yield* hasToolTurns(messages))) return messages;
  const budget = newParseBudget();
  return yield* mappedByTasks(messages, function* (message) {
    if (!isObject(message) || message.tool_calls === undefined) return message;
    const calls = yield* withObjectArguments(message.tool_calls, budget);
    return calls === message.tool_calls ? message : { ...message, tool_calls: calls as JsonValue };
  });
}

/** inItems returns the items of a response's input likewise. */
export function* inItems(input: JsonValue | undefined): CooperativeTask<JsonValue | undefined> {
  if (!Array.isArray(input)) return input;
  const budget = newParseBudget();
  return yield* mappedInSlices(input, (item) => {
    const written = isObject(item) && item.type === "function_call" ? objectText(item.arguments, budget) : undefined;
    return written === undefined ? item : { ...(item as JsonObject), arguments: written };
  });
}

/** objectText returns the text of an object in place of what is none; undefined for one that can stay, and for what is no text. */
function objectText(written: JsonValue | undefined, budget: ParseBudget): string | undefined {
  if (written === undefined || written === null) return "{}";
  if (typeof written !== "string") return undefined;
  const text = written.trim();
  if (text === "") return "{}";
  const isParsed = text.length <= budget.left;
  if (!isParsed && text.startsWith("{") && text.endsWith("}")) return undefined;
  if (isParsed) budget.left -= text.length;
  const value = isParsed ? parsedJson(text) : undefined;
  if (isObject(value)) return undefined;
  if (value === null || isEmptyList(value)) return "{}";
  // Some models write the object as a JSON string.
  const inner = typeof value === "string" ? parsedJson(value) : undefined;
  return isObject(inner) ? (value as string) : JSON.stringify({ _raw: written });
}
