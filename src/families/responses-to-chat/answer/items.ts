/**
 * The items of an answer, from their beginning to their end → their events.
 *
 * Each item writes its own events, without sequence numbers, and returns itself as JSON at any time. Its id contains
 * the answer's, so that it can be found again.
 */
import { definedFields, type JsonObject, type JsonValue } from "../../../wire/json.ts";
import { sealed } from "../seal.ts";

export type ItemStatus = "in_progress" | "completed" | "incomplete";

/** Item has begun. */
export interface Item {
  begin(): JsonObject[];
  end(status: ItemStatus): JsonObject[];
  /** Returns the item in its current state. */
  json(status: ItemStatus): JsonObject;
}

export function added(item: Item, output_index: number): JsonObject {
  return { type: "response.output_item.added", output_index, item: item.json("in_progress") };
}

export function done(item: Item, output_index: number, status: ItemStatus): JsonObject {
  return { type: "response.output_item.done", output_index, item: item.json(status) };
}

/**
 * ReasoningItem has all visible reasoning as one summary. `isSealedAnyway`: it has a seal at its end even if nobody has signed it, because
 * clients that ask for `reasoning.encrypted_content` throw reasoning without that away, or refuse to go on.
 */
export class ReasoningItem implements Item {
  readonly #index: number;
  readonly #id: string;
  readonly #isSealedAnyway: boolean;
  #text = "";
  readonly #blocks: JsonValue[] = [];

  constructor(index: number, answerId: string, isSealedAnyway: boolean) {
    this.#index = index;
    this.#id = `rs_${answerId}_${index}`;
    this.#isSealedAnyway = isSealedAnyway;
  }

  begin(): JsonObject[] {
    return [added(this, this.#index)];
  }

  say(delta: string): JsonObject[] {
    if (delta === "") return [];
    const part = { type: "summary_text", text: "" };
    const opening = this.#text === "" ? [this.#event("response.reasoning_summary_part.added", { part })] : [];
    this.#text += delta;
    return [...opening, this.#event("response.reasoning_summary_text.delta", { delta })];
  }

  get isSealed(): boolean {
    return this.#blocks.length > 0;
  }

  /** Keeps the vendor's signed blocks. */
  seal(blocks: readonly JsonValue[]): void {
    this.#blocks.push(...blocks);
  }

  end(status: ItemStatus): JsonObject[] {
    const text = this.#text;
    const part = { type: "summary_text", text };
    const closing = [
      this.#event("response.reasoning_summary_text.done", { text }),
      this.#event("response.reasoning_summary_part.done", { part }),
    ];
    return [...(text === "" ? [] : closing), done(this, this.#index, status)];
  }

  json(status: ItemStatus): JsonObject {
    const isSealed = this.isSealed || (this.#isSealedAnyway && status !== "in_progress");
    return definedFields({
      id: this.#id,
      type: "reasoning",
      status,
      summary: this.#text === "" ? [] : [{ type: "summary_text", text: this.#text }],
      encrypted_content: isSealed ? sealed(this.#blocks) : undefined,
    });
  }

  #event(type: string, more: JsonObject): JsonObject {
    return { type, item_id: this.#id, output_index: this.#index, summary_index: 0, ...more };
  }
}

/** ImageItem is an image that the model made, in base64. It is complete from the start. */
export class ImageItem implements Item {
  readonly #index: number;
  readonly #id: string;
  readonly #image: ImageData;

  constructor(index: number, answerId: string, image: ImageData) {
    this.#index = index;
    this.#id = `ig_${answerId}_${index}`;
    this.#image = image;
  }

  begin(): JsonObject[] {
    return [added(this, this.#index)];
  }

  end(): JsonObject[] {
    const event = { type: "response.image_generation_call.completed", item_id: this.#id, output_index: this.#index };
    return [event, done(this, this.#index, "completed")];
  }

  json(status: ItemStatus): JsonObject {
    const item = { id: this.#id, type: "image_generation_call", status };
    if (status === "in_progress") return { ...item, result: null };
    return { ...item, result: this.#image.base64, output_format: this.#image.format };
  }
}

export interface ImageData {
  /** The subtype of its media type, as `png`. */
  readonly format: string;
  readonly base64: string;
}

const dataUrl = /^data:image\/([\w.+-]+)(?:;[^,]*)?;base64,/i;

/** imageData returns the image of an address of data; undefined for any other address. */
export function imageData(url: string): ImageData | undefined {
  const [head, format = ""] = dataUrl.exec(url) ?? [];
  return head === undefined ? undefined : { format: format.toLowerCase(), base64: url.slice(head.length) };
}
