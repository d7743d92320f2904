/**
 * ChunkReader reads the chunks of a chat of one choice: what each says of that choice, and what stands beside it, which may come with any
 * chunk.
 *
 * Only the first choice was asked for, whatever number its server gives it.
 */
import type {
  ChatCompletionChunk,
  ChatCompletionChunkSchema,
  ChunkChoice,
} from "../../../gen/modelgateway/v1/chat_pb.ts";
import type { Wire } from "../../wire/wire.ts";
import { ChatUsageTracker } from "../chat-usage.ts";
import { readAnswer } from "../read-message.ts";

/** ReadChunk is a chunk that says something. */
interface ReadChunk {
  readonly model: string;
  /** isFirst is whether no chunk before it said anything. */
  readonly isFirst: boolean;
  readonly choices: readonly ChunkChoice[];
}

export class ChunkReader {
  readonly counted = new ChatUsageTracker();
  /** serviceTier is the last that a chunk named. */
  serviceTier: string | undefined;
  #hasBegun = false;
  #index: number | undefined;

  /** Returns undefined for a chunk before the answer: Azure's first one, about the prompt, has no model and no choices. */
  take(frame: Wire<typeof ChatCompletionChunkSchema>): ReadChunk | undefined {
    const { model, choices, usage, serviceTier } = readAnswer<ChatCompletionChunk>(frame);
    this.counted.take(frame, usage);
    this.serviceTier = serviceTier ?? this.serviceTier;
    const isFirst = !this.#hasBegun;
    if (isFirst && model === "" && choices.length === 0) return undefined;
    this.#hasBegun = true;
    this.#index ??= choices[0]?.index;
    return { model, isFirst, choices: choices.filter(({ index }) => index === this.#index) };
  }
}
