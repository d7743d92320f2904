/**
 * The items that the events of a streamed response have told, and what its last event lacks of them: servers leave items out there
 * that they have told before, whole or piece by piece. What was told belongs to the answer.
 *
 * An item that has ended is kept as it ended; of one that is still told, its pieces are.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { upstreamFailed } from "../../call/refusals.ts";
import { isObject } from "../../wire/json.ts";
import type { Wire } from "../../wire/wire.ts";
import { closeItem, isEmptyItem, type OpenItem, openItem, TextBuilder } from "./open-item.ts";

/** The most that is kept of what is told, in bytes. */
const mostKept = 64 * 1024 * 1024;
/** What a text that is told in pieces takes beside them, in bytes. */
const bytesOfOpen = 256;

export class ResponseItems {
  /** By their place in the output, or their id where that is not told. */
  readonly #ended = new Map<JsonValue, JsonObject>();
  readonly #open = new Map<JsonValue, OpenItem>();
  #kept = 0;

  /** Takes the next event, which came in this frame. Throws a Refusal where there is too much to keep. */
  take(event: JsonObject, frame: Pick<Wire, "byteLength">): void {
    const { type, item, delta } = event;
    if (typeof delta === "string") this.#piece(event, delta);
    else if (type === "response.output_item.added" && isObject(item)) this.#begin(event, item, frame.byteLength);
    else if (type === "response.output_item.done" && isObject(item)) this.#end(event, item, frame.byteLength);
  }

  /** Returns the output of a response that has ended so, with all that was told: as it is, where it lacks nothing. */
  whole(output: JsonValue | undefined, status: string): readonly JsonValue[] {
    const own = Array.isArray(output) ? this.#filled(output, status) : [];
    const missing = this.#missing(own.filter(isObject), status);
    return missing.length === 0 ? own : inPlaces(own, missing);
  }

  /** Returns the output with what was told of items that are there, and say nothing. */
  #filled(output: readonly JsonValue[], status: string): readonly JsonValue[] {
    if (!output.some(isEmptyItem)) return output;
    const told = new Map<JsonValue | undefined, JsonObject>();
    for (const open of this.#open.values()) told.set(open.item.id, closeItem(open, status) ?? open.item);
    for (const item of this.#ended.values()) told.set(item.id, item);
    return output.map((item) => (isEmptyItem(item) && item.id !== undefined ? (told.get(item.id) ?? item) : item));
  }

  #begin(event: JsonObject, item: JsonObject, bytes: number): void {
    this.#keep(bytes);
    this.#open.set(keyOf(event), openItem(item));
  }

  #end(event: JsonObject, item: JsonObject, bytes: number): void {
    const key = keyOf(event);
    const open = this.#open.get(key);
    this.#open.delete(key);
    this.#ended.set(key, (open && isEmptyItem(item) ? closeItem(open, "completed") : undefined) ?? item);
    this.#keep(bytes);
  }

  #piece(event: JsonObject, delta: string): void {
    const { type, content_index: place = 0 } = event;
    const open = this.#openFor(event);
    if (!open) return;
    this.#keep(delta.length);
    if (type === "response.function_call_arguments.delta" || type === "response.custom_tool_call_input.delta")
      open.input.add(delta);
    const partType = partTypes.get(type);
    if (partType === undefined) return;
    const part = open.texts.get(place) ?? { type: partType, text: new TextBuilder() };
    if (!open.texts.has(place)) this.#keep(bytesOfOpen);
    open.texts.set(place, part);
    part.text.add(delta);
  }

  /** Some servers tell a text without saying that its message begins. */
  #openFor(event: JsonObject): OpenItem | undefined {
    const key = keyOf(event);
    const open = this.#open.get(key);
    if (open || this.#ended.has(key) || !partTypes.has(event.type)) return open;
    const id = typeof event.item_id === "string" ? { id: event.item_id } : {};
    const item = { ...id, type: "message", role: "assistant" };
    const begun = openItem(item);
    this.#open.set(key, begun);
    return begun;
  }

  #keep(bytes: number): void {
    this.#kept += bytes;
    if (this.#kept > mostKept) throw upstreamFailed("its answer is too large");
  }

  /** Returns what is not in the output, in the order of its places. Ids may differ there: then as many of a type are the same. */
  #missing(output: readonly JsonObject[], status: string): [number, JsonObject][] {
    const told = [...this.#ended, ...[...this.#open].map(([key, open]) => [key, closeItem(open, status)] as const)];
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

/** Puts items among others, each at its place in the whole: `missing` is in the order of its places. */
function inPlaces(others: readonly JsonValue[], missing: readonly [number, JsonObject][]): JsonValue[] {
  const all: JsonValue[] = [];
  let next = 0;
  const add = (isDue: (place: number) => boolean) => {
    for (let one = missing[next]; one && isDue(one[0]); one = missing[++next]) all.push(one[1]);
  };
  for (const other of others) {
    add((place) => place <= all.length);
    all.push(other);
  }
  add(() => true);
  return all;
}

function counted(items: readonly JsonObject[]): Map<JsonValue, number> {
  const counts = new Map<JsonValue, number>();
  for (const { type = null } of items) counts.set(type, (counts.get(type) ?? 0) + 1);
  return counts;
}
