/**
 * The events of a streamed response → the chunks of a streamed chat completion, batch by batch.
 *
 * The first chunk has the role, one chunk the finish reason, and the last the usage, where it was asked for. What
 * servers send only at the end of an item is passed on then. Unknown events are ignored. A stream that ends before
 * its response fails, after its chunks were handed over.
 */
import { ChatCompletionChunkSchema } from "../../../../gen/modelgateway/v1/chat_pb.ts";
import type { ResponseStreamEventSchema } from "../../../../gen/modelgateway/v1/responses_pb.ts";
import type { Frames } from "../../../call/call.ts";
import { brokenOff } from "../../../call/refusals.ts";
import { isObject, type JsonObject, type JsonValue, textOrEmpty } from "../../../wire/json.ts";
import { Wire } from "../../../wire/wire.ts";
import { translateStream } from "../../translate-stream.ts";
import { OpenItems } from "./open-items.ts";
import { type AnswerContext, finishOf, logprobsOf } from "./parts.ts";
import { chatUsage } from "./usage.ts";

type Chunk = Wire<typeof ChatCompletionChunkSchema>;

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
  #chunks: Chunk[] = [];
  #model: string;
  #tier: JsonValue | undefined;
  #started = false;

  constructor(context: AnswerContext) {
    this.#context = context;
    this.#items = new OpenItems(context);
    this.#model = context.model;
  }

  /** Returns the chunks that an event becomes. */
  take(event: JsonObject): readonly Chunk[] {
    this.#chunks = [];
    if (!this.ended) this.#take(event);
    return this.#chunks;
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
        this.#say(this.#items.text(event), Array.isArray(event.logprobs) ? event.logprobs : []);
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
    if (!this.#started) this.#model = textOrEmpty(model) || this.#model;
    this.#tier = tier ?? this.#tier;
  }

  #start(): void {
    if (this.#started) return;
    this.#started = true;
    this.#push([choice({ role: "assistant", content: "", refusal: null })]);
  }

  #say(delta: JsonObject | undefined, tokens: readonly JsonValue[] = []): void {
    if (delta) this.#push([choice(delta, null, logprobsOf(tokens))]);
  }

  #finish(response: JsonObject, type: string): void {
    for (const delta of this.#items.missing(response.output)) this.#say(delta);
    const status = type === "response.incomplete" ? "incomplete" : "completed";
    const reason = finishOf({ ...response, status }, this.#items.calls > 0, this.#context);
    this.#push([choice({}, reason)]);
    const usage = this.#context.includeUsage ? chatUsage(response) : undefined;
    if (usage) this.#push([], usage);
    this.ended = true;
  }

  /** With usage asked for, every chunk has the member, null except in the last. */
  #push(choices: JsonObject[], usage: JsonObject | null = null): void {
    const json = {
      id: this.#context.id,
      object: "chat.completion.chunk",
      created: this.#context.created,
      model: this.#model,
      choices,
      ...(typeof this.#tier === "string" ? { service_tier: this.#tier } : {}),
      ...(this.#context.includeUsage ? { usage } : {}),
    };
    this.#chunks.push(Wire.ofJson(ChatCompletionChunkSchema, json, true));
  }
}

function choice(
  delta: JsonObject,
  finish_reason: string | null = null,
  logprobs: JsonObject | null = null,
): JsonObject {
  return { index: 0, delta, logprobs, finish_reason };
}
