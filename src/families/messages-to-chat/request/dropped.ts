/**
 * Names what of a request is left out.
 *
 * The table below holds what the translation says, key by key. Whatever else a request has is named by its public
 * path, in the order of the request, together with what the translation left out for reasons of its own. So a key
 * that nobody thought of is named too. Null and the empty list say nothing, and are not named.
 */

import { type CooperativeTask, itemsPerSlice } from "../../../runtime/cooperative.ts";
import { type JsonObject, type JsonValue, jsonType } from "../../../wire/json.ts";

/** Returns the paths of what is left out. `unsaid` are those that the translation left out knowingly. */
export function* droppedOf(request: JsonObject, unsaid: ReadonlySet<string>): CooperativeTask<string[]> {
  const walk: Walk = { unsaid, dropped: [] };
  for (const [key, value] of Object.entries(request)) {
    if (key === "messages" && Array.isArray(value)) yield* inMessages(value, walk);
    else visit(members.get(key) ?? lost, value, key, walk);
  }
  return walk.dropped;
}

function* inMessages(messages: readonly JsonValue[], walk: Walk): CooperativeTask<void> {
  for (const [i, message] of messages.entries()) {
    visit(inMessage, message, `messages[${i}]`, walk);
    if (i % itemsPerSlice === itemsPerSlice - 1) yield;
  }
}

interface Walk {
  readonly unsaid: ReadonlySet<string>;
  readonly dropped: string[];
}

type Shape = (value: JsonValue, path: string, walk: Walk) => void;

const said: Shape = () => {};

const lost: Shape = (value, path, { dropped }) => {
  if (value !== null && !(Array.isArray(value) && value.length === 0)) dropped.push(path);
};

/** Is lost, unless it only repeats what holds without it. */
function lostUnless(holdsAnyway: (value: JsonObject) => boolean): Shape {
  return (value, path, walk) => {
    if (!(jsonType(value) === "object" && holdsAnyway(value as JsonObject))) lost(value, path, walk);
  };
}

function keys(members: Readonly<Record<string, Shape>>): Shape {
  const shapes = new Map(Object.entries(members));
  return (value, path, walk) => {
    if (jsonType(value) !== "object") return lost(value, path, walk);
    for (const [key, member] of Object.entries(value as JsonObject)) {
      visit(shapes.get(key) ?? lost, member, path === "" ? key : `${path}.${key}`, walk);
    }
  };
}

/** A list of such values; a text in its place is said. */
function each(shape: Shape): Shape {
  return (value, path, walk) => {
    if (typeof value === "string") return;
    if (!Array.isArray(value)) return lost(value, path, walk);
    for (const [i, item] of value.entries()) visit(shape, item, `${path}[${i}]`, walk);
  };
}

function visit(shape: Shape, value: JsonValue, path: string, walk: Walk): void {
  (walk.unsaid.has(path) ? lost : shape)(value, path, walk);
}

const blocks = each((value, path, walk) => {
  const type = jsonType(value) === "object" ? (value as JsonObject).type : undefined;
  ((typeof type === "string" && blockOfType.get(type)) || lost)(value, path, walk);
});

/** The error of a vendor's tool is an object, and is said as its text. */
const result: Shape = (value, path, walk) => (jsonType(value) === "object" ? said : blocks)(value, path, walk);

const source = keys({ type: said, media_type: said, data: said, url: said, content: blocks });
const citations = lostUnless(({ enabled }) => enabled === false);
const caller = lostUnless(({ type }) => type === "direct");

const blockOfType: ReadonlyMap<string, Shape> = new Map(
  Object.entries({
    text: keys({ type: said, text: said }),
    image: keys({ type: said, source }),
    document: keys({ type: said, source, title: said, context: said, citations }),
    search_result: keys({ type: said, source: said, title: said, content: blocks, citations }),
    thinking: keys({ type: said, thinking: said, signature: said }),
    redacted_thinking: keys({ type: said, data: said }),
    tool_use: keys({ type: said, id: said, name: said, input: said, caller }),
    tool_result: keys({ type: said, tool_use_id: said, content: result, is_error: said }),
    tool_reference: keys({ type: said, tool_name: said }),
    tool_addition: keys({ type: said, tool: said }),
    tool_removal: keys({ type: said, tool: said }),
  }),
);

const ownTool = keys({
  type: said,
  name: said,
  description: said,
  input_schema: said,
  strict: said,
  defer_loading: said,
});
const place = keys({ type: said, city: said, region: said, country: said, timezone: said });
const webSearch = keys({ type: said, name: said, user_location: place });

const tool: Shape = (value, path, walk) => {
  const type = jsonType(value) === "object" ? (value as JsonObject).type : undefined;
  (typeof type === "string" && type.startsWith("web_search_") ? webSearch : ownTool)(value, path, walk);
};

const metadata: Shape = (value, path, walk) => {
  const simulated = Object.keys((value ?? {}) as object).filter((key) => key.startsWith("simulate_"));
  keys({ user_id: said, ...Object.fromEntries(simulated.map((key) => [key, said])) })(value, path, walk);
};

const inMessage = keys({ role: said, content: blocks });

/** Of the request, but for its messages. */
const members: ReadonlyMap<string, Shape> = new Map(
  Object.entries({
    model: said,
    max_tokens: said,
    system: blocks,
    tools: each(tool),
    tool_choice: keys({ type: said, name: said, disable_parallel_tool_use: said }),
    thinking: keys({ type: said, budget_tokens: said }),
    output_config: keys({ effort: said, format: keys({ type: said, schema: said }) }),
    stop_sequences: each(said),
    stream: said,
    metadata,
    temperature: said,
    top_p: said,
  }),
);
