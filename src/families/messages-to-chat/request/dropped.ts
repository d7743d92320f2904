/**
 * Names what of a request is dropped.
 *
 * The table below lists, key by key, what the translation keeps. Anything else, unknown keys included, is named by
 * its public path in the order of the request, together with what the translation dropped for reasons of its own.
 * Null and the empty list are not named.
 */
import { isMadeCitation } from "../../../providers/profile/sealed-signature.ts";
import { type CooperativeTask, endsSlice } from "../../../runtime/cooperative.ts";
import { isObject, type JsonObject, type JsonValue } from "../../../wire/json.ts";
import { heardOrPlayed } from "./content.ts";

/** Told is what a translation tells itself: `omitted` are the paths of what it dropped, `marks` those of cache marks that it took over. */
interface Told {
  readonly omitted: ReadonlySet<string>;
  readonly marks: ReadonlySet<string>;
}

/** droppedOf returns the paths of what is dropped. */
export function* droppedOf(request: JsonObject, told: Told): CooperativeTask<string[]> {
  const walk: Walk = { ...told, dropped: [] };
  yield* inMembers(members, request, "", walk);
  return walk.dropped;
}

interface Walk extends Told {
  readonly dropped: string[];
}

/** Shape is what is kept of a value. It names what is dropped, at once or by a task that may be long. */
type Shape = (value: JsonValue, path: string, walk: Walk) => CooperativeTask<void> | undefined;

const kept: Shape = () => undefined;

const lostValue: Shape = (value, path, { dropped }) => {
  if (value !== null && !(Array.isArray(value) && value.length === 0)) dropped.push(path);
  return undefined;
};

/** lostUnless drops a value unless it only repeats the default. */
function lostUnless(holdsAnyway: (value: JsonObject) => boolean): Shape {
  return (value, path, walk) => (isObject(value) && holdsAnyway(value) ? undefined : lostValue(value, path, walk));
}

function keys(members: Readonly<Record<string, Shape>>): Shape {
  const shapes = new Map(Object.entries(members));
  return (value, path, walk) => (isObject(value) ? inMembers(shapes, value, path, walk) : lostValue(value, path, walk));
}

function* inMembers(
  shapes: ReadonlyMap<string, Shape>,
  value: JsonObject,
  path: string,
  walk: Walk,
): CooperativeTask<void> {
  let count = 0;
  for (const [key, member] of Object.entries(value)) {
    if (endsSlice(count++)) yield;
    const task = visit(shapes.get(key) ?? lostValue, member, path === "" ? key : `${path}.${key}`, walk);
    if (task) yield* task;
  }
}

/** each walks a list of such values; a string in its place is kept. */
function each(shape: Shape): Shape {
  return (value, path, walk) => {
    if (typeof value === "string") return undefined;
    return Array.isArray(value) ? inItems(shape, value, path, walk) : lostValue(value, path, walk);
  };
}

function* inItems(shape: Shape, items: readonly JsonValue[], path: string, walk: Walk): CooperativeTask<void> {
  for (const [i, item] of items.entries()) {
    if (endsSlice(i)) yield;
    const task = visit(shape, item, `${path}[${i}]`, walk);
    if (task) yield* task;
  }
}

function visit(shape: Shape, value: JsonValue, path: string, walk: Walk): CooperativeTask<void> | undefined {
  if (walk.marks.has(path)) return undefined;
  return (walk.omitted.has(path) ? lostValue : shape)(value, path, walk);
}

const blocks = each((value, path, walk) => {
  const type = isObject(value) ? value.type : undefined;
  return ((typeof type === "string" && (blockOfType.get(type) ?? vendorResultOf(type))) || lostValue)(
    value,
    path,
    walk,
  );
});

/** vendorResultOf returns the shape of a result of the vendor's own tool. */
function vendorResultOf(type: string): Shape | undefined {
  return type.endsWith("_tool_result") ? vendorResult : undefined;
}

/** A failed vendor tool has an object for its result, which is kept as text. */
const result: Shape = (value, path, walk) => (isObject(value) ? kept : blocks)(value, path, walk);

const source = keys({ type: kept, media_type: kept, data: kept, url: kept, content: blocks });
const citations = lostUnless(({ enabled }) => enabled === false);

/** Citations that translations have made say nothing that the text does not, and no model misses them. */
const ofText: Shape = (value, path, walk) =>
  Array.isArray(value) && value.every(isMadeCitation) ? undefined : lostValue(value, path, walk);
const caller = lostUnless(({ type }) => type === "direct");

const vendorResult = keys({ type: kept, tool_use_id: kept, content: kept, is_error: kept, caller });

const blockOfType: ReadonlyMap<string, Shape> = new Map(
  Object.entries({
    text: keys({ type: kept, text: kept, citations: ofText }),
    image: keys({ type: kept, source }),
    document: keys({ type: kept, source, title: kept, context: kept, citations }),
    search_result: keys({ type: kept, source: kept, title: kept, content: blocks, citations }),
    thinking: keys({ type: kept, thinking: kept, signature: kept }),
    redacted_thinking: keys({ type: kept, data: kept }),
    tool_use: keys({ type: kept, id: kept, name: kept, input: kept, caller }),
    server_tool_use: keys({ type: kept, id: kept, name: kept, input: kept, caller }),
    mcp_tool_use: keys({ type: kept, id: kept, name: kept, server_name: kept, input: kept }),
    tool_result: keys({ type: kept, tool_use_id: kept, content: result, is_error: kept }),
    compaction: keys({ type: kept, content: kept, signature: kept, encrypted_content: kept, tool_changes: kept }),
    tool_reference: keys({ type: kept, tool_name: kept }),
    tool_addition: keys({ type: kept, tool: kept }),
    tool_removal: keys({ type: kept, tool: kept }),
    ...Object.fromEntries(heardOrPlayed.map((type) => [type, keys({ type: kept, [type]: kept })])),
  }),
);

const ownTool = keys({
  type: kept,
  name: kept,
  description: kept,
  input_schema: kept,
  strict: kept,
  defer_loading: kept,
});
const place = keys({ type: kept, city: kept, region: kept, country: kept, timezone: kept });
const webSearch = keys({ type: kept, name: kept, user_location: place });

const tool: Shape = (value, path, walk) => {
  const type = isObject(value) ? value.type : undefined;
  return (typeof type === "string" && type.startsWith("web_search_") ? webSearch : ownTool)(value, path, walk);
};

const metadata: Shape = (value, path, walk) => {
  const simulated = Object.keys((value ?? {}) as object).filter((key) => key.startsWith("simulate_"));
  return keys({ user_id: kept, ...Object.fromEntries(simulated.map((key) => [key, kept])) })(value, path, walk);
};

/** The request's members. */
const members: ReadonlyMap<string, Shape> = new Map(
  Object.entries({
    model: kept,
    max_tokens: kept,
    messages: each(keys({ role: kept, content: blocks, output_config: keys({ effort: kept }) })),
    system: blocks,
    tools: each(tool),
    tool_choice: keys({ type: kept, name: kept, disable_parallel_tool_use: kept }),
    thinking: keys({ type: kept, budget_tokens: kept }),
    output_format: keys({ type: kept, schema: kept }),
    compaction: keys({ type: kept, instructions: kept }),
    output_config: keys({ effort: kept, format: keys({ type: kept, schema: kept }) }),
    stop_sequences: each(kept),
    stream: kept,
    metadata,
    temperature: kept,
    top_p: kept,
  }),
);
