/**
 * Completes the events of a streamed response to those that OpenAI sends: the response begins before its items, an item and its part
 * before their text, and each item of the last event has ended before.
 *
 * OpenAI's SDK throws at a text without its item, and Codex takes no item but those that end.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isObject, listOrEmpty } from "../../wire/json.ts";
import { seconds } from "../frames/native/answers.ts";
import { begunItem, begunResponse } from "./frames.ts";
import { ownId } from "./usual-items.ts";

interface Begun {
  readonly type: JsonValue;
  readonly id: JsonValue;
  /** The parts that have begun: `content_index` or `summary_index` and the index. */
  readonly parts: Set<string>;
  hasEnded: boolean;
}

/** Said is what a delta is part of. */
interface Said {
  readonly item: "message" | "reasoning";
  readonly index: "content_index" | "summary_index";
  readonly added: string;
  readonly part: JsonObject;
}

const said: ReadonlyMap<JsonValue | undefined, Said> = new Map<JsonValue, Said>([
  [
    "response.output_text.delta",
    {
      item: "message",
      index: "content_index",
      added: "response.content_part.added",
      part: { type: "output_text", text: "", annotations: [], logprobs: [] },
    },
  ],
  [
    "response.refusal.delta",
    {
      item: "message",
      index: "content_index",
      added: "response.content_part.added",
      part: { type: "refusal", refusal: "" },
    },
  ],
  [
    "response.reasoning_summary_text.delta",
    {
      item: "reasoning",
      index: "summary_index",
      added: "response.reasoning_summary_part.added",
      part: { type: "summary_text", text: "" },
    },
  ],
  [
    "response.reasoning_text.delta",
    {
      item: "reasoning",
      index: "content_index",
      added: "response.content_part.added",
      part: { type: "reasoning_text", text: "" },
    },
  ],
]);

/** ofCall matches the types of events with the input of a call. */
const ofCall = /^response\.(function_call_arguments|custom_tool_call_input)\.(delta|done)$/;

export class UsualEvents {
  #head: JsonObject;
  /** By output index. */
  readonly #items = new Map<number, Begun>();
  #hasBegun = false;
  /** The number of the next event. */
  #number = 0;

  /** `model` is for a response that does not begin. */
  constructor(model: string) {
    this.#head = { id: "resp_0", object: "response", created_at: seconds(), model };
  }

  /** completed returns the last event of a response whose server sends none. */
  completed(): JsonObject {
    return { type: "response.completed", response: { ...this.#head, output: [] } };
  }

  /** withHead returns the last event with the members that a response began with, where its own is hardly one. */
  withHead(event: JsonObject): JsonObject {
    const { response } = event;
    if (!isObject(response) || response.object !== undefined) return event;
    return { ...event, response: { ...this.#head, ...response } };
  }

  /** take returns the events that a caller is sent for one. */
  take(event: JsonObject): readonly JsonObject[] {
    const { type, output_index: place, item } = event;
    const before = this.#beginning(event);
    if (type === "response.output_item.added" && isObject(item)) this.#begin(place, item);
    else if (type === "response.output_item.done" && isObject(item)) before.push(...this.#end(place, item));
    else if (typeof type === "string" && type.endsWith("_part.added")) before.push(...this.#beginPart(event));
    // Nobody knows yet what is called: the call comes whole at its end.
    if (ofCall.test(`${type}`) && typeof place === "number" && !this.#items.has(place))
      return before.map((one) => this.#numbered(one));
    const about = said.get(type);
    if (!about) return [...before, this.#named(event)].map((one) => this.#numbered(one));
    const placed = this.#placed(event, about);
    return [...before, ...this.#announced(placed, about), placed].map((one) => this.#numbered(one));
  }

  /** last returns the events that a caller is sent for the last one. */
  last(event: JsonObject): readonly JsonObject[] {
    const before = this.#beginning(event);
    const { response } = event;
    const output = isObject(response) ? listOrEmpty(response.output) : [];
    before.push(...output.flatMap((item, place) => (isObject(item) ? this.#rest(item, place) : [])));
    return [...before, event].map((one) => this.#numbered(one));
  }

  /** #named returns an event of an item that has begun with the item's id. */
  #named(event: JsonObject): JsonObject {
    const { output_index: place, item_id: id = null, item } = event;
    const known = typeof place === "number" && id === null && item === undefined ? this.#items.get(place) : undefined;
    return known && known.id !== null ? { ...event, item_id: known.id } : event;
  }

  #beginning({ type, response }: JsonObject): JsonObject[] {
    const isOfResponse = typeof type === "string" && type.startsWith("response.");
    if (this.#hasBegun || !isOfResponse) return [];
    this.#hasBegun = true;
    if (isObject(response)) this.#head = { ...this.#head, ...response };
    if (type === "response.created" || type === "response.queued") return [];
    return [{ type: "response.created", response: begunResponse(this.#head) }];
  }

  #begin(place: JsonValue | undefined, { type = null, id = null, content, summary }: JsonObject): void {
    if (typeof place !== "number") return;
    const keysOf = (list: JsonValue | undefined, index: string) =>
      Array.isArray(list) ? list.map((_, i) => `${index} ${i}`) : [];
    const parts = new Set([...keysOf(content, "content_index"), ...keysOf(summary, "summary_index")]);
    this.#items.set(place, { type, id, parts, hasEnded: false });
  }

  /** #beginPart returns the beginning of a part's item, where that has not come. */
  #beginPart({ output_index: place, item_id = null, content_index, summary_index, part }: JsonObject): JsonObject[] {
    if (typeof place !== "number") return [];
    const isReasoning = summary_index !== undefined || (isObject(part) && part.type === "reasoning_text");
    const events = this.#announcedItem(place, item_id, isReasoning ? "reasoning" : "message");
    const parts = this.#items.get(place)?.parts;
    if (content_index !== undefined) parts?.add(`content_index ${content_index}`);
    if (summary_index !== undefined) parts?.add(`summary_index ${summary_index}`);
    return events;
  }

  #announcedItem(place: number, told: JsonValue, type: Said["item"]): JsonObject[] {
    if (this.#items.has(place)) return [];
    const id = told ?? ownId(type, place);
    const item: JsonObject =
      type === "message"
        ? { id, type, status: "in_progress", role: "assistant", content: [] }
        : { id, type, summary: [] };
    this.#begin(place, item);
    return [{ type: "response.output_item.added", output_index: place, item }];
  }

  /** #end returns what an item that ends lacks before. */
  #end(place: JsonValue | undefined, item: JsonObject): JsonObject[] {
    if (typeof place !== "number") return [];
    const begun = this.#items.get(place);
    if (begun) {
      begun.hasEnded = true;
      return [];
    }
    this.#begin(place, item);
    (this.#items.get(place) as Begun).hasEnded = true;
    return [itemAdded(item, place)];
  }

  /** #rest returns what an item of the last event lacks before. Where another kind of item was in its place nobody knows. */
  #rest(item: JsonObject, place: number): JsonObject[] {
    const begun = this.#items.get(place);
    if (!begun) {
      const isElsewhere = item.id !== undefined && [...this.#items.values()].some(({ id }) => id === item.id);
      return isElsewhere ? [] : [itemAdded(item, place), itemDone(item, place)];
    }
    return begun.hasEnded || begun.type !== (item.type ?? null) ? [] : [itemDone(item, place)];
  }

  /** #placed returns a delta with the places of its item and its part. */
  #placed(event: JsonObject, { item, index }: Said): JsonObject {
    const { output_index: place, item_id: id } = event;
    const isPlaced = typeof place === "number";
    if (isPlaced && typeof event[index] === "number" && typeof id === "string") return event;
    const open = [...this.#items].filter(([, one]) => one.type === item && !one.hasEnded);
    const own = open.find(([, one]) => one.id === id) ?? (id === undefined ? open.at(-1) : undefined);
    const output_index = isPlaced ? place : (own?.[0] ?? this.#next());
    const item_id = id ?? this.#items.get(output_index)?.id ?? ownId(item, output_index);
    return { ...event, item_id, output_index, [index]: event[index] ?? 0 };
  }

  #next(): number {
    return Math.max(-1, ...this.#items.keys()) + 1;
  }

  /** #announced returns the beginnings that a delta lacks. */
  #announced(delta: JsonObject, { item: type, index, added, part }: Said): JsonObject[] {
    const { item_id: id = null, output_index } = delta;
    const place = output_index as number;
    const events = this.#announcedItem(place, id, type);
    const { type: begun, parts } = this.#items.get(place) as Begun;
    const key = `${index} ${delta[index]}`;
    if (begun !== type || parts.has(key)) return events;
    parts.add(key);
    events.push({ type: added, item_id: id, output_index: place, [index]: delta[index] ?? 0, part });
    return events;
  }

  /** #numbered returns an event with a number behind the last one's: its server's own, where that is one. */
  #numbered(event: JsonObject): JsonObject {
    const { sequence_number: told } = event;
    const number = typeof told === "number" && told >= this.#number ? told : this.#number;
    this.#number = number + 1;
    return number === told ? event : { ...event, sequence_number: number };
  }
}

/** The text of an item that ends is not told once more before: it may be long. */
function itemAdded(item: JsonObject, output_index: number): JsonObject {
  return { type: "response.output_item.added", output_index, item: begunItem(item) };
}

function itemDone(item: JsonObject, output_index: number): JsonObject {
  return { type: "response.output_item.done", output_index, item };
}
