/**
 * The items of a streamed response while they come → the deltas of a chat message.
 *
 * Of each it is known how much has been told, so that what comes only at its end, or only in the whole response, is told once.
 */
import { isObject, type JsonObject, type JsonValue, textOrEmpty } from "../../../wire/json.ts";
import { type AnswerContext, callOf, isCall, reasoningBlock, reasoningIn, sourcesIn, textIn } from "./parts.ts";

interface OpenItem {
  /** How much of its text, its refusal, its reasoning or its input has been told, in characters. */
  text: number;
  refusal: number;
  reasoning: number;
  /** How many of its sources have been told. */
  sources: number;
  /** The part of the summary that was told last. */
  summary: JsonValue;
  /** Among calls, its place. */
  call: number | undefined;
  isCustom: boolean;
  hasEnded: boolean;
}

export class OpenItems {
  readonly #reading: AnswerContext;
  /** By their place in the output, or their id where that is not told. */
  readonly #items = new Map<JsonValue, OpenItem>();
  #calls = 0;
  #hasReasoned = false;

  constructor(context: AnswerContext) {
    this.#reading = context;
  }

  /** How many calls there are so far. */
  get calls(): number {
    return this.#calls;
  }

  begin(item: JsonObject, event: JsonObject): JsonObject | undefined {
    const open = this.#openFor(event, item.id);
    if (!isCall(item) || open.call !== undefined) return undefined;
    open.call = this.#calls++;
    open.isCustom = item.type === "custom_tool_call";
    return this.#callDelta(open, callOf(item, false));
  }

  /** Returns what of the item has not been told. */
  end(item: JsonObject, event: JsonObject): JsonObject[] {
    const open = this.#openFor(event, item.id);
    const begun = this.begin(item, event);
    open.hasEnded = true;
    return [begun, ...this.#restOf(item, open)].filter((delta) => delta !== undefined);
  }

  /** Returns what of the whole output has not been told: nothing, of most servers. */
  missing(output: JsonValue | undefined): JsonObject[] {
    if (!Array.isArray(output)) return [];
    return output.flatMap((item, output_index) => {
      if (!isObject(item)) return [];
      const known = this.#items.get(output_index) ?? this.#items.get(item.id ?? null);
      return known?.hasEnded ? [] : this.end(item, { output_index });
    });
  }

  text(event: JsonObject): JsonObject | undefined {
    const delta = textOrEmpty(event.delta);
    this.#openFor(event, event.item_id).text += delta.length;
    return delta === "" ? undefined : { content: delta };
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
      const whole = open.isCustom ? textOrEmpty(item.input) : textOrEmpty(item.arguments);
      return [this.#inputDelta(open, whole.slice(open.text))];
    }
    if (type === "message") {
      const text = textIn(content, ["output_text", "text"], "text").slice(open.text);
      const refusal = textIn(content, ["refusal"], "refusal").slice(open.refusal);
      open.text += text.length;
      return [
        text === "" ? undefined : { content: text },
        refusal === "" ? undefined : { refusal },
        this.#sourcesDelta(open, allSourcesIn(content).slice(open.sources)),
      ];
    }
    if (type !== "reasoning") return [];
    const rest = open.reasoning > 0 ? undefined : this.#thought(open, reasoningIn(item), null);
    const block = reasoningBlock(item, this.#calls, this.#reading.maker);
    return [rest, block && { thinking_blocks: [block] }];
  }

  /** What is shown of the reasoning comes in parts, and in items: between two of them stands an empty line. */
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

  /** A caller of the oldest form knows one call. */
  #callDelta({ call: index = 0 }: OpenItem, piece: JsonObject): JsonObject | undefined {
    if (!this.#reading.isLegacy) return { tool_calls: [{ index, ...piece }] };
    return index === 0 && isObject(piece.function) ? { function_call: piece.function } : undefined;
  }

  #openFor({ output_index: place = null }: JsonObject, id: JsonValue | undefined): OpenItem {
    const key = place ?? id ?? null;
    const known = this.#items.get(key);
    if (known) return known;
    const nothing = { text: 0, refusal: 0, reasoning: 0, sources: 0 };
    const open = { ...nothing, summary: null, call: undefined, isCustom: false, hasEnded: false };
    this.#items.set(key, open);
    return open;
  }
}

function allSourcesIn(content: JsonValue | undefined): JsonObject[] {
  const parts = Array.isArray(content) ? content.filter(isObject) : [];
  return parts.flatMap(({ annotations }) => sourcesIn(annotations));
}
