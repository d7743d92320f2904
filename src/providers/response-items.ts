/**
 * The items that the events of a streamed response have told, and what its last event lacks of them: servers leave items out there
 * that they have told before, whole or piece by piece. What was told belongs to the answer.
 *
 * An item that has ended is kept as it ended; of one that is still told, its pieces are.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { upstreamFailed } from "../errors.ts";
import { isObject } from "../wire/json.ts";
import type { Wire } from "../wire/wire.ts";

/** An item that has not ended. */
interface OpenItem {
  readonly item: JsonObject;
  /** By the place of their part. */
  readonly texts: Map<JsonValue, { readonly type: string; text: string }>;
  /** What a call is given. */
  input: string;
}

/** The most that is kept of what is told, in bytes. */
const mostKept = 64 * 1024 * 1024;

export class ResponseItems {
  /** By their place in the output, or their id where that is not told. */
  readonly #ended = new Map<JsonValue, JsonObject>();
  readonly #open = new Map<JsonValue, OpenItem>();
  #kept = 0;

  /** Takes the next event, which came in this frame. Throws a Refusal where there is too much to keep. */
  take(event: JsonObject, frame: Pick<Wire, "byteLength">): void {
    const { type, item, delta } = event;
    if (typeof delta === "string") this.#piece(event, delta);
    else if (type === "response.output_item.added" && isObject(item)) this.#begin(event, item);
    else if (type === "response.output_item.done" && isObject(item)) this.#end(event, item, frame.byteLength);
  }

  /** Returns the output of a response that has ended so, with all that was told: as it is, where it lacks nothing. */
  whole(output: JsonValue | undefined, status: string): readonly JsonValue[] {
    const own = Array.isArray(output) ? this.#filled(output, status) : [];
    const missing = this.#missing(own.filter(isObject), status);
    if (missing.length === 0) return own;
    const all = [...own];
    for (const [place, item] of missing) all.splice(place, 0, item);
    return all;
  }

  /** Returns the output with what was told of items that are there, and say nothing. */
  #filled(output: readonly JsonValue[], status: string): readonly JsonValue[] {
    if (!output.some(isHollow)) return output;
    const told = [...this.#ended.values(), ...[...this.#open.values()].map((open) => closed(open, status))];
    return output.map((item) => (isHollow(item) ? (told.find((one) => one?.id === item.id) ?? item) : item));
  }

  #begin(event: JsonObject, item: JsonObject): void {
    this.#open.set(keyOf(event), { item, texts: new Map(), input: "" });
  }

  #end(event: JsonObject, item: JsonObject, bytes: number): void {
    const key = keyOf(event);
    const open = this.#open.get(key);
    this.#open.delete(key);
    this.#ended.set(key, (open && isHollow(item) ? closed(open, "completed") : undefined) ?? item);
    this.#keep(bytes);
  }

  #piece(event: JsonObject, delta: string): void {
    const { type, content_index: place = 0 } = event;
    const open = this.#openFor(event);
    if (!open) return;
    this.#keep(delta.length);
    if (type === "response.function_call_arguments.delta" || type === "response.custom_tool_call_input.delta")
      open.input += delta;
    const partType = partTypes.get(type);
    if (partType === undefined) return;
    const part = open.texts.get(place);
    if (part) part.text += delta;
    else open.texts.set(place, { type: partType, text: delta });
  }

  /** Some servers tell a text without saying that its message begins. */
  #openFor(event: JsonObject): OpenItem | undefined {
    const key = keyOf(event);
    const open = this.#open.get(key);
    if (open || this.#ended.has(key) || !partTypes.has(event.type)) return open;
    const id = typeof event.item_id === "string" ? { id: event.item_id } : {};
    const begun = { item: { ...id, type: "message", role: "assistant" }, texts: new Map(), input: "" };
    this.#open.set(key, begun);
    return begun;
  }

  #keep(bytes: number): void {
    this.#kept += bytes;
    if (this.#kept > mostKept) throw upstreamFailed("its answer is too large");
  }

  /** Returns what is not in the output, in the order of its places. Ids may differ there: then as many of a type are the same. */
  #missing(output: readonly JsonObject[], status: string): [number, JsonObject][] {
    const told = [...this.#ended, ...[...this.#open].map(([key, open]) => [key, closed(open, status)] as const)];
    const items = told.filter((one): one is [JsonValue, JsonObject] => one[1] !== undefined);
    const ids = new Set(items.map(([, { id }]) => id));
    const outputIds = new Set(output.map(({ id }) => id));
    const others = counted(output.filter(({ id }) => id === undefined || !ids.has(id)));
    return items
      .map(([key, item], order): [number, JsonObject] => [typeof key === "number" ? key : order, item])
      .sort(([a], [b]) => a - b)
      .filter(([, { id, type = null }]) => {
        if (id !== undefined && outputIds.has(id)) return false;
        const left = others.get(type) ?? 0;
        others.set(type, left - 1);
        return left <= 0;
      });
  }
}

const partTypes: ReadonlyMap<JsonValue | undefined, string> = new Map([
  ["response.output_text.delta", "output_text"],
  ["response.refusal.delta", "refusal"],
]);

function keyOf({ output_index: place = null, item_id = null, item }: JsonObject): JsonValue {
  return place ?? item_id ?? (isObject(item) ? (item.id ?? null) : null);
}

/** Whether it is an item whose text, or whose arguments, were left out. */
function isHollow(item: JsonValue): item is JsonObject {
  if (!isObject(item)) return false;
  if (item.type === "function_call") return !item.arguments;
  if (item.type === "custom_tool_call") return !item.input;
  const { content } = item;
  if (item.type !== "message") return false;
  return !Array.isArray(content) || !content.some((part) => isObject(part) && (part.text || part.refusal));
}

/** Returns an item that was told in pieces, or as it began; undefined where it says nothing that its caller could use. */
function closed({ item, texts, input }: OpenItem, status: string): JsonObject | undefined {
  if (item.type === "function_call") return { ...item, status, arguments: input || (item.arguments ?? "") };
  if (item.type === "custom_tool_call") return { ...item, status, input: input || (item.input ?? "") };
  if (item.type !== "message") return undefined;
  if (texts.size === 0) return Array.isArray(item.content) && item.content.length > 0 ? { ...item, status } : undefined;
  const content = [...texts.values()].map(({ type, text }) =>
    type === "refusal" ? { type, refusal: text } : { type, text, annotations: [], logprobs: [] },
  );
  return { ...item, status, content };
}

function counted(items: readonly JsonObject[]): Map<JsonValue, number> {
  const counts = new Map<JsonValue, number>();
  for (const { type = null } of items) counts.set(type, (counts.get(type) ?? 0) + 1);
  return counts;
}
