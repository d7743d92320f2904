/**
 * What a translation between two operations is: a model is asked in one family's words by its caller, and in
 * another's by the gateway.
 *
 * Translations are pure: no clock, no network, no state beyond one call. They read typed messages and write public
 * JSON. What the other family cannot say is left out and named; what it must not leave out is refused.
 */
import type { Answer } from "../call/call.ts";
import type { Form, Input, Operation, Output } from "../call/operations.ts";
import type { CooperativeTask } from "../runtime/cooperative.ts";
import type { JsonObject } from "../wire/json.ts";
import type { Wire } from "../wire/wire.ts";

/** How an upstream that is asked for responses has reasoning. */
export interface ReasoningItems {
  /** The upstream's name: what it has encrypted no other can read. */
  readonly upstream: string;
  /** Whether it is asked to tell its reasoning encrypted. */
  readonly areRequested: boolean;
  /** Which it takes back: as it has encrypted it, as text, or either. */
  readonly accepts: "encrypted" | "plain" | "either";
}

/** Whether it is a tool of a vendor's that costs by the call, which the model has no price for. */
export type IsUnpriced = (tool: JsonObject) => boolean;

/** What a translation may know besides the request. */
export interface TranslationContext {
  /** The form of the answer that the caller waits for. */
  readonly form: Form;
  /** The most that the model may put out, in tokens, where the catalogue knows it. */
  readonly maxOutputTokens: number | undefined;
  /** Whether a server of chat takes custom tools; undefined where chat is put into other words again. */
  readonly customTools?: boolean | undefined;
  /** The model's name at its upstream. */
  readonly target?: string | undefined;
  /** What is to be known of reasoning in requests for responses; undefined where the upstream is asked for none. */
  readonly reasoningItems?: ReasoningItems | undefined;
  /** Which tools of vendors' have no price; undefined where none is asked for, or all may be. */
  readonly isUnpriced?: IsUnpriced | undefined;
  /** Whether the model reasons; undefined where nobody said. */
  readonly reasons?: boolean | undefined;
  /** Identifies the answer where the caller's family wants its own kind of id; letters and digits. */
  readonly answerId: string;
  /** Seconds since 1970, where the answer tells when it was made. */
  readonly now: number;
  /** Returns about how many tokens a chat request has, at no cost: for streams that tell it before their upstream does. */
  readonly estimateTokens: (request: Wire<Input<"chat">>) => number;
}

/** One call, translated. */
export interface Translated<A extends Operation, B extends Operation> {
  readonly request: Wire<Input<B>>;
  /** The public paths of what was left out, in the order of the request: `seed`, `messages[2].content[0]`. */
  readonly dropped: readonly string[];
  /** Translates the answer back, whole or as it streams. A failure of the stream passes through as it is. */
  answer<F extends Form>(answer: Answer<Output<B, F>>): Answer<Output<A, F>>;
}

export interface Translation<A extends Operation = Operation, B extends Operation = Operation> {
  readonly from: A;
  readonly to: B;
  /** Returns a path of the request that it writes as its caller knows it; undefined where that has no such thing. */
  callersPath(path: string): string | undefined;
  /** Throws a Refusal for what the other family cannot do at all. A long request is done in turns. */
  translate(request: Wire<Input<A>>, context: TranslationContext): CooperativeTask<Translated<A, B>>;
}
