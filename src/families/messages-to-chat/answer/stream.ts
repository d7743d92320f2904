/**
 * Chat chunks → the events of a Messages stream.
 *
 * `message_start` goes out with the upstream's first chunk that says anything. It tells an estimate of the input's
 * count, for some clients read it nowhere else. `message_delta` waits until the upstream has ended, since the usage comes
 * after the finish, before it, with it, or never: it tells the upstream's own counts, the input's among them. A stream
 * that ends without a finish fails, as does one that breaks: its last block stays open, and the refusal passes on to the
 * door.
 *
 * Most chunks of a text never come here (`../../translate-by-template.ts`): nothing here may remember or count what a text said.
 */
import {
  type ChatCompletionChunk,
  type ChatCompletionChunkSchema,
  type ChunkChoice,
  FinishReason,
} from "../../../../gen/modelgateway/v1/chat_pb.ts";
import { MessageStreamEventSchema } from "../../../../gen/modelgateway/v1/messages_pb.ts";
import type { Frames } from "../../../call/call.ts";
import { upstreamFailed } from "../../../call/refusals.ts";
import { asEvent } from "../../../wire/frame.ts";
import type { JsonObject } from "../../../wire/json.ts";
import { Wire } from "../../../wire/wire.ts";
import { sealedSignature } from "../../call-signature.ts";
import { spokenIn } from "../../chat-output.ts";
import { CountedChat } from "../../chat-usage.ts";
import { readAnswer } from "../../read-answer.ts";
import { alike } from "../../translate-by-template.ts";
import { translated } from "../../translate-stream.ts";
import { ToolIds } from "../tool-names.ts";
import { headOf, type Origin } from "./answer.ts";
import { BlockQueue } from "./block-queue.ts";
import { endingOf } from "./finish.ts";
import { finalUsageOf, usageOf } from "./usage.ts";

/** `inputTokens` is an estimate. */
export function eventsOf(
  frames: Frames<typeof ChatCompletionChunkSchema>,
  origin: Origin,
  inputTokens: number,
): Frames<typeof MessageStreamEventSchema> {
  const stream = new MessageStream(origin, inputTokens);
  const translate = (frame: Wire<typeof ChatCompletionChunkSchema>) =>
    stream.take(frame, readAnswer<ChatCompletionChunk>(frame)).map(asWire);
  return translated(frames, alike(translate, ["text", "thinking"], asEvent), () => stream.end().map(asWire));
}

function asWire(event: JsonObject): Wire<typeof MessageStreamEventSchema> {
  return Wire.ofJson(MessageStreamEventSchema, event);
}

class MessageStream {
  readonly #origin: Origin;
  readonly #inputTokens: number;
  readonly #blocks: BlockQueue;
  #started = false;
  #finish: FinishReason | undefined;
  /** What vendors add to the chunk that ends the choice. */
  #extra: JsonObject | undefined;
  #refusal = "";
  readonly #counted = new CountedChat();

  constructor(origin: Origin, inputTokens: number) {
    this.#origin = origin;
    this.#inputTokens = inputTokens;
    this.#blocks = new BlockQueue(new ToolIds(origin.answerId, origin.target), origin.names);
  }

  take(frame: Wire<typeof ChatCompletionChunkSchema>, chunk: ChatCompletionChunk): JsonObject[] {
    const { model, choices, usage } = chunk;
    this.#counted.take(frame, usage);
    // Azure's first chunk, about the prompt, says neither the model nor anything of the answer.
    if (!this.#started && model === "" && choices.length === 0) return [];
    const events = this.#started ? [] : [this.#start(model)];
    // A choice that nobody asked for is not the answer.
    for (const choice of choices) if (choice.index === 0) events.push(...this.#choice(choice));
    return events;
  }

  #start(model: string): JsonObject {
    this.#started = true;
    const usage = { ...usageOf(), input_tokens: this.#inputTokens };
    return { type: "message_start", message: { ...headOf(model, this.#origin), usage } };
  }

  #choice({ delta, finishReason, extra }: ChunkChoice): JsonObject[] {
    const { reasoning, sealed, text, refusal, calls, signature } = spokenIn(delta);
    this.#blocks.say("thinking", reasoning);
    for (const thought of sealed) this.#blocks.seal(thought);
    this.#blocks.say("text", text + refusal);
    if (signature !== "") this.#blocks.sign(sealedSignature(signature, this.#origin.target));
    for (const call of calls) this.#blocks.call(call);
    this.#refusal += refusal;
    const finish = finishReason ?? (extra?.finish_reason ? FinishReason.UNSPECIFIED : undefined);
    if (finish !== undefined && this.#finish === undefined) {
      this.#finish = finish;
      this.#extra = extra;
    }
    return this.#blocks.events(false);
  }

  end(): JsonObject[] {
    if (this.#finish === undefined) throw upstreamFailed("it broke off its answer");
    const blocks = this.#blocks.events(true);
    const end = { finish: this.#finish, extra: this.#extra, hasCalls: this.#blocks.hasCalls, refusal: this.#refusal };
    const delta = { ...endingOf(end, this.#origin.stops), container: null };
    return [...blocks, { type: "message_delta", delta, usage: finalUsageOf(this.#counted) }, { type: "message_stop" }];
  }
}
