/** MessageItem holds the model's message: text with sources and log probabilities, and a refusal, each a part. */
import type { Annotation, LogProbs } from "../../../../gen/modelgateway/v1/chat_pb.ts";
import type { JsonObject, JsonValue } from "../../../wire/json.ts";
import { added, done, type Item, type ItemStatus } from "./items.ts";
import { logprobsIn, sourcesIn } from "./sources.ts";

interface Part {
  readonly type: "output_text" | "refusal";
  text: string;
  readonly annotations: JsonValue[];
  /** The annotations that have been told, as JSON: some servers tell all so far with each chunk. */
  readonly told: Set<string>;
  readonly logprobs: JsonValue[];
}

export class MessageItem implements Item {
  readonly #index: number;
  readonly #id: string;
  readonly #ended: JsonObject[] = [];
  #part: Part | undefined;
  #signature = "";

  constructor(index: number, answerId: string) {
    this.#index = index;
    this.#id = `msg_${answerId}_${index}`;
  }

  /**
   * Sets the sealed signature of the text, which stands beside the content as in chat. Callers send it back unread.
   */
  sign(sealed: string): void {
    this.#signature = sealed;
  }

  begin(): JsonObject[] {
    return [added(this, this.#index)];
  }

  say(delta: string, tokens: LogProbs | undefined): JsonObject[] {
    if (delta === "") return [];
    const [begun, part] = this.#partOf("output_text");
    const logprobs = logprobsIn(tokens);
    part.text += delta;
    part.logprobs.push(...logprobs);
    return [...begun, this.#event("response.output_text.delta", { delta, logprobs })];
  }

  refuse(delta: string): JsonObject[] {
    if (delta === "") return [];
    const [begun, part] = this.#partOf("refusal");
    part.text += delta;
    return [...begun, this.#event("response.refusal.delta", { delta })];
  }

  /** Adds sources of the text so far. */
  cite(sources: readonly Annotation[]): JsonObject[] {
    const part = this.#part;
    if (part?.type !== "output_text") return [];
    return this.#annotate(part, sourcesIn(sources));
  }

  #annotate(part: Part, annotations: readonly JsonObject[]): JsonObject[] {
    return annotations.flatMap((annotation) => {
      const written = JSON.stringify(annotation);
      if (part.told.has(written)) return [];
      part.told.add(written);
      const annotation_index = part.annotations.push(annotation) - 1;
      return [this.#event("response.output_text.annotation.added", { annotation_index, annotation })];
    });
  }

  end(status: ItemStatus): JsonObject[] {
    return [...this.#endPart(), done(this, this.#index, status)];
  }

  json(status: ItemStatus): JsonObject {
    const item = { id: this.#id, type: "message", status, role: "assistant", content: [...this.#ended] };
    if (this.#signature === "") return item;
    return { ...item, extra_content: { google: { thought_signature: this.#signature } } };
  }

  #partOf(type: Part["type"]): [events: JsonObject[], part: Part] {
    if (this.#part?.type === type) return [[], this.#part];
    const ended = this.#endPart();
    const part: Part = { type, text: "", annotations: [], told: new Set(), logprobs: [] };
    this.#part = part;
    return [[...ended, this.#event("response.content_part.added", { part: partJson(part) })], part];
  }

  #endPart(): JsonObject[] {
    if (!this.#part) return [];
    const { type, text, logprobs } = this.#part;
    const part = partJson(this.#part);
    const whole =
      type === "refusal"
        ? this.#event("response.refusal.done", { refusal: text })
        : this.#event("response.output_text.done", { text, logprobs });
    const events = [whole, this.#event("response.content_part.done", { part })];
    this.#ended.push(part);
    this.#part = undefined;
    return events;
  }

  #event(type: string, more: JsonObject): JsonObject {
    const content_index = this.#ended.length;
    return { type, item_id: this.#id, output_index: this.#index, content_index, ...more };
  }
}

function partJson({ type, text, annotations, logprobs }: Part): JsonObject {
  if (type === "refusal") return { type, refusal: text };
  return { type, text, annotations: [...annotations], logprobs: [...logprobs] };
}
