/** ResponseItem is an item of a response that is made of the pieces of a chat. */
import type { JsonObject } from "../../../wire/json.ts";
import { eventsOfItem } from "../../responses/frames.ts";
import { TextBuilder } from "../../responses/open-item.ts";
import { ownId } from "../../responses/usual-items.ts";

/** AnyItem says what an item is. Only calls have an id of their own and a name. */
export interface AnyItem {
  readonly kind: "message" | "refusal" | "reasoning" | "function" | "custom";
  readonly id: string;
  readonly name: string;
}

const deltas = {
  message: "response.output_text.delta",
  refusal: "response.refusal.delta",
  reasoning: "response.reasoning_text.delta",
  function: "response.function_call_arguments.delta",
  custom: "response.custom_tool_call_input.delta",
} as const;

export class ResponseItem {
  readonly kind: AnyItem["kind"];
  readonly #call: Pick<AnyItem, "id" | "name">;
  readonly #place: number;
  readonly #said = new TextBuilder();
  #hasEnded = false;

  constructor({ kind, id, name }: AnyItem, place: number) {
    this.kind = kind;
    this.#call = { id, name };
    this.#place = place;
  }

  /** begin returns the events before the first piece. */
  begin(): JsonObject[] {
    return this.#events("in_progress").filter(({ type }) => `${type}`.endsWith(".added"));
  }

  /** add takes the next piece, and returns its event. */
  add(piece: string): JsonObject[] {
    if (piece === "") return [];
    this.#said.add(piece);
    const isCall = this.kind === "function" || this.kind === "custom";
    const at = isCall ? {} : { content_index: 0 };
    const more = this.kind === "message" ? { logprobs: [] } : {};
    return [{ type: deltas[this.kind], item_id: this.#id, output_index: this.#place, ...at, delta: piece, ...more }];
  }

  /** end returns the events behind the last piece; nothing where they have been returned. */
  end(): JsonObject[] {
    if (this.#hasEnded) return [];
    this.#hasEnded = true;
    return this.#events("completed").filter(({ type }) => `${type}`.endsWith(".done"));
  }

  /** whole returns the item as far as it has come. */
  whole(status: string): JsonObject {
    const text = this.#said.toString();
    const id = this.#id;
    switch (this.kind) {
      case "message":
        return message(id, status, { type: "output_text", text, annotations: [], logprobs: [] });
      case "refusal":
        return message(id, status, { type: "refusal", refusal: text });
      case "reasoning":
        return { id, type: "reasoning", summary: [], content: [{ type: "reasoning_text", text }] };
      case "function":
        return { id, type: "function_call", status, call_id: this.#call.id, name: this.#call.name, arguments: text };
      case "custom":
        return { id, type: "custom_tool_call", status, call_id: this.#call.id, name: this.#call.name, input: text };
    }
  }

  get #id(): string {
    if (this.kind === "function") return `fc_${this.#place}`;
    if (this.kind === "custom") return `ctc_${this.#place}`;
    return ownId(this.kind === "reasoning" ? "reasoning" : "message", this.#place);
  }

  #events(status: string): JsonObject[] {
    return eventsOfItem(this.whole(status), this.#place);
  }
}

function message(id: string, status: string, part: JsonObject): JsonObject {
  return { id, type: "message", status, role: "assistant", content: [part] };
}
