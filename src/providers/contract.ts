/**
 * What the gateway asks of anything that answers in a model's place.
 *
 * A provider speaks some operations and leaves out the others: what a vendor lacks is absent, not stubbed. It
 * answers or throws a Refusal; it never retries, and it keeps nothing between calls that a caller could notice.
 */
import type { JsonValue } from "@bufbuild/protobuf";
import type { Answer, AnswerHeaders, Arrival } from "../call/call.ts";
import type { AttemptRecord } from "../call/call-record.ts";
import type { Form, Input, Operation, Output } from "../call/operations.ts";
import type { ToldUsage } from "../call/usage.ts";
import type { Signal } from "../runtime/caller-abort.ts";
import type { MaybePromise } from "../runtime/maybe-promise.ts";
import type { Wire } from "../wire/wire.ts";

import type { Timeouts } from "./upstream/timeouts.ts";

/** What a provider tells of an attempt while it answers. It is read below any translation, where nothing is lost yet. */
export interface Meter {
  /** Takes what the upstream told: counts of the whole attempt so far. What is not named stays as it was told before. */
  told(usage: ToldUsage): void;
  /**
   * Takes text that the model put out, reasoning and arguments of tools too: it is counted where no usage is told. Of output that
   * is no text it is told an empty one: sound, pictures, thoughts that are encrypted.
   */
  wrote(text: string): void;
  /** Says that the model gave up: it finished by an error or a filter. */
  gaveUp(): void;
  /** Says that the end of the answer has been seen, before the batch that holds it is handed over. */
  ended(): void;
}

/** One try at one target. */
export interface Attempt<O extends Operation = Operation, F extends Form = Form> {
  /** The request id, told to the upstream as `x-request-id`. */
  readonly id: string;
  readonly operation: O;
  /** The form of the answer, whatever the request's own `stream` says. */
  readonly form: F;
  /** The request; its `model` is still the caller's word. */
  readonly request: Wire<Input<O>>;
  /** The model's name at the upstream. */
  readonly model: string;
  /** The caller's headers, for those that its family passes on. */
  readonly header: Arrival["header"];
  /** Headers that tell the upstream where the attempt belongs among traces. */
  readonly traceHeaders: AnswerHeaders;
  /** Aborted when nobody waits for the answer any more. The provider stops at once. */
  readonly signal: Signal;
  /**
   * Told when a bound that the caller set has passed, and with what the answer would fail. Returns whether the answer is read on
   * all the same, until the signal fires.
   */
  readonly late?: ((why: Error) => boolean) | undefined;
  /** Bounds that the caller set: of these and the upstream's own the shorter one holds. */
  readonly timeouts: Partial<Timeouts>;
  /** Who goes first where calls wait for a place at the upstream: 0 (first) to 9. */
  readonly priority: number;
  readonly meter: Meter;
  /** Takes how long it was waited for the upstream. */
  readonly record: AttemptRecord;
}

/**
 * Answers in the form that the attempt asks for. What fails before the first frame is thrown here, now or later, or by the
 * first step of the frames; a stream that ends without throwing is complete.
 */
export type Speak<O extends Operation> = <F extends Form>(attempt: Attempt<O, F>) => MaybePromise<Answer<Output<O, F>>>;

/** A request as an upstream takes it. */
export interface Fitted<W extends Wire = Wire> {
  readonly request: W;
  /** The paths of what was left out, in the words of the request's operation. */
  readonly dropped: readonly string[];
}

/** What an upstream takes of requests to one of its models. */
export interface Fitting {
  /** The name by which a chat request bounds its output. */
  readonly outputBound: "max_tokens" | "max_completion_tokens";
  /** Whether chat requests may have custom tools, which take free text. */
  readonly customTools: boolean;
  /** Which calls go to the upstream's `/responses`, where it speaks that (`config/schema-profile.ts`). */
  readonly responses: "when_asked" | "tools" | "always" | "never";
  /** Whether requests for responses may have all that agents send, or functions only. */
  readonly takesAnyItem: boolean;
  /** Whether answers to them are asked to tell reasoning encrypted, and which is taken back. */
  readonly reasoningItems: { readonly areAskedFor: boolean; readonly taken: "encrypted" | "plain" | "either" };
  /** Whether the model reasons where it is asked for so much: a word of effort, or nothing. */
  reasonsBy(effort: JsonValue | undefined): boolean;
  /** Returns the request as the upstream takes it. `isOwn` says that its caller wrote it in the words of this operation. */
  fit<W extends Wire>(operation: Operation, request: W, isOwn: boolean): Fitted<W>;
}

export interface Provider {
  /** The API that it speaks: openai, anthropic, embedded. */
  readonly kind: string;
  /** `reasons` says whether the model reasons, where that is known. Absent: what is asked goes as it is. */
  fitting?(model: string, reasons: boolean | undefined): Fitting;
  readonly speaks: { readonly [O in Operation]?: Speak<O> };
  /** Whether calls may have to wait for one another there. */
  readonly hasQueue?: boolean;
  /**
   * Loads what the first calls of these models, by their names at the upstream, would wait for. Resolves when nothing
   * is left to load. What fails is left to those calls.
   */
  warm?(models: readonly string[]): Promise<void>;
  /** Asks the upstream for this path, to see whether it is well. Throws a Refusal where it is not. */
  check?(path: string, signal: AbortSignal): Promise<void>;
  /** Waits for what runs, then lets go of every connection. */
  close(): Promise<void>;
}

/** Returns the provider with something around each operation that it speaks. */
export function withEverySpeak(provider: Provider, around: (speak: Speak<Operation>) => Speak<Operation>): Provider {
  const speaks = Object.entries(provider.speaks).map(([operation, speak]) => [
    operation,
    around(speak as Speak<Operation>),
  ]);
  return { ...provider, speaks: Object.fromEntries(speaks) as Provider["speaks"] };
}
