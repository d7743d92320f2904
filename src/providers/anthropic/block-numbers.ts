/**
 * Numbers the blocks of a streamed message in the order in which they begin, as Anthropic does. Some servers give several blocks one
 * index, leave indices out, or give none: clients would join blocks or lose them.
 */
import type { JsonValue } from "@bufbuild/protobuf";

export class BlockNumbers {
  /** The number of the last block with this index. */
  readonly #numbers = new Map<JsonValue, number>();
  #next = 0;

  /** begin returns the number of a block that begins. `index` is the server's, null without one. */
  begin(index: JsonValue): number {
    this.#numbers.set(index, this.#next);
    return this.#next++;
  }

  /** of returns the number of the last block that began with the index; undefined without one. */
  of(index: JsonValue): number | undefined {
    return this.#numbers.get(index);
  }
}
