/**
 * Chat chunks → the events of a Messages stream.
 *
 * `message_start` is sent with the upstream's first chunk that says anything. It has an estimate of the input tokens,
 * since some clients read the count only there. `message_delta` waits for the upstream's end, because the usage comes
 * before, with or after the finish reason, or never; it has the upstream's own counts. A stream without a finish reason
 * fails, as does one that breaks: its last block stays open, and the refusal reaches the door.
 *
 * Most text chunks bypass this translation (`../../translate-by-template.ts`), so nothing here may depend on earlier
 * text.
 */
import type { ChatCompletionChunkSchema, ChunkChoice, FinishReason } from "../../../../gen/modelgateway/v1/chat_pb.ts";
import { MessageStreamEventSchema } from "../../../../gen/modelgateway/v1/messages_pb.ts";
import type { Frames } from "../../../call/call.ts";
import { brokenOff } from "../../../call/refusals.ts";
import { asEvent } from "../../../wire/frame.ts";
import type { JsonObject } from "../../../wire/json.ts";
import { Wire } from "../../../wire/wire.ts";
import { sealedDetails, sealedSignature } from "../../call-signature.ts";
import { ChunkReader } from "../../chat-answers/chunk-reader.ts";
import { deltaOf, readChatOutput, summaryIn } from "../../chat-output.ts";
import { finishOf } from "../../finish-words.ts";
import { translateByTemplate } from "../../translate-by-template.ts";
import { translateStream } from "../../translate-stream.ts";
import { compacted, compactionEvents } from "../compaction.ts";
import { ToolIds } from "../tool-names.ts";
import { type AnswerContext, headOf } from "./answer.ts";
import { BlockQueue } from "./block-queue.ts";
import { imageText } from "./blocks.ts";
import { citationsIn, distinct } from "./citations.ts";
import { endingOf } from "./finish.ts";
import { finalUsageOf, usageOf } from "./usage.ts";

/** `inputTokens` is an estimate. */
export function eventsOf(
  frames: Frames<typeof ChatCompletionChunkSchema>,
  context: AnswerContext,
  inputTokens: number,
): Frames<typeof MessageStreamEventSchema> {
  const stream = new MessageStream(context, inputTokens);
  const translate = (frame: Wire<typeof ChatCompletionChunkSchema>) => stream.take(frame).map(asWire);
  return translateStream(frames, translateByTemplate(translate, ["text", "thinking"], asEvent), () =>
    stream.end().map(asWire),
  );
}

function asWire(event: JsonObject): Wire<typeof MessageStreamEventSchema> {
  return Wire.ofJson(MessageStreamEventSchema, event);
}

class MessageStream {
  readonly #context: AnswerContext;
  readonly #inputTokens: number;
  readonly #blocks: BlockQueue;
  readonly #chunks = new ChunkReader();
  #finish: FinishReason | undefined;
  /** Vendors' additions to the chunk that ends the choice. */
  #extra: JsonObject | undefined;
  #refusal = "";
  /** The citations so far. */
  #citations: readonly JsonObject[] = [];
  readonly #summary: string[] = [];

  constructor(context: AnswerContext, inputTokens: number) {
    this.#context = context;
    this.#inputTokens = inputTokens;
    this.#blocks = new BlockQueue(new ToolIds(context.answerId, context.target), context.names);
  }

  take(frame: Wire<typeof ChatCompletionChunkSchema>): JsonObject[] {
    const chunk = this.#chunks.take(frame);
    if (!chunk) return [];
    const events = chunk.choices.flatMap((choice) => this.#choice(choice));
    return chunk.isFirst ? [this.#start(chunk.model), ...events] : events;
  }

  #start(model: string): JsonObject {
    const usage = { ...usageOf(), input_tokens: this.#inputTokens };
    return { type: "message_start", message: { ...headOf(model, this.#context), usage } };
  }

  #choice(choice: ChunkChoice): JsonObject[] {
    const delta = deltaOf(choice);
    const { reasoning, sealed, text, refusal, calls, signature, ...output } = readChatOutput(delta);
    const wantedBack = [...output.details, ...output.signed];
    if (this.#context.compacts) {
      this.#summary.push(text);
      this.#finish ??= finishOf(choice);
      return [];
    }
    this.#blocks.say("thinking", reasoning);
    for (const thought of sealed) this.#blocks.seal(thought);
    if (wantedBack.length > 0) this.#blocks.sign(sealedDetails(wantedBack, this.#context.target));
    this.#blocks.say("text", text + refusal + output.images.map(imageText).join(""));
    if (delta && delta.annotations.length > 0) this.#cite(citationsIn(delta.annotations));
    if (signature !== "") this.#blocks.sign(sealedSignature(signature, this.#context.target));
    for (const call of calls) this.#blocks.call(call);
    this.#refusal += refusal;
    const finish = finishOf(choice);
    if (finish !== undefined && this.#finish === undefined) {
      this.#finish = finish;
      this.#extra = choice.extra;
    }
    return this.#blocks.events(false);
  }

  /** #cite adds citations that were not told: some servers tell all so far with each chunk. */
  #cite(citations: readonly JsonObject[]): void {
    const all = distinct([...this.#citations, ...citations]);
    this.#blocks.cite(all.slice(this.#citations.length));
    this.#citations = all;
  }

  end(): JsonObject[] {
    if (this.#finish === undefined) throw brokenOff();
    if (this.#context.compacts) return this.#compacted();
    const blocks = this.#blocks.events(true);
    const end = { finish: this.#finish, extra: this.#extra, hasCalls: this.#blocks.hasCalls, refusal: this.#refusal };
    return [...blocks, ...this.#ends(endingOf(end, this.#context.stops))];
  }

  #compacted(): JsonObject[] {
    const events = compactionEvents(summaryIn(this.#summary.join("")));
    return [...events, ...this.#ends(compacted)];
  }

  /** #ends returns the events behind the blocks: why the message ended, with its usage, and the end. */
  #ends(ending: JsonObject): JsonObject[] {
    const usage = finalUsageOf(this.#chunks.counted);
    return [{ type: "message_delta", delta: { ...ending, container: null }, usage }, { type: "message_stop" }];
  }
}
