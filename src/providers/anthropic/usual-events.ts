/**
 * Completes the events of a streamed message to those that Anthropic sends: the message begins before its blocks, a block before what it
 * says, each block ends before the message does, and what a block says stands in deltas. What belongs to no block is left out.
 *
 * Anthropic's SDKs throw at a delta without its block, and agents take no text and no input from the beginning of a block.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { ToolInput } from "../../call/tools/tool-input.ts";
import { isObject, listOrEmpty, scalarText, textOrEmpty } from "../../wire/json.ts";
import { BlockNumbers } from "./block-numbers.ts";
import { beginningOf } from "./frames.ts";
import { completeBlock } from "./usual-block.ts";

interface OpenBlock {
  /** The type, where the server did not announce the block. */
  readonly unannounced: JsonValue | undefined;
  /** The deltas for what the server put into the beginning of the block. They are sent before its end, unless it repeats them. */
  untold: readonly JsonObject[];
  /** The input of a call, as it is told; undefined while nothing of one has come. */
  input: ToolInput | undefined;
}

export class UsualEvents {
  readonly #head: JsonObject;
  readonly #numbers = new BlockNumbers();
  /** By number, in the order in which they began. */
  readonly #open = new Map<number, OpenBlock>();
  #hasBegun = false;

  /** `head` is for a message that does not begin. */
  constructor(head: JsonObject) {
    this.#head = { ...head, content: [], stop_reason: null, stop_sequence: null };
  }

  /** take returns the events that a caller is sent for one. */
  take(event: JsonObject): readonly JsonObject[] {
    switch (event.type) {
      case "message_start":
        this.#hasBegun = true;
        return [this.#whole(event)];
      case "content_block_start":
        return this.#begin(event);
      case "content_block_delta":
        return this.#say(event);
      case "content_block_stop":
        return this.#end(event);
      case "message_delta":
        return this.#begun([...this.rest(), event]);
      case "message_stop":
        return [...this.rest(), event];
    }
    return [event];
  }

  /** isWithinInput is whether a call is open whose input cannot be all of it. */
  get isWithinInput(): boolean {
    return [...this.#open.values()].some(({ input }) => input?.isUnderWay);
  }

  /** rest returns what open blocks lack at the end of the message. */
  rest(): JsonObject[] {
    return [...this.#open.keys()].flatMap((number) => this.#ended(number, { type: "content_block_stop" }));
  }

  #whole(event: JsonObject): JsonObject {
    const { message } = event;
    const told = isObject(message) ? message : {};
    const lacking = Object.keys(this.#head).filter((key) => told[key] === undefined);
    const isUsable = Array.isArray(told.content) && lacking.length === 0;
    if (isUsable) return event;
    const content = listOrEmpty(told.content);
    return { ...event, message: { ...this.#head, ...told, content } };
  }

  /** #begun returns the events behind the beginning of the message, where that has not come. */
  #begun(events: readonly JsonObject[]): readonly JsonObject[] {
    if (this.#hasBegun) return events;
    this.#hasBegun = true;
    return [{ type: "message_start", message: this.#head }, ...events];
  }

  #begin(event: JsonObject): readonly JsonObject[] {
    const { content_block: block, index = null } = event;
    // The first delta says what block it is.
    if (!isObject(block)) return [];
    const number = this.#numbers.begin(index);
    const { begun, untold } = beginningOf(completeBlock(block));
    this.#open.set(number, { unannounced: undefined, untold, input: undefined });
    return this.#begun([numbered(begun === block ? event : { ...event, content_block: begun }, number)]);
  }

  #say(event: JsonObject): readonly JsonObject[] {
    const typed = withType(event);
    const { index = null, delta } = typed;
    // SDKs throw at an event without a delta, and write a null text as the word "null".
    if (!isObject(delta) || saysNull(delta)) return [];
    const kind = blockTypeOf(delta);
    let number = this.#numberOf(index);
    let block = number === undefined ? undefined : this.#open.get(number);
    const isOther = block?.unannounced !== undefined && kind !== undefined && kind !== block.unannounced;
    const before: JsonObject[] = [];
    if (kind !== undefined && (number === undefined || isOther)) {
      if (number !== undefined) before.push(...this.#ended(number, { type: "content_block_stop" }));
      number = this.#numbers.begin(index);
      block = { unannounced: kind, untold: [], input: undefined };
      this.#open.set(number, block);
      const content_block = completeBlock({ type: kind });
      before.push({ type: "content_block_start", index: number, content_block });
    }
    if (number === undefined) return [];
    if (block === undefined) return this.#begun([numbered(typed, number)]);
    const told = toldOnce(block, typed);
    if (told === undefined) return this.#begun(before);
    if (block.untold.length > 0 && says(delta)) {
      if (!isRepeated(block.untold, delta)) before.push(...saidIn(block.untold, number));
      block.untold = [];
    }
    return this.#begun([...before, numbered(told, number)]);
  }

  #end(event: JsonObject): readonly JsonObject[] {
    const number = this.#numberOf(event.index ?? null);
    return number === undefined ? [] : this.#ended(number, event);
  }

  /** #numberOf returns the number of the block that an index means: without one, the block that was begun last and is open. */
  #numberOf(index: JsonValue): number | undefined {
    return this.#numbers.of(index) ?? (index === null ? [...this.#open.keys()].at(-1) : undefined);
  }

  /** #ended returns what a block lacks and its end; nothing where it is not open. */
  #ended(number: number, end: JsonObject): readonly JsonObject[] {
    const block = this.#open.get(number);
    if (!block) return [];
    this.#open.delete(number);
    const rest = block.untold.length > 0 ? "" : (block.input?.rest() ?? "");
    const held = rest === "" ? block.untold : [{ type: "input_json_delta", partial_json: rest }];
    return [...saidIn(held, number), numbered(end, number)];
  }
}

/**
 * toldOnce returns the event with what its piece of an input adds to the call; undefined where that is nothing. Some servers send an empty
 * object before the input, or the input once more, or as an object.
 */
function toldOnce(block: OpenBlock, event: JsonObject): JsonObject | undefined {
  const { delta } = event;
  if (!isObject(delta) || delta.type !== "input_json_delta") return event;
  const { partial_json: sent = "" } = delta;
  const piece = typeof sent === "object" && sent !== null ? JSON.stringify(sent) : textOrEmpty(sent);
  if (piece === "") return event;
  block.input ??= new ToolInput();
  const partial_json = block.input.add(piece);
  if (partial_json === sent) return event;
  return partial_json === "" ? undefined : { ...event, delta: { ...delta, partial_json } };
}

function numbered(event: JsonObject, index: number): JsonObject {
  return event.index === index ? event : { ...event, index };
}

function saidIn(deltas: readonly JsonObject[], index: number): JsonObject[] {
  return deltas.map((delta) => ({ type: "content_block_delta", index, delta }));
}

/** The member of each delta that says something. */
const members: ReadonlyMap<JsonValue | undefined, string> = new Map([
  ["text_delta", "text"],
  ["thinking_delta", "thinking"],
  ["input_json_delta", "partial_json"],
]);

/** withType returns the event with its delta's type, which some servers leave out, and a text that a server has parsed as a number as text. */
function withType(event: JsonObject): JsonObject {
  const { delta } = event;
  if (!isObject(delta)) return event;
  const isTyped = typeof delta.type === "string";
  const type = isTyped ? delta.type : [...members].find(([, member]) => (delta[member] ?? null) !== null)?.[0];
  const member = members.get(type) ?? "";
  const parsed = scalarText(delta[member]);
  if (type === undefined || (isTyped && parsed === "")) return event;
  return { ...event, delta: { ...delta, type, ...(parsed === "" ? {} : { [member]: parsed }) } };
}

/** blockTypes are the types of the blocks that deltas say something of. A call that begins with its input has no name. */
const blockTypes: ReadonlyMap<JsonValue | undefined, string> = new Map([
  ...["text_delta", "citations_delta"].map((type) => [type, "text"] as const),
  ...["thinking_delta", "signature_delta"].map((type) => [type, "thinking"] as const),
  ["input_json_delta", "tool_use"],
]);

/** blockTypeOf returns the type of the block that a delta says; undefined for an input of nothing, which servers send for any block. */
function blockTypeOf(delta: JsonObject): string | undefined {
  return delta.type === "input_json_delta" && !says(delta) ? undefined : blockTypes.get(delta.type);
}

function says(delta: JsonObject): boolean {
  const member = members.get(delta.type);
  return member === undefined || isObject(delta[member]) || textOrEmpty(delta[member]) !== "";
}

/** saysNull reports whether a delta has null, nothing, or what is no text where it should have one. An input may be an object. */
function saysNull(delta: JsonObject): boolean {
  const member = members.get(delta.type);
  if (member === undefined) return false;
  return delta.type === "input_json_delta" ? (delta[member] ?? null) === null : typeof delta[member] !== "string";
}

/** isRepeated reports whether a delta says once more what the beginning of its block said: an input does so always, as one JSON. */
function isRepeated([untold]: readonly JsonObject[], delta: JsonObject): boolean {
  if (untold === undefined || delta.type !== untold.type) return false;
  if (delta.type === "input_json_delta") return true;
  const member = members.get(delta.type);
  return member !== undefined && textOrEmpty(delta[member]).startsWith(textOrEmpty(untold[member]));
}
