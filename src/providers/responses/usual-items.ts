/**
 * Completes the items of a response to what every client reads: servers that resemble OpenAI's have a message's text without its part, or a
 * call's arguments as an object. OpenAI's SDKs look for a text in parts alone, and parse arguments as JSON. All else passes as it came.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { Operation } from "../../call/operations.ts";
import {
  definedFields,
  isFilledText,
  isObject,
  mappedList,
  objectsIn,
  scalarText,
  textOrEmpty,
  textOrJson,
} from "../../wire/json.ts";

/** changesOfResponse returns the members that are others in a usual response; undefined where none is. */
export function changesOfResponse({ output, status }: JsonObject, operation: Operation): JsonObject | undefined {
  if (operation !== "responses" || !Array.isArray(output)) return undefined;
  const items = usualOutput(output);
  const usual = status === "incomplete" ? items : withArguments(items);
  const lacksStatus = (status ?? null) === null;
  if (usual === output && !lacksStatus) return undefined;
  return { output: usual, ...(lacksStatus ? { status: "completed" } : {}) };
}

/** vllmEvents are the names that vLLM alone has for events about a part. OpenAI's SDK throws at an event that it does not know. */
const vllmEvents: ReadonlyMap<JsonValue | undefined, string> = new Map([
  ["response.reasoning_part.added", "response.content_part.added"],
  ["response.reasoning_part.done", "response.content_part.done"],
]);

/** isOfResponse reports an event of a response. Strict clients throw at those that servers and proxies send of their own between these. */
export function isOfResponse({ type }: JsonObject): boolean {
  return typeof type !== "string" || type === "error" || type.startsWith("response.");
}

/** aboutAll finds the events that have the whole response, as far as it has come. */
const aboutAll = /^response\.(created|queued|in_progress|completed|incomplete|done)$/;

/** nested returns an event with its response where OpenAI has it: some servers write the members of the response into the event. */
export function nested(event: JsonObject): JsonObject {
  const { type = null, sequence_number, response: told, ...response } = event;
  const isAbout = typeof type === "string" && aboutAll.test(type);
  if (!isAbout || isObject(told) || (response.output === undefined && response.status === undefined)) return event;
  return { type, ...definedFields({ sequence_number }), response };
}

/** usualEvent returns an event of a stream with its usual name and usual items; the same event where they are. */
export function usualEvent(event: JsonObject): JsonObject {
  const { type, item, response, output_index: place } = event;
  const usualName = vllmEvents.get(type);
  if (usualName !== undefined) return { ...event, type: usualName };
  if (isObject(item)) {
    const status = type === "response.output_item.added" ? "in_progress" : "completed";
    const usual = usualItem(item, typeof place === "number" ? place : undefined, status);
    return usual === item ? event : { ...event, item: usual };
  }
  if (!isObject(response) || !Array.isArray(response.output)) return event;
  const output = usualOutput(response.output);
  return output === response.output ? event : { ...event, response: { ...response, output } };
}

/** withArguments returns an output whose complete calls all have arguments: those of a function that takes none are an empty object. */
export function withArguments(output: readonly JsonValue[]): JsonValue[] {
  return mappedList(output as JsonValue[], (item) => (isObject(item) ? withOwnArguments(item) : item));
}

/** withOwnArguments returns the same item where it is no call of a function, has its arguments, or was cut off before them. */
export function withOwnArguments(item: JsonObject): JsonObject {
  const { type, arguments: told, status } = item;
  const lacks = type === "function_call" && told === "" && status !== "incomplete" && status !== "in_progress";
  return lacks ? { ...item, arguments: "{}" } : item;
}

function usualOutput(output: JsonValue[]): JsonValue[] {
  return mappedList(objectsIn(output), (item, place) => usualItem(item, place, "completed"));
}

/** `place` is the item's index in the output, where it is known. `status` is for an item that has none. */
function usualItem(item: JsonObject, place: number | undefined, status: "in_progress" | "completed"): JsonObject {
  const type = typeof item.type === "string" ? item.type : "role" in item ? "message" : null;
  if (type === "function_call") {
    const callId = item.call_id ?? item.id;
    const ids = callId == null ? {} : { id: item.id ?? callId, call_id: callId };
    const told = { name: textOrEmpty(item.name), arguments: argumentsOf(item), status: item.status ?? status };
    return changed(item, { ...ids, ...told });
  }
  const id = typeof type !== "string" || place === undefined || isFilledText(item.id) ? {} : { id: ownId(type, place) };
  if (type === "message")
    return changed(item, {
      type,
      ...id,
      role: item.role ?? "assistant",
      status: item.status ?? status,
      content: usualParts(item.content, "output_text"),
    });
  return changed(item, type === "reasoning" ? { ...id, summary: usualParts(item.summary, "summary_text") } : id);
}

const prefixes: ReadonlyMap<string, string> = new Map([
  ["message", "msg"],
  ["reasoning", "rs"],
]);

/** ownId returns an id for an item without one, by its place: OpenAI's SDK throws at a stream of such items. */
export function ownId(type: string, place: number): string {
  return `${prefixes.get(type) ?? "item"}_${place}`;
}

/** usualParts returns parts of which each has a type, this one where it has none, and those of this type have a text. */
function usualParts(told: JsonValue = null, type: "output_text" | "summary_text"): JsonValue[] {
  if (told === null || told === "") return [];
  return mappedList(Array.isArray(told) ? told : [told], (part) => usualPart(part, type));
}

function usualPart(part: JsonValue, own: "output_text" | "summary_text"): JsonValue {
  if (!isObject(part)) return usualPart({ type: own, text: part === null ? "" : textOrJson(part) }, own);
  const { type, annotations = null } = part;
  if (typeof type === "string" && type !== own && type !== "text") return part;
  const text = textOrEmpty(part.text) || scalarText(part.text);
  return changed(part, { type: own, text, ...(own === "output_text" && { annotations: annotations ?? [] }) });
}

/** argumentsOf returns the arguments of a call as JSON in a text, which is empty where there are none, or none yet. */
function argumentsOf({ arguments: told = null }: JsonObject): JsonValue {
  return told === null ? "" : textOrJson(told);
}

/** changed returns an object with these members; the same object where it has them. */
function changed(before: JsonObject, members: JsonObject): JsonObject {
  const isSame = Object.entries(members).every(([key, value]) => before[key] === value);
  return isSame ? before : { ...before, ...members };
}
