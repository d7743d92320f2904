/**
 * Completes the items of a response to what every client reads: servers that resemble OpenAI's have a message's text without its part, or a
 * call's arguments as an object. OpenAI's SDKs look for a text in parts alone, and parse arguments as JSON. All else passes as it came.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { Operation } from "../../call/operations.ts";
import { isObject, mappedList } from "../../wire/json.ts";

/** changesOfResponse returns the members that are others in a usual response; undefined where none is. */
export function changesOfResponse({ output }: JsonObject, operation: Operation): JsonObject | undefined {
  if (operation !== "responses" || !Array.isArray(output)) return undefined;
  const usual = usualOutput(output);
  return usual === output ? undefined : { output: usual };
}

/** usualEvent returns an event of a stream with usual items; the same event where they are. */
export function usualEvent(event: JsonObject): JsonObject {
  const { item, response } = event;
  if (isObject(item)) {
    const usual = usualItem(item);
    return usual === item ? event : { ...event, item: usual };
  }
  if (!isObject(response) || !Array.isArray(response.output)) return event;
  const output = usualOutput(response.output);
  return output === response.output ? event : { ...event, response: { ...response, output } };
}

function usualOutput(output: JsonValue[]): JsonValue[] {
  return mappedList(output, (item) => (isObject(item) ? usualItem(item) : item));
}

function usualItem(item: JsonObject): JsonObject {
  const { type = "role" in item ? "message" : null } = item;
  if (type === "message") return changed(item, { type, role: item.role ?? "assistant", content: usualParts(item) });
  if (type === "reasoning") return changed(item, { summary: item.summary ?? [] });
  if (type !== "function_call") return item;
  const callId = item.call_id ?? item.id;
  return changed(item, { ...(callId == null ? {} : { call_id: callId }), arguments: argumentsOf(item) });
}

function usualParts({ content = null }: JsonObject): JsonValue {
  if (content === null || content === "") return [];
  if (typeof content === "string") return [outputText(content)];
  return Array.isArray(content) ? mappedList(content, usualPart) : content;
}

function usualPart(part: JsonValue): JsonValue {
  if (typeof part === "string") return outputText(part);
  if (!isObject(part) || (part.type !== "output_text" && part.type !== "text")) return part;
  return changed(part, { type: "output_text", annotations: part.annotations ?? [] });
}

function outputText(text: string): JsonObject {
  return { type: "output_text", text, annotations: [] };
}

/** argumentsOf returns the arguments of a call as JSON in a text. A call that begins has none yet. */
function argumentsOf({ arguments: told = null, status }: JsonObject): JsonValue {
  if (told !== null) return typeof told === "object" ? JSON.stringify(told) : told;
  return status === "in_progress" ? "" : "{}";
}

/** changed returns an object with these members; the same object where it has them. */
function changed(before: JsonObject, members: JsonObject): JsonObject {
  const isSame = Object.entries(members).every(([key, value]) => before[key] === value);
  return isSame ? before : { ...before, ...members };
}
