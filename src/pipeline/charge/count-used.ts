/**
 * Counts in this process what a call used, to charge it where the upstream reported no usage. The count is an estimate, by another
 * vendor's tokenizer. What cannot be counted, or not in time, counts as a token for four bytes, so that every call can be captured.
 */

import type { CreateChatCompletionRequestSchema } from "../../../gen/modelgateway/v1/chat_pb.ts";
import type { Input, Operation } from "../../call/operations.ts";
import { Refusal } from "../../call/refusals.ts";
import type { Signal } from "../../runtime/caller-abort.ts";
import type { MaybePromise } from "../../runtime/maybe-promise.ts";
import { type Attached, attachedTo } from "../../tokens/media/attachments.ts";
import { withDocuments } from "../../tokens/media/read-documents.ts";
import { promptTokens } from "../../tokens/prompt.ts";
import type { TextCounter } from "../../tokens/tokenizer.ts";
import type { Wire } from "../../wire/wire.ts";
import { asChat } from "./as-chat.ts";

/** Counting counts tokens. It never fails. */
export interface Counting {
  /** Counts the input tokens of an operation's request. */
  input(operation: Operation, request: Wire): Promise<number>;
  /** Counts the tokens of a text that a model generated. */
  output(text: string): Promise<number>;
}

export interface CountingOptions {
  readonly counter: TextCounter;
  /** Fires when the process stops and counts are no longer waited for. Callers that disconnect do not cut them short. */
  readonly hurry: Signal;
  /** Called with the error of a count that should have succeeded. */
  readonly onError: (error: unknown) => void;
}

/** Bytes of UTF-8. */
const bytesPerToken = 4;

/** guessTokens estimates the tokens of so many bytes of text. */
export function guessTokens(bytes: number): number {
  return Math.ceil(bytes / bytesPerToken);
}

/** Longer requests, in bytes, are estimated from their length: they would delay the counts of others. */
const maxCounted = 1_048_576;

function attachedAsUsual(request: Wire): MaybePromise<Attached> {
  const { model } = request.outline();
  return withDocuments(request, () => attachedTo(request, typeof model === "string" ? [model] : [], "usual"));
}

/** guessInput estimates the input tokens of a long request: images in it are not text. */
async function guessInput(request: Wire): Promise<number> {
  const attached = await attachedAsUsual(request);
  return attached.tokens + guessTokens(Math.max(0, request.byteLength - attached.bytes));
}

export function createCounting({ counter, hurry, onError }: CountingOptions): Counting {
  /** `bytes` is the length of what is counted. */
  async function counted(counting: () => Promise<number>, bytes: number): Promise<number> {
    try {
      return await counting();
    } catch (error) {
      // A Refusal only means that the request cannot be translated to chat.
      if (!(error instanceof Refusal)) onError(error);
      return guessTokens(bytes);
    }
  }

  async function countInput(operation: Operation, request: Wire): Promise<number> {
    const { prompt = null, input = null, messages } = request.json();
    const attached = (await attachedAsUsual(request)).tokens;
    if (operation === "chat") return promptTokens(request as ChatRequest, counter, hurry, attached);
    if (operation === "messages" || operation === "responses") {
      const chat = await asChat(operation, request as Wire<Input<typeof operation>>);
      return promptTokens(chat, counter, hurry, attached);
    }
    // Some servers have vectors of a conversation.
    if ((prompt ?? input) === null && Array.isArray(messages)) return guessInput(request);
    const { texts, tokens } = partsOf(prompt ?? input);
    return tokens + (await counter.countAll(texts, hurry));
  }

  return {
    async input(operation, request) {
      const length = request.byteLength;
      return length > maxCounted ? guessInput(request) : counted(() => countInput(operation, request), length);
    },
    output: (text) => counted(() => counter.countAll([text], hurry), Buffer.byteLength(text)),
  };
}

type ChatRequest = Wire<typeof CreateChatCompletionRequestSchema>;

/** partsOf splits a prompt, which is a text, a list of tokens, or a list of either, into its texts and the number of its tokens. */
function partsOf(value: unknown): { readonly texts: readonly string[]; readonly tokens: number } {
  const parts = [value].flat(2);
  const texts = parts.filter((part) => typeof part === "string");
  return { texts, tokens: parts.filter((part) => typeof part === "number").length };
}
