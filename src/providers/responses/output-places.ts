/**
 * Gives each item of a streamed response a place of its own, and each event the place of what it is about. Some servers begin one item after
 * another at the same output index, and llama.cpp names no index: clients would join, repeat or lose such items.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isFilledText, isObject } from "../../wire/json.ts";

/** Kind is what an item is whose pieces come as texts. */
type Kind = "message" | "reasoning";

/** ofPart finds the events about a part of an item, which have its index beside the item's. */
const ofPart = /^response\.(?:content_part|output_text|refusal|reasoning_text|(reasoning_summary))[._]/;

export class OutputPlaces {
  /** The places where an item has ended. */
  readonly #ended = new Set<JsonValue>();
  /** By the server's index, where the item that it is about now has another place. */
  readonly #moved = new Map<JsonValue, number>();
  /** By the id of an item, or of its call, where the server names no index. */
  readonly #named = new Map<JsonValue, number>();
  /** The kinds of items that are told in texts, by place. */
  readonly #kinds = new Map<number, Kind>();
  #highest = -1;

  /** placed returns the event with its item's own place; the same event where the place is right, or there is none. */
  placed(event: JsonObject): JsonObject {
    const { type, output_index: index = null, item } = event;
    const names = namesOf(event);
    const place = typeof index === "number" ? this.#indexed(event, index) : this.#found(event, names);
    if (place === undefined) return event;
    for (const name of names) this.#named.set(name, place);
    this.#highest = Math.max(this.#highest, place);
    if (type === "response.output_item.done") this.#ended.add(place);
    const kind = isObject(item) ? item.type : this.#kinds.has(place) ? undefined : kindOf(event);
    if (kind === "message" || kind === "reasoning") this.#kinds.set(place, kind);
    return place === index ? event : { ...event, output_index: place, ...(index === null ? partIndex(event) : {}) };
  }

  #indexed(event: JsonObject, index: number): number {
    const place = this.#placeOf(index);
    const isNext = event.type === "response.output_item.added" && this.#ended.has(place);
    // A text after reasoning is another item, also where neither is announced. A message may have reasoning among its parts.
    const isOther = this.#kinds.get(place) === "reasoning" && kindOf(event) === "message";
    if (isNext || isOther) this.#moved.set(index, this.#highest + 1);
    return this.#placeOf(index);
  }

  #placeOf(index: number): number {
    return this.#moved.get(index) ?? index;
  }

  /**
   * #found returns the place of an event without an index: the next one where its item's names are new, or where no item of its kind is
   * open. Undefined for what is about no item.
   */
  #found(event: JsonObject, names: readonly JsonValue[]): number | undefined {
    const isNameless = names.length === 0 && !isObject(event.item);
    const kind = isNameless ? kindOf(event) : undefined;
    if (kind !== undefined) return this.#kinds.get(this.#highest) === kind ? this.#highest : this.#highest + 1;
    if (isNameless) return undefined;
    return names.map((name) => this.#named.get(name)).find((place) => place !== undefined) ?? this.#highest + 1;
  }
}

/** namesOf returns the ids of the item that an event is about, and of its call. */
function namesOf({ item, item_id }: JsonObject): JsonValue[] {
  const told = isObject(item) ? [item.id, item.call_id] : [item_id];
  return told.filter(isFilledText);
}

/** kindOf returns the kind of the item that a text is of; undefined for an event that tells no text. */
function kindOf({ type, part }: JsonObject): Kind | undefined {
  const about = ofText.exec(isObject(part) ? `response.${part.type}.` : `${type}`);
  return about ? (about[1] ? "reasoning" : "message") : undefined;
}

const ofText = /^response\.(?:output_text|refusal|(reasoning_text|reasoning_summary_text|summary_text))\./;

/** partIndex returns the index of the part that an event is about, where the server names none: the first. */
function partIndex({ type, content_index, summary_index }: JsonObject): JsonObject {
  const about = ofPart.exec(`${type}`);
  if (!about) return {};
  return about[1] ? { summary_index: summary_index ?? 0 } : { content_index: content_index ?? 0 };
}
