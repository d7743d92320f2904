/**
 * ChunkWriter writes the chunks of a streamed chat completion of one choice: one chunk says the role, one why the choice ended, and the
 * last the usage, where it was asked for.
 */
import { ChatCompletionChunkSchema } from "../../../gen/modelgateway/v1/chat_pb.ts";
import type { JsonObject } from "../../wire/json.ts";
import { Wire } from "../../wire/wire.ts";

export type Chunk = Wire<typeof ChatCompletionChunkSchema>;

/** AnswerHead is what all chunks of an answer have in common, or what is beside its choices. */
export interface AnswerHead {
  readonly id: string;
  /** created is in seconds since 1970. */
  readonly created: number;
  /** model is the requested one: used where the upstream does not name the one that answered. */
  readonly model: string;
  /** includeUsage is whether the caller asked for the usage: every chunk has the member then, null except in the last. */
  readonly includeUsage: boolean;
}

export class ChunkWriter {
  /** The model and the tier that the chunks from now on name. */
  model: string;
  serviceTier: string | undefined;
  readonly #head: AnswerHead;
  #chunks: Chunk[] = [];

  constructor(head: AnswerHead) {
    this.#head = head;
    this.model = head.model;
  }

  /** Returns the chunks since the last call. */
  release(): readonly Chunk[] {
    const chunks = this.#chunks;
    this.#chunks = [];
    return chunks;
  }

  say(delta: JsonObject, logprobs: JsonObject | null = null): void {
    this.#push([{ index: 0, delta, logprobs, finish_reason: null }], null);
  }

  finish(reason: string): void {
    this.#push([{ index: 0, delta: {}, logprobs: null, finish_reason: reason }], null);
  }

  /** Writes the last chunk, where the caller asked for the usage. */
  usage(usage: JsonObject): void {
    if (this.#head.includeUsage) this.#push([], usage);
  }

  #push(choices: JsonObject[], usage: JsonObject | null): void {
    const { id, created, includeUsage } = this.#head;
    const json = {
      id,
      object: "chat.completion.chunk",
      created,
      model: this.model,
      choices,
      ...(this.serviceTier === undefined ? {} : { service_tier: this.serviceTier }),
      ...(includeUsage ? { usage } : {}),
    };
    this.#chunks.push(Wire.ofJson(ChatCompletionChunkSchema, json, true));
  }
}
