/**
 * Gives each item of a streamed response a place of its own. Some servers begin one item after another at the same output index: clients
 * would join or lose them.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";

export class OutputPlaces {
  /** The places where an item has ended. */
  readonly #ended = new Set<JsonValue>();
  /** By the server's index, where the item that it is about now has another place. */
  readonly #moved = new Map<JsonValue, number>();
  #highest = -1;

  /** placed returns the event with its item's own place; the same event where the place is right, or there is none. */
  placed(event: JsonObject): JsonObject {
    const { type, output_index: index } = event;
    if (typeof index !== "number") return event;
    if (type === "response.output_item.added" && this.#ended.has(this.#placeOf(index))) {
      this.#moved.set(index, this.#highest + 1);
    }
    const place = this.#placeOf(index);
    this.#highest = Math.max(this.#highest, place);
    if (type === "response.output_item.done") this.#ended.add(place);
    return place === index ? event : { ...event, output_index: place };
  }

  #placeOf(index: number): number {
    return this.#moved.get(index) ?? index;
  }
}
