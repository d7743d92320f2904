/**
 * Writes the marks of a cached prompt as the server takes them. Agents send Anthropic's whatever model they call, and most servers refuse
 * those that they do not know.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { markKeys, plainMarks, withMark } from "../../../call/cache-marks.ts";
import type { CooperativeTask } from "../../../runtime/cooperative.ts";
import { isObject, mappedByTasks, mappedInSlices } from "../../../wire/json.ts";
import type { Changes } from "../../../wire/splice.ts";
import type { Capabilities } from "../profile.ts";

/** Marking is which marks a server takes, undefined where that is not known, and where those are named that are left out. */
export interface Marking {
  readonly taken: Capabilities["cache_marks"];
  readonly dropped: string[];
}

/** markMessage returns a chat message with the marks that the server takes, at its parts; the same one where it has no others. */
export function* markMessage(message: JsonObject, path: string, marking: Marking): CooperativeTask<JsonObject> {
  if (marking.taken === undefined) return message;
  const { content, tool_calls: calls } = message;
  const parts = yield* markParts(content, `${path}.content`, marking);
  const unmarked = marking.taken === "any" ? calls : yield* withoutMarks(calls, `${path}.tool_calls`, marking);
  if (parts === content && unmarked === calls && !isMarked(message)) return message;
  const mark = markOf(message, path, marking);
  return {
    ...without(message),
    ...(parts === undefined ? {} : { content: withMark(parts, mark) }),
    ...(unmarked === undefined ? {} : { tool_calls: unmarked }),
  };
}

/** isMarkedList reports whether a message that was marked so has content with a mark. */
export function isMarkedList(content: JsonValue | undefined, { cache_marks: taken = "none" }: Capabilities): boolean {
  return taken !== "none" && Array.isArray(content) && content.some((part) => isObject(part) && isMarked(part));
}

/** markItems does the same for the items of a response's input, which are marked at their parts. */
export function* markItems(items: JsonValue | undefined, marking: Marking): CooperativeTask<JsonValue | undefined> {
  if (marking.taken === undefined || marking.taken === "any" || !Array.isArray(items)) return items;
  return yield* mappedByTasks(items, (item, i) => markItem(item, `input[${i}]`, marking));
}

function* markItem(item: JsonValue, path: string, marking: Marking): CooperativeTask<JsonValue> {
  if (!isObject(item)) return item;
  const content = yield* markParts(item.content, `${path}.content`, marking);
  const output = yield* markParts(item.output, `${path}.output`, marking);
  const changes = {
    ...(content === item.content ? {} : { content: content as JsonValue }),
    ...(output === item.output ? {} : { output: output as JsonValue }),
  };
  return Object.keys(changes).length === 0 ? item : { ...item, ...changes };
}

/** marksBeside returns the changes to the rest of a request: to its tools, and to its settings for the cache as a whole. */
export function* marksBeside(json: JsonObject, { taken, dropped }: Marking): CooperativeTask<Changes> {
  if (taken === undefined || taken === "any") return {};
  const tools = yield* withoutMarks(json.tools, "tools", { taken, dropped });
  const changes: Record<string, JsonValue | undefined> = tools === json.tools ? {} : { tools };
  const others = taken === "cache_control" ? ["prompt_cache_options"] : ["cache_control"];
  for (const key of taken === "none" ? ["cache_control", "prompt_cache_options"] : others) {
    if (json[key] === undefined) continue;
    changes[key] = undefined;
    if (json[key] !== null) dropped.push(key);
  }
  return changes;
}

function* markParts(
  parts: JsonValue | undefined,
  path: string,
  marking: Marking,
): CooperativeTask<JsonValue | undefined> {
  if (!Array.isArray(parts) || marking.taken === "any") return parts;
  return yield* mappedInSlices(parts, (part, i) =>
    isObject(part) && isMarked(part) ? { ...without(part), ...markOf(part, `${path}[${i}]`, marking) } : part,
  );
}

/** markOf returns the mark that the server takes, where `marked` has any; else an empty object. */
function markOf(marked: JsonObject, path: string, { taken, dropped }: Marking): JsonObject {
  const given = markKeys.filter((key) => isObject(marked[key]));
  if (given.length === 0 || taken === undefined) return {};
  if (taken === "any") return Object.fromEntries(given.map((key) => [key, marked[key] as JsonObject]));
  if (taken !== "none") return { [taken]: isObject(marked[taken]) ? marked[taken] : plainMarks[taken] };
  dropped.push(...given.map((key) => `${path}.${key}`));
  return {};
}

/** withoutMarks returns a list of tools or calls without marks, which are named; the same one where it has none. */
function* withoutMarks(
  list: JsonValue | undefined,
  path: string,
  { dropped }: Marking,
): CooperativeTask<JsonValue | undefined> {
  if (!Array.isArray(list)) return list;
  return yield* mappedInSlices(list, (one, i) => {
    if (!isObject(one) || !isMarked(one)) return one;
    dropped.push(...markKeys.filter((key) => isObject(one[key])).map((key) => `${path}[${i}].${key}`));
    return without(one);
  });
}

function isMarked(one: JsonObject): boolean {
  return markKeys.some((key) => one[key] !== undefined);
}

function without({ cache_control: _, prompt_cache_breakpoint: __, ...rest }: JsonObject): JsonObject {
  return rest;
}
