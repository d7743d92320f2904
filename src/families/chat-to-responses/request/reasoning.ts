/**
 * The reasoning of an earlier turn → items of reasoning.
 *
 * Reasoning that a vendor encrypted goes back to that vendor only, unchanged. A server that takes reasoning as text gets
 * text. Reasoning that nothing follows is dropped: vendors refuse it.
 */
import { makerOf, type SealedReasoning, unsealReasoning } from "../../../providers/profile/reasoning-seal.ts";
import {
  definedFields,
  isObject,
  type JsonObject,
  type JsonValue,
  listOrEmpty,
  textOrEmpty,
} from "../../../wire/json.ts";
import type { Dropped } from "../../paths/dropped.ts";
import type { ReasoningItems } from "../../translation.ts";

interface PastItem {
  readonly item: JsonObject;
  /** Number of calls before it. */
  readonly calls: number;
  readonly path: string;
}

export class PastReasoning {
  readonly #dropped: Dropped;
  #left: PastItem[];

  /** `path` is the message's. */
  constructor(message: JsonObject, path: string, reasoning: ReasoningItems | undefined, dropped: Dropped) {
    this.#dropped = dropped;
    const blocks = listOrEmpty(message.thinking_blocks);
    this.#left = blocks.flatMap((block, i) => this.#sealed(block, `${path}.thinking_blocks[${i}]`, reasoning));
    if (this.#left.length === 0) this.#left = this.#plain(message, path, reasoning);
  }

  /** Returns the reasoning that came before this many calls. `isFollowed` says that something follows it. */
  before(calls: number, isFollowed: boolean): JsonObject[] {
    if (!isFollowed) return [];
    const now = this.#left.filter((thought) => thought.calls <= calls);
    this.#left = this.#left.filter((thought) => thought.calls > calls);
    return now.map(({ item }) => item);
  }

  /** Names the reasoning that nothing follows. */
  dropRest(): void {
    for (const { path } of this.#left) this.#dropped.add(path);
  }

  #sealed(block: JsonValue, path: string, reasoning: ReasoningItems | undefined): PastItem[] {
    const { type, thinking, signature, data } = isObject(block) ? block : {};
    const sealed = unsealReasoning(type === "redacted_thinking" ? data : signature);
    if (sealed && sealed.maker === makerOf(reasoning?.upstream ?? "")) {
      return [{ item: itemOf(sealed, textOrEmpty(thinking)), calls: sealed.calls, path }];
    }
    this.#dropped.add(path);
    return [];
  }

  #plain(message: JsonObject, path: string, reasoning: ReasoningItems | undefined): PastItem[] {
    const key = typeof message.reasoning_content === "string" ? "reasoning_content" : "reasoning";
    const text = textOrEmpty(message[key]);
    if (text === "") return [];
    const where = `${path}.${key}`;
    if (reasoning && reasoning.taken !== "encrypted") {
      const content = [{ type: "reasoning_text", text }];
      return [{ item: { type: "reasoning", summary: [], content }, calls: 0, path: where }];
    }
    this.#dropped.add(where);
    return [];
  }
}

function itemOf({ id, encrypted }: SealedReasoning, thinking: string): JsonObject {
  const summary = thinking === "" ? [] : [{ type: "summary_text", text: thinking }];
  return definedFields({ type: "reasoning", id: id || undefined, summary, encrypted_content: encrypted });
}
