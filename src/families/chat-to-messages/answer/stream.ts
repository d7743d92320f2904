/**
 * The events of a streamed message → the chunks of a streamed chat completion, batch by batch.
 *
 * The first chunk has the role, one chunk the finish reason, and the last the usage, where it was asked for. Unknown
 * events and deltas are ignored. A stream that ends before its message fails, after its chunks were handed over.
 */
import { create } from "@bufbuild/protobuf";
import type { ChatCompletionChunkSchema } from "../../../../gen/modelgateway/v1/chat_pb.ts";
import {
  ContentBlockType,
  MessageDeltaType,
  MessageEventType,
  type MessageStreamEvent,
  MessageStreamEventSchema,
} from "../../../../gen/modelgateway/v1/messages_pb.ts";
import type { Frames } from "../../../call/call.ts";
import { brokenOff } from "../../../call/refusals.ts";
import { membersOf } from "../../../providers/usage/count.ts";
import { isFinished } from "../../../providers/usage/finish-word.ts";
import { MessageUsageReader } from "../../../providers/usage/message-counts.ts";
import type { JsonObject } from "../../../wire/json.ts";
import type { Wire } from "../../../wire/wire.ts";
import { type Chunk, ChunkWriter } from "../../chat-answers/chunk-writer.ts";
import { readAnswer } from "../../read-message.ts";
import { translateStream } from "../../translate-stream.ts";
import type { OpenBlock, Progress } from "./block.ts";
import { explanationOf, finishReason } from "./finish.ts";
import { openBlock } from "./open-block.ts";
import type { AnswerContext } from "./parts.ts";
import { chatUsage } from "./usage.ts";

export function chunksOf(
  frames: Frames<typeof MessageStreamEventSchema>,
  context: AnswerContext,
): Frames<typeof ChatCompletionChunkSchema> {
  const stream = new ChunkStream(context);
  return translateStream(
    frames,
    (event) => stream.take(readAnswer(event), event),
    () => {
      if (!stream.ended) throw brokenOff();
      return [];
    },
  );
}

class ChunkStream {
  ended = false;
  readonly #context: AnswerContext;
  readonly #progress: Progress = { length: 0, toolCalls: 0, functionCalled: false, answered: false };
  /** By the index of the block. */
  readonly #open = new Map<number, OpenBlock>();
  readonly #counts = new MessageUsageReader();
  readonly #chunks: ChunkWriter;
  #started = false;
  #finished = false;

  constructor(context: AnswerContext) {
    this.#context = context;
    this.#chunks = new ChunkWriter(context);
  }

  /** Returns the chunks that an event becomes. `frame` is what the event was read from. */
  take(event: MessageStreamEvent, frame: Wire<typeof MessageStreamEventSchema>): readonly Chunk[] {
    if (!this.ended) this.#take(event, frame);
    return this.#chunks.release();
  }

  #take(event: MessageStreamEvent, frame: Wire<typeof MessageStreamEventSchema>): void {
    switch (event.type) {
      case MessageEventType.MESSAGE_START:
        if (!this.#started) this.#chunks.model = event.message?.model || this.#chunks.model;
        this.#counts.take(membersOf(frame.json().message).usage);
        this.#start();
        break;
      case MessageEventType.CONTENT_BLOCK_START:
        this.#openBlock(event);
        break;
      case MessageEventType.CONTENT_BLOCK_DELTA:
        this.#continueBlock(event);
        break;
      case MessageEventType.CONTENT_BLOCK_STOP:
        this.#stopBlock(event.index ?? 0);
        break;
      case MessageEventType.MESSAGE_DELTA:
        this.#counts.take(frame.json().usage);
        if (hasStopReason(event)) this.#finish(event);
        break;
      case MessageEventType.MESSAGE_STOP:
        this.#finish(event);
        this.#chunks.usage(chatUsage(this.#counts));
        this.ended = true;
    }
  }

  #start(): void {
    if (this.#started) return;
    this.#started = true;
    this.#chunks.say({ role: "assistant", content: "" });
  }

  #openBlock({ index = 0, contentBlock }: MessageStreamEvent): void {
    if (!contentBlock || this.#finished) return;
    this.#start();
    this.#stopBlock(index);
    const block = openBlock(contentBlock, this.#progress, this.#context);
    this.#open.set(index, block);
    this.#say(block.first);
  }

  /** Some servers send text without announcing its block. */
  #continueBlock({ index = 0, delta }: MessageStreamEvent): void {
    if (!delta) return;
    const type = unannounced.get(delta.type);
    if (!this.#open.has(index) && type !== undefined) {
      this.#openBlock(create(MessageStreamEventSchema, { index, contentBlock: { type } }));
    }
    this.#say(this.#open.get(index)?.next(delta));
  }

  #stopBlock(index: number): void {
    const block = this.#open.get(index);
    this.#open.delete(index);
    this.#say(block?.stop());
  }

  #finish({ delta }: MessageStreamEvent): void {
    if (this.#finished) return;
    this.#start();
    for (const index of [...this.#open.keys()]) this.#stopBlock(index);
    const { toolCalls, functionCalled } = this.#progress;
    const called = toolCalls > 0 ? "tool_calls" : functionCalled ? "function_call" : undefined;
    const reason = finishReason(delta ?? {}, called);
    const refusal = reason === "content_filter" ? explanationOf(delta?.extra) : undefined;
    if (refusal !== undefined) this.#say({ refusal });
    this.#finished = true;
    this.#chunks.finish(reason);
  }

  #say(delta: JsonObject | undefined): void {
    if (delta) this.#chunks.say(delta);
  }
}

/** The types of blocks by their deltas, where these say all of them. */
const unannounced: ReadonlyMap<MessageDeltaType | undefined, ContentBlockType> = new Map([
  [MessageDeltaType.TEXT_DELTA, ContentBlockType.TEXT],
  [MessageDeltaType.THINKING_DELTA, ContentBlockType.THINKING],
]);

/** hasStopReason reports a stop reason, unknown ones included. */
function hasStopReason({ delta }: MessageStreamEvent): boolean {
  return delta?.stopReason !== undefined || isFinished(delta?.extra?.stop_reason);
}
