/**
 * An upstream's response as its caller gets it: with the gateway's ids and members. Everything else stays as it came.
 */
import type { ModelResponseSchema, ResponseStreamEventSchema } from "../../../../gen/modelgateway/v1/responses_pb.ts";
import type { Frames } from "../../../call/call.ts";
import { isObject, type JsonObject, type JsonValue } from "../../../wire/json.ts";
import type { Wire } from "../../../wire/wire.ts";
import { relayedId } from "../../relayed-ids.ts";
import { translateStream } from "../../translate-stream.ts";

/** AnswerContext is what the translation of the answer needs from the request. */
export interface AnswerContext {
  readonly answerId: string;
  /** The upstream's hash (`providers/profile/reasoning-seal.ts`). */
  readonly maker: string;
  readonly previousId: JsonValue;
  readonly store: JsonValue;
}

export function relayedResponse(
  body: Wire<typeof ModelResponseSchema>,
  context: AnswerContext,
): Wire<typeof ModelResponseSchema> {
  return body.with(ownMembers(body.json(), context));
}

export function relayedEvents(
  frames: Frames<typeof ResponseStreamEventSchema>,
  context: AnswerContext,
): Frames<typeof ResponseStreamEventSchema> {
  const items = new RelayedItems(context);
  return translateStream(
    frames,
    (frame) => [items.relay(frame)],
    () => [],
  );
}

/** ownMembers returns the members of a response that are the gateway's. */
function ownMembers({ output }: JsonObject, context: AnswerContext): Record<string, JsonValue> {
  const { answerId, previousId, store } = context;
  const items = Array.isArray(output) ? { output: output.map((item, i) => relayedItem(item, i, context)) } : {};
  return { id: `resp_${answerId}`, previous_response_id: previousId, store, ...items };
}

function relayedItem(item: JsonValue, index: number, { answerId, maker }: AnswerContext): JsonValue {
  if (!isObject(item) || typeof item.id !== "string" || item.id === "") return item;
  return { ...item, id: relayedId(item.id, maker, answerId, index) };
}

/** RelayedItems relays the items of a stream. */
class RelayedItems {
  readonly #context: AnswerContext;
  /** Output indices by item id. */
  readonly #places = new Map<string, number>();

  constructor(context: AnswerContext) {
    this.#context = context;
  }

  relay(frame: Wire<typeof ResponseStreamEventSchema>): Wire<typeof ResponseStreamEventSchema> {
    const { response, item, item_id: id, output_index: place } = frame.json();
    const changes: Record<string, JsonValue> = {};
    if (isObject(item)) changes.item = this.#item(item, place);
    if (typeof id === "string" && id !== "") {
      const index = typeof place === "number" ? place : this.#places.get(id);
      const { maker, answerId } = this.#context;
      if (index !== undefined) changes.item_id = relayedId(id, maker, answerId, index);
    }
    if (isObject(response)) changes.response = { ...response, ...ownMembers(response, this.#context) };
    return Object.keys(changes).length === 0 ? frame : frame.with(changes);
  }

  #item(item: JsonObject, place: JsonValue | undefined): JsonValue {
    if (typeof place !== "number") return item;
    if (typeof item.id === "string") this.#places.set(item.id, place);
    return relayedItem(item, place, this.#context);
  }
}
