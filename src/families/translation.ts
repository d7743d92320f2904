/**
 * Translation is the contract between two operations: the caller speaks one, the upstream another.
 *
 * Translations are pure: no clock, no network, no state beyond one call. They read typed messages and write public
 * JSON. What the other family cannot express is dropped and named, or refused where the model must not do without it.
 */
import type { Answer, Frames } from "../call/call.ts";
import type { Form, Input, Operation, Output } from "../call/operations.ts";
import type { CooperativeTask } from "../runtime/cooperative.ts";
import type { JsonObject } from "../wire/json.ts";
import type { Wire } from "../wire/wire.ts";

/** ReasoningItems says how an upstream of responses handles reasoning. */
export interface ReasoningItems {
  /** The upstream's name. No other upstream can read what it encrypted. */
  readonly upstream: string;
  /** areAskedFor is whether encrypted reasoning is requested. */
  readonly areAskedFor: boolean;
  /** taken is the reasoning that it takes back: encrypted, as text, or either. `own` is as text, and what it has encrypted itself. */
  readonly taken: "encrypted" | "plain" | "either" | "own";
}

/** Target is a model at an upstream. */
export interface Target {
  /** The model's name at its upstream. */
  readonly model: string;
  /** The upstream's name. */
  readonly upstream: string;
}

/** IsUnpriced reports a vendor's tool that is charged by the call and has no price. */
export type IsUnpriced = (tool: JsonObject) => boolean;

/** TranslationContext is what a translation knows besides the request. */
export interface TranslationContext {
  /** The form of the answer. */
  readonly form: Form;
  /** The model's largest output in tokens, where the catalogue knows it. */
  readonly maxOutputTokens: number | undefined;
  /** customTools is whether the chat server takes custom tools; undefined where chat is translated further. */
  readonly customTools?: boolean | undefined;
  /** marksCache is whether the server is known to take marks of a cached prompt; of which kind, its profile sees to. */
  readonly marksCache?: boolean | undefined;
  readonly target?: Target | undefined;
  /** Set where the upstream is asked for responses. */
  readonly reasoningItems?: ReasoningItems | undefined;
  /** Reports tools without a price; undefined where all are allowed. */
  readonly isUnpriced?: IsUnpriced | undefined;
  /** reasons is whether the model reasons; undefined where nobody stated it. */
  readonly reasons?: boolean | undefined;
  /** Identifies the answer: letters and digits, for families with ids of their own kind. */
  readonly answerId: string;
  /** Seconds since 1970, for answers that report their time. */
  readonly now: number;
  /** Estimates the tokens of a chat request cheaply, for streams that report them before the upstream does. */
  readonly estimateTokens: (request: Wire<Input<"chat">>) => number;
}

/** passesThinkingOn reports whether a chat is translated further, by a translation that reads signed thinking. */
export function passesThinkingOn({ customTools, reasoningItems }: TranslationContext): boolean {
  return customTools === undefined || reasoningItems !== undefined;
}

/** Translated is one translated call. */
export interface Translated<A extends Operation, B extends Operation> {
  readonly request: Wire<Input<B>>;
  /** The public paths of what was dropped, in the order of the request: `seed`, `messages[2].content[0]`. */
  readonly dropped: readonly string[];
  /** Returns the caller's path for a path of the translated request; undefined where the caller has none. */
  callersPath(path: string): string | undefined;
  /** Translates the answer back, unary or streaming. A failure of the stream passes through unchanged. */
  answer<F extends Form>(answer: Answer<Output<B, F>>): Answer<Output<A, F>>;
}

export interface Translation<A extends Operation = Operation, B extends Operation = Operation> {
  readonly from: A;
  readonly to: B;
  /** Throws a Refusal for what the other family cannot do at all. A long request is translated in time slices. */
  translate(request: Wire<Input<A>>, context: TranslationContext): CooperativeTask<Translated<A, B>>;
}

/**
 * byForm returns the translation of an answer, from those of a unary one and of a stream. The answer has the form that
 * was asked for, which types cannot express of a branch.
 */
export function byForm<A extends Operation, B extends Operation>(
  whole: (body: Wire<Output<B, "whole">>) => Wire<Output<A, "whole">>,
  stream: (frames: Frames<Output<B, "stream">>) => Frames<Output<A, "stream">>,
): Translated<A, B>["answer"] {
  const translate = (answer: Answer<Output<B, Form>>) =>
    answer.kind === "whole"
      ? { ...answer, body: whole(answer.body as Wire<Output<B, "whole">>) }
      : { ...answer, frames: stream(answer.frames as Frames<Output<B, "stream">>) };
  return translate as Translated<A, B>["answer"];
}
