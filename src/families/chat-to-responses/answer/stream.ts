/**
 * The events of a streamed response → the chunks of a streamed chat completion, batch by batch.
 *
 * The first chunk has the role, one chunk the finish reason, and the last the usage, where it was asked for. What
 * servers send only at the end of an item is passed on then. Unknown events are ignored. A stream that ends before
 * its response fails, after its chunks were handed over.
 */
import type { ChatCompletionChunkSchema } from "../../../../gen/modelgateway/v1/chat_pb.ts";
import type { ResponseStreamEventSchema } from "../../../../gen/modelgateway/v1/responses_pb.ts";
import type { Frames } from "../../../call/call.ts";
import { brokenOff } from "../../../call/refusals.ts";
import { isObject, type JsonObject, type JsonValue, listOrEmpty, textOrEmpty } from "../../../wire/json.ts";
import { type Chunk, ChunkWriter } from "../../chat-answers/chunk-writer.ts";
import { translateStream } from "../../translate-stream.ts";
import { OpenItems } from "./open-items.ts";
import { type AnswerContext, finishOf, logprobsOf } from "./parts.ts";
import { chatUsage } from "./usage.ts";

export function chunksOf(
  frames: Frames<typeof ResponseStreamEventSchema>,
  context: AnswerContext,
): Frames<typeof ChatCompletionChunkSchema> {
  const stream = new ChunkStream(context);
  return translateStream(
    frames,
    (event) => stream.take(event.json()),
    () => {
      if (!stream.ended) throw brokenOff();
      return [];
    },
  );
}

class ChunkStream {
  ended = false;
  readonly #context: AnswerContext;
  readonly #items: OpenItems;
  readonly #chunks: ChunkWriter;
  #started = false;

  constructor(context: AnswerContext) {
    this.#context = context;
    this.#items = new OpenItems(context);
    this.#chunks = new ChunkWriter(context);
  }

  /** Returns the chunks that an event becomes. */
  take(event: JsonObject): readonly Chunk[] {
    if (!this.ended) this.#take(event);
    return this.#chunks.release();
  }

  #take(event: JsonObject): void {
    const { type, response, item } = event;
    if (isObject(response)) this.#head(response);
    this.#start();
    switch (type) {
      case "response.output_item.added":
        if (isObject(item)) this.#say(this.#items.begin(item, event));
        return;
      case "response.output_item.done":
        if (isObject(item)) for (const delta of this.#items.end(item, event)) this.#say(delta);
        return;
      case "response.output_text.delta":
        this.#say(this.#items.text(event), listOrEmpty(event.logprobs));
        return;
      case "response.refusal.delta":
        this.#say(this.#items.refusal(event));
        return;
      case "response.reasoning_summary_text.delta":
      case "response.reasoning_text.delta":
        this.#say(this.#items.reasoning(event));
        return;
      case "response.function_call_arguments.delta":
      case "response.custom_tool_call_input.delta":
        this.#say(this.#items.input(event));
        return;
      case "response.output_text.annotation.added":
        this.#say(this.#items.cite(event));
        return;
      case "response.completed":
      case "response.incomplete":
        this.#finish(isObject(response) ? response : {}, type);
    }
  }

  #head({ model, service_tier: tier }: JsonObject): void {
    if (!this.#started) this.#chunks.model = textOrEmpty(model) || this.#chunks.model;
    if (typeof tier === "string") this.#chunks.serviceTier = tier;
  }

  #start(): void {
    if (this.#started) return;
    this.#started = true;
    this.#chunks.say({ role: "assistant", content: "", refusal: null });
  }

  #say(delta: JsonObject | undefined, tokens: readonly JsonValue[] = []): void {
    if (delta) this.#chunks.say(delta, logprobsOf(tokens));
  }

  #finish(response: JsonObject, type: string): void {
    for (const delta of this.#items.missing(response.output)) this.#say(delta);
    const status = type === "response.incomplete" ? "incomplete" : "completed";
    const reason = finishOf({ ...response, status }, this.#items.calls > 0, this.#context);
    this.#chunks.finish(reason);
    const usage = chatUsage(response);
    if (usage) this.#chunks.usage(usage);
    this.ended = true;
  }
}
