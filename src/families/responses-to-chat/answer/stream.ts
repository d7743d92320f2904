/**
 * Chat chunks → the events of a response, numbered from 0.
 *
 * The first two events are sent with the upstream's first chunk that says anything. The last waits for the upstream's
 * end, because the usage comes before, with or after the finish reason, or never. A stream without a finish reason
 * fails, as does one that breaks: the refusal reaches the door.
 */
import type { ChatCompletionChunkSchema, ChunkChoice, FinishReason } from "../../../../gen/modelgateway/v1/chat_pb.ts";
import { ResponseStreamEventSchema } from "../../../../gen/modelgateway/v1/responses_pb.ts";
import type { Frames } from "../../../call/call.ts";
import { brokenOff } from "../../../call/refusals.ts";
import type { JsonObject } from "../../../wire/json.ts";
import { Wire } from "../../../wire/wire.ts";
import { ChunkReader } from "../../chat-answers/chunk-reader.ts";
import { deltaOf } from "../../chat-output.ts";
import { finishOf } from "../../finish-words.ts";
import { translateStream } from "../../translate-stream.ts";
import type { Compaction } from "../compaction.ts";
import { endOf, outputOf } from "./answer.ts";
import type { ItemStatus } from "./items.ts";
import type { Output } from "./output.ts";
import { type AnswerContext, responseJson, usageJson } from "./response.ts";

export function eventsOf(
  frames: Frames<typeof ChatCompletionChunkSchema>,
  context: AnswerContext,
): Frames<typeof ResponseStreamEventSchema> {
  const answer = new ResponseStream(context);
  let number = 0;
  const numbered = ({ type, ...rest }: JsonObject) =>
    Wire.ofJson(ResponseStreamEventSchema, { type, sequence_number: number++, ...rest } as JsonObject);
  return translateStream(
    frames,
    (frame) => answer.take(frame).map(numbered),
    () => answer.end().map(numbered),
  );
}

class ResponseStream {
  readonly #context: AnswerContext;
  readonly #output: Output | Compaction;
  readonly #chunks = new ChunkReader();
  #model = "";
  #finish: FinishReason | undefined;

  constructor(context: AnswerContext) {
    this.#context = context;
    this.#output = outputOf(context);
  }

  take(frame: Wire<typeof ChatCompletionChunkSchema>): JsonObject[] {
    const chunk = this.#chunks.take(frame);
    if (!chunk) return [];
    const begun = chunk.isFirst ? this.#start(chunk.model) : [];
    return [...begun, ...chunk.choices.flatMap((choice) => this.#choice(choice))];
  }

  end(): JsonObject[] {
    if (this.#finish === undefined) throw brokenOff();
    const { status, incomplete } = endOf(this.#finish, this.#output);
    const events = this.#output.end(status);
    const response = this.#response(status, incomplete, usageJson(this.#chunks.counted));
    return [...events, { type: `response.${status}`, response }];
  }

  #start(model: string): JsonObject[] {
    this.#model = model;
    const response = this.#response("in_progress", undefined, null);
    return [
      { type: "response.created", response },
      { type: "response.in_progress", response },
    ];
  }

  #choice(choice: ChunkChoice): JsonObject[] {
    const events = this.#output.take(deltaOf(choice), choice.logprobs);
    this.#finish ??= finishOf(choice);
    return events;
  }

  #response(status: ItemStatus, incomplete: string | undefined, usage: JsonObject | null): JsonObject {
    const head = { model: this.#model, serviceTier: this.#chunks.serviceTier };
    return responseJson(this.#context, { ...head, status, incomplete, output: this.#output.json(), usage });
  }
}
