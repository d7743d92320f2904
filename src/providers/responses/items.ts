/**
 * Collects the items of a streamed response, and restores those that its last event lacks: some servers leave out
 * there what they sent before, whole or in pieces.
 *
 * A finished item is kept as it ended, an open one as its pieces.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { upstreamFailed } from "../../call/refusals.ts";
import { isFilledText, isObject, mappedList, parsedJson } from "../../wire/json.ts";
import type { Wire } from "../../wire/wire.ts";
import { closeItem, isEmptyItem, isReasoningPart, type OpenItem, openItem, TextBuilder } from "./open-item.ts";
import { ownId, withOwnArguments } from "./usual-items.ts";

/** The most that is kept, in bytes. */
const mostKept = 64 * 1024 * 1024;
/** The overhead of a text that comes in pieces, in bytes. */
const bytesOfOpen = 256;

export class ResponseItems {
  /** By output index, or by id where there is none. */
  readonly #ended = new Map<JsonValue, JsonObject>();
  readonly #open = new Map<JsonValue, OpenItem>();
  #kept = 0;

  /**
   * Takes the next event, which came in this frame. Returns the item of an event that ends one without its text or arguments, filled from
   * the events before, or with those of a function that takes none. Throws a Refusal where there is too much to keep.
   */
  take(event: JsonObject, frame: Pick<Wire, "byteLength">): JsonObject | undefined {
    const { type, item, delta } = event;
    if (type === "response.output_item.done" && isObject(item)) return this.#end(event, item, frame.byteLength);
    if (type === "response.output_item.added" && isObject(item)) this.#begin(event, item, frame.byteLength);
    else if (typeof delta === "string") this.#piece(event, delta);
    else this.#whole(event);
    return undefined;
  }

  /** isWithinInput is whether a function's call is open whose input is not all of it. */
  get isWithinInput(): boolean {
    const inputs = [...this.#open.values()]
      .filter(({ item }) => item.type === "function_call")
      .map(({ input }) => input);
    return inputs.some((input) => !input.isEmpty && parsedJson(input.toString()) === undefined);
  }

  /** Returns the complete output of a response with this status; the same list where it lacks nothing. */
  whole(output: JsonValue | undefined, status: string): readonly JsonValue[] {
    const own = Array.isArray(output) ? this.#filled(output, status) : [];
    const missing = this.#missing(own.filter(isObject), status);
    return missing.length === 0 ? own : inPlaces(own, missing);
  }

  /** Returns the output with its empty items filled from the events. */
  #filled(output: readonly JsonValue[], status: string): readonly JsonValue[] {
    if (!output.some(isEmptyItem)) return output;
    const known = new Map<JsonValue | undefined, JsonObject>();
    for (const open of this.#open.values()) known.set(open.item.id, closeItem(open, status) ?? open.item);
    for (const item of this.#ended.values()) known.set(item.id, item);
    return mappedList(output as JsonValue[], (item) => {
      const told = isEmptyItem(item) && item.id !== undefined ? known.get(item.id) : undefined;
      return told && !isEmptyItem(told) ? told : item;
    });
  }

  #begin(event: JsonObject, item: JsonObject, bytes: number): void {
    this.#keep(bytes);
    this.#open.set(keyOf(event), openItem(item));
  }

  #end(event: JsonObject, item: JsonObject, bytes: number): JsonObject | undefined {
    const key = keyOf(event);
    const open = this.#open.get(key);
    this.#open.delete(key);
    const closed =
      open && isEmptyItem(item) ? closeItem({ ...open, item: { ...open.item, ...item } }, "completed") : undefined;
    const whole = withOwnArguments(closed && !isEmptyItem(closed) ? closed : item);
    this.#ended.set(key, whole);
    this.#keep(bytes);
    return whole === item ? undefined : whole;
  }

  /** Some servers send a text or an input whole, without pieces before. */
  #whole(event: JsonObject): void {
    const { type, part } = event;
    const said = partEnds.has(type) && isObject(part) ? eventOfPart(part) : event;
    const whole = said[wholeKeys.get(said.type) ?? ""];
    if (!isFilledText(whole)) return;
    const pieces = { ...event, type: (said.type as string).replace(/done$/, "delta") };
    const open = this.#openFor(pieces);
    if (!open) return;
    const known = partTypes.has(pieces.type) ? open.texts.get(partKey(pieces))?.text : open.input;
    if (known?.isEmpty ?? true) this.#piece(pieces, whole);
  }

  #piece(event: JsonObject, delta: string): void {
    const { type } = event;
    const open = this.#openFor(event);
    if (!open) return;
    this.#keep(delta.length);
    if (type === "response.function_call_arguments.delta" || type === "response.custom_tool_call_input.delta")
      open.input.add(delta);
    const partType = partTypes.get(type);
    if (partType === undefined) return;
    const place = partKey(event);
    const part = open.texts.get(place) ?? { type: partType, text: new TextBuilder() };
    if (!open.texts.has(place)) this.#keep(bytesOfOpen);
    open.texts.set(place, part);
    part.text.add(delta);
  }

  /** Some servers send a text without announcing its message, or their reasoning. */
  #openFor(event: JsonObject): OpenItem | undefined {
    const key = keyOf(event);
    const open = this.#open.get(key);
    if (open || this.#ended.has(key) || !partTypes.has(event.type)) return open;
    const type = isReasoningPart(partTypes.get(event.type)) ? "reasoning" : "message";
    const told = event.item_id ?? (typeof key === "number" ? ownId(type, key) : undefined);
    const id = typeof told === "string" ? { id: told } : {};
    const item = { ...id, type, ...(type === "message" ? { role: "assistant" } : {}) };
    const begun = openItem(item);
    this.#open.set(key, begun);
    return begun;
  }

  #keep(bytes: number): void {
    this.#kept += bytes;
    if (this.#kept > mostKept) throw upstreamFailed("its answer is too large");
  }

  /**
   * Returns the items that the output lacks, by output index. Ids may differ there: then items are matched by type
   * and number.
   */
  #missing(output: readonly JsonObject[], status: string): [number, JsonObject][] {
    const known = [...this.#ended, ...[...this.#open].map(([key, open]) => [key, closeItem(open, status)] as const)];
    const items = known.filter((one): one is [JsonValue, JsonObject] => one[1] !== undefined);
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
  ["response.reasoning_text.delta", "reasoning_text"],
  ["response.reasoning_summary_text.delta", "summary_text"],
]);

/** partKey names the part that an event is about, within its item. */
function partKey({ type, content_index, summary_index }: JsonObject): string {
  return `${partTypes.get(type)} ${summary_index ?? content_index ?? 0}`;
}

/** partEnds are the types of events that end a part, which they have. */
const partEnds: ReadonlySet<JsonValue | undefined> = new Set([
  "response.content_part.done",
  "response.reasoning_summary_part.done",
]);

/** The members that have the whole, by the type of the event that ends it. */
const wholeKeys: ReadonlyMap<JsonValue | undefined, string> = new Map([
  ["response.output_text.done", "text"],
  ["response.refusal.done", "refusal"],
  ["response.reasoning_text.done", "text"],
  ["response.reasoning_summary_text.done", "text"],
  ["response.function_call_arguments.done", "arguments"],
  ["response.custom_tool_call_input.done", "input"],
]);

/** eventOfPart returns the event that ends this part's text. */
function eventOfPart({ type = null, ...part }: JsonObject): JsonObject {
  return { ...part, type: `response.${type === "summary_text" ? "reasoning_summary_text" : type}.done` };
}

function keyOf({ output_index: place = null, item_id = null, item }: JsonObject): JsonValue {
  return place ?? item_id ?? (isObject(item) ? (item.id ?? null) : null);
}

/** inPlaces inserts items at their indices. `missing` is sorted by index. */
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
