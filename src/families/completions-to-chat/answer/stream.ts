/**
 * The chunks of a chat answer → the pieces of a completion, which joined are the unary completion.
 *
 * Every piece has the same id, time and model. Each choice begins with the echoed prompt, if wanted, and ends with
 * one piece that has the finish reason, whether the upstream sent none or several. The usage comes last, once, and
 * only if asked for. Chunks without text (the role, reasoning) become nothing.
 *
 * Most text chunks bypass this translation (`../../translate-by-template.ts`), so except for log probabilities
 * nothing here may depend on earlier text.
 */
import type {
  ChatCompletionChunk,
  ChatCompletionChunkSchema,
  ChatUsage,
  ChunkChoice,
  FinishReason,
} from "../../../../gen/modelgateway/v1/chat_pb.ts";
import { CompletionSchema } from "../../../../gen/modelgateway/v1/completions_pb.ts";
import type { Frames } from "../../../call/call.ts";
import { asData } from "../../../wire/frame.ts";
import type { JsonObject } from "../../../wire/json.ts";
import { Wire } from "../../../wire/wire.ts";
import { deltaOf } from "../../chat-output.ts";
import { ChatUsageTracker } from "../../chat-usage.ts";
import { finishOf } from "../../finish-words.ts";
import { translateByTemplate } from "../../translate-by-template.ts";
import { translateStream } from "../../translate-stream.ts";
import type { AnswerContext } from "../request/request.ts";
import { completionChoice, finishWord, headOf, textOf } from "./choice.ts";
import { textLogProbs } from "./logprobs.ts";
import { usageJson } from "./usage.ts";

type Piece = Wire<typeof CompletionSchema>;

/** Progress is the state of a choice that has begun. */
interface Progress {
  ended: boolean;
  /** Number of characters in the tokens so far, the echoed prompt included. */
  characters: number;
}

export function completionFrames(
  frames: Frames<typeof ChatCompletionChunkSchema>,
  context: AnswerContext,
): Frames<typeof CompletionSchema> {
  const pieces = new Pieces(context);
  const translate = (chunk: Wire<typeof ChatCompletionChunkSchema>) => pieces.of(chunk, chunk.message());
  return translateStream(frames, translateByTemplate(translate, ["text"], asData), () => pieces.atEnd());
}

class Pieces {
  readonly #context: AnswerContext;
  readonly #begun = new Map<number, Progress>();
  #head: JsonObject | undefined;
  readonly #counted = new ChatUsageTracker();
  #usage: ChatUsage | undefined;

  constructor(context: AnswerContext) {
    this.#context = context;
  }

  of(frame: Wire<typeof ChatCompletionChunkSchema>, chunk: ChatCompletionChunk): Piece[] {
    this.#head ??= headOf(chunk, this.#context);
    // Some vendors report the usage with the last text, and some as it grows.
    this.#counted.take(frame, chunk.usage);
    this.#usage = chunk.usage ?? this.#usage;
    const echoes = chunk.choices.flatMap(({ index }) => this.#begin(index));
    const choices = chunk.choices.flatMap((choice) => this.#next(choice));
    return [echoes, choices].filter(({ length }) => length > 0).map((some) => this.#piece(some, false));
  }

  atEnd(): Piece[] {
    const open = [...this.#begun].filter(([, { ended }]) => !ended);
    const choices = open.map(([index]) => completionChoice(index, "", null, this.#finish(undefined)));
    const pieces = choices.length > 0 ? [this.#piece(choices, false)] : [];
    return this.#context.includeUsage && this.#counted.hasUsage ? [...pieces, this.#piece([], true)] : pieces;
  }

  #begin(index: number): JsonObject[] {
    if (this.#begun.has(index)) return [];
    const { echo } = this.#context;
    this.#begun.set(index, { ended: false, characters: [...echo].length });
    return echo === "" ? [] : [completionChoice(index, echo, null, null)];
  }

  #next(choice: ChunkChoice): JsonObject[] {
    const progress = this.#begun.get(choice.index) as Progress;
    const text = this.#context.muted ? "" : textOf(deltaOf(choice));
    const logprobs = textLogProbs(this.#context.muted ? undefined : choice.logprobs, progress.characters);
    progress.characters += logprobs.characters;
    const finish = finishOf(choice);
    const ends = finish !== undefined && !progress.ended;
    progress.ended ||= ends;
    if (text === "" && !logprobs.json && !ends) return [];
    return [completionChoice(choice.index, text, logprobs.json, ends ? this.#finish(finish) : null)];
  }

  #finish(reason: FinishReason | undefined): string {
    return this.#context.muted ? "length" : finishWord(reason);
  }

  #piece(choices: JsonObject[], isLast: boolean): Piece {
    const usage = isLast ? usageJson(this.#counted, this.#usage, this.#context) : null;
    const usageMember = this.#context.includeUsage ? { usage } : {};
    return Wire.ofJson(CompletionSchema, { ...this.#head, choices, ...usageMember }, true);
  }
}
