/**
 * Numbers the blocks of a streamed message in the order in which they begin, as Anthropic does. Some servers give several blocks one
 * index, leave indices out, or give none: clients would join blocks or lose them.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";

export class BlockNumbers {
  /** The number of the last block with this index. */
  readonly #numbers = new Map<JsonValue, number>();
  #next = 0;

  /** numbered returns the event with its block's number; the same event where the number is right, or there is no block. */
  numbered(event: JsonObject): JsonObject {
    const number = this.#numberOf(event);
    return number === undefined || number === event.index ? event : { ...event, index: number };
  }

  #numberOf({ type, index = null, delta }: JsonObject): number | undefined {
    if (type === "content_block_start") return this.#begin(index);
    if (type !== "content_block_delta" && type !== "content_block_stop") return undefined;
    // A text may come without its block being announced.
    return this.#numbers.get(index) ?? (saysItsBlock(delta) ? this.#begin(index) : undefined);
  }

  #begin(index: JsonValue): number {
    this.#numbers.set(index, this.#next);
    return this.#next++;
  }
}

function saysItsBlock(delta: JsonValue | undefined): boolean {
  const { type } = (delta ?? {}) as JsonObject;
  return type === "text_delta" || type === "thinking_delta";
}
