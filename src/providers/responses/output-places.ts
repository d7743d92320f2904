/**
 * Gives each item of a streamed response a place of its own, and each event the place of what it is about. Some servers begin one item after
 * another at the same output index, and llama.cpp names no index: clients would join, repeat or lose such items.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isObject } from "../../wire/json.ts";

/** ofPart finds the events about a part of an item, which have its index beside the item's. */
const ofPart = /^response\.(?:content_part|output_text|refusal|reasoning_text|(reasoning_summary))[._]/;

export class OutputPlaces {
  /** The places where an item has ended. */
  readonly #ended = new Set<JsonValue>();
  /** By the server's index, where the item that it is about now has another place. */
  readonly #moved = new Map<JsonValue, number>();
  /** By the id of an item, or of its call, where the server names no index. */
  readonly #named = new Map<JsonValue, number>();
  #highest = -1;

  /** placed returns the event with its item's own place; the same event where the place is right, or there is none. */
  placed(event: JsonObject): JsonObject {
    const { type, output_index: index = null } = event;
    const names = namesOf(event);
    const place = typeof index === "number" ? this.#indexed(event, index) : this.#found(event, names);
    if (place === undefined) return event;
    for (const name of names) this.#named.set(name, place);
    this.#highest = Math.max(this.#highest, place);
    if (type === "response.output_item.done") this.#ended.add(place);
    return place === index ? event : { ...event, output_index: place, ...(index === null ? partIndex(event) : {}) };
  }

  #indexed({ type }: JsonObject, index: number): number {
    if (type === "response.output_item.added" && this.#ended.has(this.#placeOf(index))) {
      this.#moved.set(index, this.#highest + 1);
    }
    return this.#placeOf(index);
  }

  #placeOf(index: number): number {
    return this.#moved.get(index) ?? index;
  }

  /** #found returns the place of an event without an index: the next one where its item's names are new. Undefined for what is about no item. */
  #found({ item }: JsonObject, names: readonly JsonValue[]): number | undefined {
    if (names.length === 0 && !isObject(item)) return undefined;
    return names.map((name) => this.#named.get(name)).find((place) => place !== undefined) ?? this.#highest + 1;
  }
}

/** namesOf returns the ids of the item that an event is about, and of its call. */
function namesOf({ item, item_id }: JsonObject): JsonValue[] {
  const told = isObject(item) ? [item.id, item.call_id] : [item_id];
  return told.filter((name): name is string => typeof name === "string" && name !== "");
}

/** partIndex returns the index of the part that an event is about, where the server names none: the first. */
function partIndex({ type, content_index, summary_index }: JsonObject): JsonObject {
  const about = ofPart.exec(`${type}`);
  if (!about) return {};
  return about[1] ? { summary_index: summary_index ?? 0 } : { content_index: content_index ?? 0 };
}
