/**
 * The items of a streamed response as they come → the deltas of a chat message.
 *
 * Each item tracks how much of it was passed on, so that what comes only at its end, or only in the final response,
 * is passed on once.
 */
import { isFilledText, isObject, type JsonObject, type JsonValue, objectsIn, textOrEmpty } from "../../../wire/json.ts";
import {
  type AnswerContext,
  argumentsIn,
  betweenMessages,
  callOf,
  isCall,
  reasoningBlock,
  reasoningIn,
  sourcesIn,
  textIn,
} from "./parts.ts";

interface OpenItem {
  /** Undefined where the item was not announced. */
  type: JsonValue | undefined;
  /** Characters passed on so far: of text or input, of refusal, of reasoning. */
  text: number;
  refusal: number;
  reasoning: number;
  /** Number of sources passed on. */
  sources: number;
  /** The summary part that was passed on last. */
  summary: JsonValue;
  /** The call's index; undefined for other items. */
  call: number | undefined;
  isCustom: boolean;
  hasEnded: boolean;
}

export class OpenItems {
  readonly #context: AnswerContext;
  /** By output index, or by id where there is none. */
  readonly #items = new Map<JsonValue, OpenItem>();
  readonly #byId = new Map<JsonValue, OpenItem>();
  #calls = 0;
  #hasReasoned = false;
  /** The item that wrote last. */
  #writer: OpenItem | undefined;

  constructor(context: AnswerContext) {
    this.#context = context;
  }

  /** Number of calls so far. */
  get calls(): number {
    return this.#calls;
  }

  begin(item: JsonObject, event: JsonObject): JsonObject | undefined {
    const open = this.#openFor(event, item.id);
    open.type = item.type;
    // The end of a call that begins without its name says it: clients begin a call by that.
    return isCall(item) && !isFilledText(item.name) ? undefined : this.#beginIn(open, item);
  }

  #beginIn(open: OpenItem, item: JsonObject): JsonObject | undefined {
    open.type = item.type;
    if (!isCall(item) || open.call !== undefined) return undefined;
    open.call = this.#calls++;
    open.isCustom = item.type === "custom_tool_call";
    return this.#callDelta(open, callOf(item, false));
  }

  /** Ends an item. Returns the deltas of what was not passed on. */
  end(item: JsonObject, event: JsonObject): JsonObject[] {
    return this.#endOf(item, this.#openFor(event, item.id));
  }

  #endOf(item: JsonObject, open: OpenItem): JsonObject[] {
    const begun = this.#beginIn(open, item);
    open.hasEnded = true;
    return [begun, ...this.#restOf(item, open)].filter((delta) => delta !== undefined);
  }

  /** Returns the deltas of what the final output adds: none, for most servers. */
  missing(output: JsonValue | undefined): JsonObject[] {
    if (!Array.isArray(output)) return [];
    return output.flatMap((item, output_index) => {
      if (!isObject(item)) return [];
      const known = this.#knownAs(item, output_index);
      if (known?.hasEnded) return [];
      return this.#endOf(item, known ?? this.#opened(item.id ?? null));
    });
  }

  /** The final output may lack items, so that another one is in this place. */
  #knownAs({ id, type }: JsonObject, place: number): OpenItem | undefined {
    const named = id === undefined ? undefined : this.#byId.get(id);
    if (named) return named;
    const placed = this.#items.get(place);
    return placed && (placed.type === undefined || placed.type === type) ? placed : undefined;
  }

  text(event: JsonObject): JsonObject | undefined {
    return this.#written(this.#openFor(event, event.item_id), textOrEmpty(event.delta));
  }

  #written(open: OpenItem, text: string): JsonObject | undefined {
    if (text === "") return undefined;
    const isNext = this.#writer !== undefined && this.#writer !== open;
    this.#writer = open;
    open.text += text.length;
    return { content: isNext ? betweenMessages + text : text };
  }

  refusal(event: JsonObject): JsonObject | undefined {
    const delta = textOrEmpty(event.delta);
    this.#openFor(event, event.item_id).refusal += delta.length;
    return delta === "" ? undefined : { refusal: delta };
  }

  reasoning(event: JsonObject): JsonObject | undefined {
    return this.#thought(this.#openFor(event, event.item_id), textOrEmpty(event.delta), event.summary_index ?? null);
  }

  /** Takes a source of a text. */
  cite(event: JsonObject): JsonObject | undefined {
    const { annotation = null } = event;
    return this.#sourcesDelta(this.#openFor(event, event.item_id), sourcesIn([annotation]));
  }

  input(event: JsonObject): JsonObject | undefined {
    const open = this.#openFor(event, event.item_id);
    return this.#inputDelta(open, textOrEmpty(event.delta));
  }

  #restOf(item: JsonObject, open: OpenItem): (JsonObject | undefined)[] {
    const { type, content } = item;
    if (isCall(item)) {
      const whole = open.isCustom ? textOrEmpty(item.input) : argumentsIn(item);
      return [this.#inputDelta(open, whole.slice(open.text))];
    }
    if (type === "message") {
      const text = textIn(content, ["output_text", "text"], "text").slice(open.text);
      const refusal = textIn(content, ["refusal"], "refusal").slice(open.refusal);
      return [
        this.#written(open, text),
        refusal === "" ? undefined : { refusal },
        this.#sourcesDelta(open, allSourcesIn(content).slice(open.sources)),
      ];
    }
    if (type !== "reasoning") return [];
    const rest = open.reasoning > 0 ? undefined : this.#thought(open, reasoningIn(item), null);
    const block = reasoningBlock(item, this.#calls, this.#context.maker);
    return [rest, block && { thinking_blocks: [block] }];
  }

  /** Separates parts and items of reasoning by an empty line. */
  #thought(open: OpenItem, delta: string, part: JsonValue): JsonObject | undefined {
    if (delta === "") return undefined;
    const isNext = open.reasoning === 0 ? this.#hasReasoned : part !== open.summary;
    open.reasoning += delta.length;
    open.summary = part;
    this.#hasReasoned = true;
    return { reasoning_content: isNext ? `\n\n${delta}` : delta };
  }

  #sourcesDelta(open: OpenItem, annotations: JsonObject[]): JsonObject | undefined {
    open.sources += annotations.length;
    return annotations.length === 0 ? undefined : { annotations };
  }

  #inputDelta(open: OpenItem, delta: string): JsonObject | undefined {
    if (delta === "" || open.call === undefined) return undefined;
    open.text += delta.length;
    return this.#callDelta(open, open.isCustom ? { custom: { input: delta } } : { function: { arguments: delta } });
  }

  /** A caller of the legacy form knows one call. */
  #callDelta({ call: index = 0 }: OpenItem, piece: JsonObject): JsonObject | undefined {
    if (!this.#context.isLegacy) return { tool_calls: [{ index, ...piece }] };
    return index === 0 && isObject(piece.function) ? { function_call: piece.function } : undefined;
  }

  #openFor({ output_index: place = null }: JsonObject, id: JsonValue | undefined): OpenItem {
    const key = place ?? id ?? null;
    const known = this.#items.get(key);
    if (known) return known;
    const open = this.#opened(id ?? null);
    this.#items.set(key, open);
    return open;
  }

  #opened(id: JsonValue): OpenItem {
    const nothing = { type: undefined, text: 0, refusal: 0, reasoning: 0, sources: 0 };
    const open = { ...nothing, summary: null, call: undefined, isCustom: false, hasEnded: false };
    if (id !== null && id !== "") this.#byId.set(id, open);
    return open;
  }
}

function allSourcesIn(content: JsonValue | undefined): JsonObject[] {
  const parts = objectsIn(content);
  return parts.flatMap(({ annotations }) => sourcesIn(annotations));
}
