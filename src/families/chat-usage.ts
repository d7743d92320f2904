/**
 * The usage of a chat answer for translations: the parts that the call is charged for, whatever the upstream names
 * them.
 */
import type { DescMessage } from "@bufbuild/protobuf";
import type { ChatUsage } from "../../gen/modelgateway/v1/chat_pb.ts";
import type { Usage } from "../call/usage.ts";
import { ChatUsageReader } from "../providers/usage/chat-counts.ts";
import { maxCount } from "../providers/usage/count.ts";
import type { Wire } from "../wire/wire.ts";

/** MayHaveUsage is a chat answer or a chunk. */
interface MayHaveUsage extends DescMessage {}

/** ChatUsageTracker tracks the usage of one answer. */
export class ChatUsageTracker {
  readonly #counts = new ChatUsageReader();
  #hasTold = false;

  /** Takes an answer or a chunk. A message that reports no usage is not converted to JSON. */
  take(answer: Wire<MayHaveUsage>, usage: ChatUsage | undefined): void {
    if (usage === undefined && answer.isMessageOnly()) return;
    if (this.#counts.take(answer.json())) this.#hasTold = true;
  }

  /** hasUsage is whether usage was reported. */
  get hasUsage(): boolean {
    return this.#hasTold;
  }

  /** hasReasoning is whether reasoning was reported. */
  get hasReasoning(): boolean {
    return this.#counts.hasReasoning;
  }

  /** The usage so far. Unreported parts are 0. */
  get parts(): Usage {
    const { input, cacheRead, cacheWrite, cacheWriteHour, output, reasoning } = this.#counts.reported;
    return {
      input: boundedCount(input),
      cacheRead: boundedCount(cacheRead),
      cacheWrite: boundedCount(cacheWrite),
      cacheWriteHour: boundedCount(cacheWriteHour),
      output: boundedCount(output),
      reasoning: boundedCount(reasoning),
    };
  }
}

/** boundedCount bounds a count to what is charged at most. */
export function boundedCount(count = 0): number {
  return Math.min(count, maxCount);
}
