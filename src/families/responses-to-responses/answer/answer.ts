/**
 * An upstream's response as its caller gets it: with the gateway's ids and members. Everything else stays as it came,
 * but for what typed clients need: a count, and the members that every response of OpenAI's has.
 */
import type { ModelResponseSchema, ResponseStreamEventSchema } from "../../../../gen/modelgateway/v1/responses_pb.ts";
import type { Frames } from "../../../call/call.ts";
import { isFilledText, isObject, type JsonObject, type JsonValue } from "../../../wire/json.ts";
import type { Wire } from "../../../wire/wire.ts";
import { relayedId } from "../../relayed-ids.ts";
import { responseJson } from "../../responses-to-chat/answer/response.ts";
import { toldTools } from "../../tools/told-tools.ts";
import { translateStream } from "../../translate-stream.ts";

/** AnswerContext is what the translation of the answer needs from the request. */
export interface AnswerContext {
  readonly answerId: string;
  /** Seconds since 1970. */
  readonly createdAt: number;
  /** Returns the request as the caller wrote it. */
  readonly asked: () => JsonObject;
  /** The upstream's hash (`providers/profile/reasoning-seal.ts`). */
  readonly maker: string;
  readonly previousId: JsonValue;
  readonly store: JsonValue;
}

export function relayedResponse(
  body: Wire<typeof ModelResponseSchema>,
  context: AnswerContext,
): Wire<typeof ModelResponseSchema> {
  const response = body.json();
  return body.with({ ...lackingMembers(response, context), ...ownMembers(response, context) });
}

export function relayedEvents(
  frames: Frames<typeof ResponseStreamEventSchema>,
  context: AnswerContext,
): Frames<typeof ResponseStreamEventSchema> {
  const items = new RelayedItems(context);
  return translateStream(frames, (frame) => [items.relay(frame)]);
}

/** ownMembers returns the members of a response that are the gateway's. `ownId` returns the id that an item began with at its upstream. */
function ownMembers(
  { output, tools, usage }: JsonObject,
  context: AnswerContext,
  ownId: (item: JsonObject, id: string, index: number) => string = (_, id) => id,
): Record<string, JsonValue> {
  const { answerId, previousId, store } = context;
  const relayed = (item: JsonValue, i: number) => relayedItem(item, i, context, (one, id) => ownId(one, id, i));
  const items = Array.isArray(output) ? { output: output.map(relayed) } : {};
  const told = Array.isArray(tools) ? { tools: toldTools(tools) } : {};
  return { id: `resp_${answerId}`, previous_response_id: previousId, store, ...items, ...told, ...typedUsage(usage) };
}

/** required are the members that OpenAI's reference requires of a response: those that may be null, and those that may not. */
const required: ReadonlyMap<string, "nullable" | "filled"> = new Map([
  ...["object", "created_at", "status", "model", "output"].map((key) => [key, "filled"] as const),
  ...["tools", "tool_choice", "parallel_tool_calls"].map((key) => [key, "filled"] as const),
  ...["error", "incomplete_details", "instructions", "metadata"].map((key) => [key, "nullable"] as const),
  ...["temperature", "top_p"].map((key) => [key, "nullable"] as const),
]);

/** lackingMembers returns the required members that a server has left out, as the request has them; nothing where it has all. */
function lackingMembers(response: JsonObject, { answerId, createdAt, asked }: AnswerContext): JsonObject {
  const lacking: string[] = [];
  for (const [key, kind] of required) {
    const told = response[key];
    if (told === undefined || (told === null && kind === "filled")) lacking.push(key);
  }
  const seconds = response.created_at;
  if (typeof seconds === "number" && !Number.isInteger(seconds)) lacking.push("created_at");
  if (lacking.length === 0) return {};
  const created = typeof seconds === "number" ? Math.floor(seconds) : createdAt;
  const empty = { incomplete: undefined, model: "", serviceTier: undefined, output: [], usage: null } as const;
  const whole = responseJson({ answerId, createdAt: created, asked: asked() }, { status: "in_progress", ...empty });
  return Object.fromEntries(lacking.map((key) => [key, whole[key] ?? null]));
}

/** typedUsage returns usage with the counts that clients in typed languages require, where a server has left some out. */
function typedUsage(usage: JsonValue | undefined): { readonly usage?: JsonObject } {
  if (!isObject(usage)) return {};
  const {
    input_tokens: input,
    output_tokens: output,
    input_tokens_details,
    output_tokens_details,
    total_tokens,
  } = usage;
  const inputs = isObject(input_tokens_details) ? input_tokens_details : {};
  const outputs = isObject(output_tokens_details) ? output_tokens_details : {};
  const counts = [inputs.cached_tokens, inputs.cache_write_tokens, outputs.reasoning_tokens, total_tokens];
  if (counts.every((count) => typeof count === "number")) return {};
  const [cached_tokens, cache_write_tokens, reasoning_tokens] = counts.map(countIn);
  return {
    usage: {
      ...usage,
      input_tokens_details: { ...inputs, cached_tokens, cache_write_tokens },
      output_tokens_details: { ...outputs, reasoning_tokens },
      total_tokens: typeof total_tokens === "number" ? total_tokens : countIn(input) + countIn(output),
    } as JsonObject,
  };
}

function countIn(told: JsonValue | undefined): number {
  return typeof told === "number" ? told : 0;
}

function relayedItem(
  item: JsonValue,
  index: number,
  { answerId, maker }: AnswerContext,
  ownId: (item: JsonObject, id: string) => string,
): JsonValue {
  if (!isObject(item) || !isFilledText(item.id)) return item;
  return { ...item, id: relayedId(ownId(item, item.id), maker, answerId, index) };
}

/** BegunItem is an item of a stream as its first event named it. */
interface BegunItem {
  readonly id: string;
  readonly type: JsonValue | undefined;
}

/** RelayedItems relays the items of a stream. An item keeps the id that it began with: GitHub Copilot gives it another one in each event. */
class RelayedItems {
  readonly #context: AnswerContext;
  /** Output indices by the id that an item began with. */
  readonly #places = new Map<string, number>();
  /** By output index. */
  readonly #begun = new Map<number, BegunItem>();

  constructor(context: AnswerContext) {
    this.#context = context;
  }

  relay(frame: Wire<typeof ResponseStreamEventSchema>): Wire<typeof ResponseStreamEventSchema> {
    const { response, item, item_id: id, output_index: place } = frame.json();
    const changes: Record<string, JsonValue> = {};
    if (isObject(item)) changes.item = this.#item(item, place);
    if (isFilledText(id)) {
      const index = typeof place === "number" ? place : this.#places.get(id);
      const { maker, answerId } = this.#context;
      if (index !== undefined) changes.item_id = relayedId(this.#begun.get(index)?.id ?? id, maker, answerId, index);
    }
    if (isObject(response)) {
      const own = ownMembers(response, this.#context, (one, id, i) => this.#ownId(one, id, i));
      changes.response = { ...response, ...lackingMembers(response, this.#context), ...own };
    }
    return Object.keys(changes).length === 0 ? frame : frame.with(changes);
  }

  #item(item: JsonObject, place: JsonValue | undefined): JsonValue {
    if (typeof place !== "number") return item;
    if (isFilledText(item.id) && !this.#begun.has(place)) {
      this.#places.set(item.id, place);
      this.#begun.set(place, { id: item.id, type: item.type });
    }
    return relayedItem(item, place, this.#context, (one, id) => this.#ownId(one, id, place));
  }

  /** ownId returns the id that an item began with. The final list may lack items, so that another one is in this place: it keeps its id. */
  #ownId({ type }: JsonObject, id: string, place: number): string {
    const begun = this.#begun.get(place);
    return begun && begun.type === type && !this.#places.has(id) ? begun.id : id;
  }
}
