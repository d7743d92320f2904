/**
 * Counts in this process what a call used, for charges where the upstream told no usage: an estimate, by the tokenizer of
 * another vendor. What cannot be counted, or not in good time, is taken at four bytes a token: no call loses its settlement
 * by it.
 */

import type { CreateChatCompletionRequestSchema } from "../../../gen/modelgateway/v1/chat_pb.ts";
import type { Input, Operation } from "../../call/operations.ts";
import { Refusal } from "../../call/refusals.ts";
import type { Signal } from "../../runtime/caller-abort.ts";
import { promptTokens } from "../../tokens/prompt.ts";
import type { TextCounter } from "../../tokens/tokenizer.ts";
import type { Wire } from "../../wire/wire.ts";
import { asChat } from "./as-chat.ts";

/** Never fails. */
export interface Counting {
  /** Counts the input of a request in the words of an operation. */
  input(operation: Operation, request: Wire): Promise<number>;
  /** Counts a text that a model put out. */
  output(text: string): Promise<number>;
}

export interface CountingOptions {
  readonly counter: TextCounter;
  /** Fires when nobody can wait for counts any more. Until then what is charged is counted to its end, whoever has left. */
  readonly hurry: Signal;
  /** Told why something could not be counted that should have been. */
  readonly onError: (error: unknown) => void;
}

/** Of UTF-8. */
const bytesPerToken = 4;

/** Returns about how many tokens so many bytes of text are. */
export function guessTokens(bytes: number): number {
  return Math.ceil(bytes / bytesPerToken);
}

/** In bytes: what is longer would keep others waiting for their counts. */
const longest = 1_048_576;

export function createCounting({ counter, hurry, onError }: CountingOptions): Counting {
  /** What is counted is so many bytes long. */
  async function counted(counting: () => Promise<number>, bytes: number): Promise<number> {
    try {
      return await counting();
    } catch (error) {
      // A request that says what no other family can is no fault of anybody's.
      if (!(error instanceof Refusal)) onError(error);
      return guessTokens(bytes);
    }
  }

  async function countInput(operation: Operation, request: Wire): Promise<number> {
    if (operation === "chat") return promptTokens(request as ChatRequest, counter, hurry);
    if (operation === "messages" || operation === "responses") {
      return promptTokens(await asChat(operation, request as Wire<Input<typeof operation>>), counter, hurry);
    }
    const { prompt, input } = request.json();
    const { texts, tokens } = partsOf(prompt ?? input);
    return tokens + (await counter.countAll(texts, hurry));
  }

  return {
    async input(operation, request) {
      const length = request.byteLength;
      return length > longest ? guessTokens(length) : counted(() => countInput(operation, request), length);
    },
    output: (text) => counted(() => counter.countAll([text], hurry), Buffer.byteLength(text)),
  };
}

type ChatRequest = Wire<typeof CreateChatCompletionRequestSchema>;

/** Of a text, a list of tokens, or a list of either: the texts, and how many tokens there are beside. */
function partsOf(value: unknown): { readonly texts: readonly string[]; readonly tokens: number } {
  const parts = [value].flat(2);
  const texts = parts.filter((part) => typeof part === "string");
  return { texts, tokens: parts.filter((part) => typeof part === "number").length };
}
