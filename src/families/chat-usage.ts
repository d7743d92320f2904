/**
 * The usage of a chat answer for translations: the same parts that the call is charged for, whatever its upstream calls them.
 */
import type { DescMessage } from "@bufbuild/protobuf";
import type { ChatUsage } from "../../gen/modelgateway/v1/chat_pb.ts";
import { ChatUsageReader } from "../providers/usage/chat-counts.ts";
import { maxCount } from "../providers/usage/count.ts";
import type { Wire } from "../wire/wire.ts";

/** Parts that do not overlap; of what was not told there is none. */
export interface UsageParts {
  readonly input: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  /** Output tokens, reasoning in them. */
  readonly output: number;
  readonly reasoning: number;
}

/** What may hold a usage: a chat answer, or a chunk of one. */
interface MayHaveUsage extends DescMessage {}

/** Follows the usage of one answer. */
export class ChatUsageTracker {
  readonly #counts = new ChatUsageReader();
  #hasTold = false;

  /** Takes an answer, or a chunk of one. What was born as a message is made JSON only where it tells a usage. */
  take(answer: Wire<MayHaveUsage>, usage: ChatUsage | undefined): void {
    if (usage === undefined && answer.isMessageOnly()) return;
    if (this.#counts.take(answer.json())) this.#hasTold = true;
  }

  /** Whether any usage was told. */
  get hasUsage(): boolean {
    return this.#hasTold;
  }

  /** Whether anything was told of the reasoning. */
  get hasReasoning(): boolean {
    return this.#counts.hasReasoning;
  }

  /** What was told so far. */
  get parts(): UsageParts {
    const { input, cacheRead, cacheWrite, output, reasoning } = this.#counts.reported;
    return {
      input: boundedCount(input),
      cacheRead: boundedCount(cacheRead),
      cacheWrite: boundedCount(cacheWrite),
      output: boundedCount(output),
      reasoning: boundedCount(reasoning),
    };
  }
}

/** As much of a count as is charged. */
export function boundedCount(count = 0): number {
  return Math.min(count, maxCount);
}

/** Returns all input, what was read from a cache and written to it among it. */
export function totalInput({ input, cacheRead, cacheWrite }: UsageParts): number {
  return input + cacheRead + cacheWrite;
}
