/**
 * A response of an upstream's as its caller is told it: under the gateway's ids, and with what of it is the gateway's. Whatever
 * else it says stays as it came.
 */
import type { ModelResponseSchema, ResponseStreamEventSchema } from "../../../../gen/modelgateway/v1/responses_pb.ts";
import type { Frames } from "../../../call/call.ts";
import { isObject, type JsonObject, type JsonValue } from "../../../wire/json.ts";
import type { Wire } from "../../../wire/wire.ts";
import { relayedId } from "../../relayed-ids.ts";
import { translated } from "../../translate-stream.ts";

/** What a response has from the call that it answers. */
export interface Origin {
  readonly answerId: string;
  /** Whose its items are (`providers/profile/reasoning-seal.ts`). */
  readonly maker: string;
  readonly previousId: JsonValue;
  readonly store: JsonValue;
}

export function toldResponse(body: Wire<typeof ModelResponseSchema>, origin: Origin): Wire<typeof ModelResponseSchema> {
  return body.with(ownMembers(body.json(), origin));
}

export function toldEvents(
  frames: Frames<typeof ResponseStreamEventSchema>,
  origin: Origin,
): Frames<typeof ResponseStreamEventSchema> {
  const items = new ItemsTold(origin);
  return translated(
    frames,
    (frame) => [items.told(frame)],
    () => [],
  );
}

/** Returns the members of a response that are not its upstream's. */
function ownMembers({ output }: JsonObject, origin: Origin): Record<string, JsonValue> {
  const { answerId, previousId, store } = origin;
  const items = Array.isArray(output) ? { output: output.map((item, i) => toldItem(item, i, origin)) } : {};
  return { id: `resp_${answerId}`, previous_response_id: previousId, store, ...items };
}

function toldItem(item: JsonValue, index: number, { answerId, maker }: Origin): JsonValue {
  if (!isObject(item) || typeof item.id !== "string" || item.id === "") return item;
  return { ...item, id: relayedId(item.id, maker, answerId, index) };
}

/** The items of a stream. */
class ItemsTold {
  readonly #origin: Origin;
  /** The place of each, by its id. */
  readonly #places = new Map<string, number>();

  constructor(origin: Origin) {
    this.#origin = origin;
  }

  told(frame: Wire<typeof ResponseStreamEventSchema>): Wire<typeof ResponseStreamEventSchema> {
    const { response, item, item_id: id, output_index: place } = frame.json();
    const changes: Record<string, JsonValue> = {};
    if (isObject(item)) changes.item = this.#item(item, place);
    if (typeof id === "string" && id !== "") {
      const index = typeof place === "number" ? place : this.#places.get(id);
      const { maker, answerId } = this.#origin;
      if (index !== undefined) changes.item_id = relayedId(id, maker, answerId, index);
    }
    if (isObject(response)) changes.response = { ...response, ...ownMembers(response, this.#origin) };
    return Object.keys(changes).length === 0 ? frame : frame.with(changes);
  }

  #item(item: JsonObject, place: JsonValue | undefined): JsonValue {
    if (typeof place !== "number") return item;
    if (typeof item.id === "string") this.#places.set(item.id, place);
    return toldItem(item, place, this.#origin);
  }
}
