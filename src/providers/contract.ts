/**
 * Provider is the contract of anything that answers in a model's place.
 *
 * A provider speaks some operations and leaves out the others: what a vendor lacks is absent, not stubbed. It answers
 * or throws a Refusal, never retries, and keeps nothing between calls that a caller could notice.
 */
import type { JsonValue } from "@bufbuild/protobuf";
import type { Answer, AnswerHeaders, AnswerRoom, Arrival } from "../call/call.ts";
import type { AttemptRecord } from "../call/call-record.ts";
import type { Form, Input, Operation, Output } from "../call/operations.ts";
import type { RefusedForms } from "../call/request/refused-members.ts";
import type { ToldUsage } from "../call/usage.ts";
import type { ProfileRule } from "../config/schema-profile.ts";
import type { Signal } from "../runtime/caller-abort.ts";
import type { CooperativeTask } from "../runtime/cooperative.ts";
import type { MaybePromise } from "../runtime/maybe-promise.ts";
import type { Wire } from "../wire/wire.ts";

import type { Timeouts } from "./upstream/timeouts.ts";

/**
 * Meter receives what a provider learns of an attempt while it answers. It sits below any translation, where nothing
 * is lost yet.
 */
export interface Meter {
  /**
   * Takes usage as the upstream reported it: the counts of the whole attempt so far. Counts that are left out keep
   * their last value.
   */
  reportUsage(usage: ToldUsage): void;
  /**
   * Takes text of the model's output, with reasoning and tool arguments: it is counted where no usage is reported.
   * Output that is no text (audio, images, encrypted reasoning) is reported as an empty text.
   */
  countText(text: string): void;
  /** Reports that the model gave up: it finished by an error or a filter. */
  reportGivenUp(): void;
  /** Reports that the end of the answer was seen, before the batch that holds it is handed over. */
  reportEnd(): void;
}

/** Attempt is one try at one target. */
export interface Attempt<O extends Operation = Operation, F extends Form = Form> {
  /** The request id, sent to the upstream as `x-request-id`. */
  readonly id: string;
  /** The account that calls. What a vendor keeps for one is not for another. Omitted: none. */
  readonly account?: string | undefined;
  readonly operation: O;
  /** The form of the answer, whatever the request's own `stream` says. */
  readonly form: F;
  /** The form that the server is asked for, where it refuses the answer's. */
  readonly asked?: Form | undefined;
  /** isUsageUnasked is whether the server refuses to be asked for the usage of a stream. */
  readonly isUsageUnasked?: boolean;
  /** The request. Its `model` is still the caller's name of the model. */
  readonly request: Wire<Input<O>>;
  /** The model's name at the upstream. */
  readonly model: string;
  /** Reads the caller's headers, for those that the family passes on. */
  readonly header: Arrival["header"];
  /** Trace headers to send to the upstream. */
  readonly traceHeaders: AnswerHeaders;
  /** Aborted when the answer is not needed any more. The provider stops at once. */
  readonly signal: Signal;
  /**
   * Called with the failure when a bound that the caller set has passed. Returns true where the answer is read on
   * nevertheless, until the signal fires.
   */
  readonly onLate?: ((why: Error) => boolean) | undefined;
  /** Bounds that the caller set. Of these and the upstream's own the shorter holds. */
  readonly timeouts: Partial<Timeouts>;
  /** How much of the total bounds, the upstream's own included, earlier requests of the same attempt have used, in milliseconds. */
  readonly spentMs?: number;
  /** The place in an upstream's queue: 0 goes first, 9 last. */
  readonly priority: number;
  readonly meter: Meter;
  /** The memory that answers are counted against. Omitted: they are not. */
  readonly room?: AttemptRooms | undefined;
  /** Receives the times of the attempt, and what earlier requests of one that fails have used. */
  readonly record: AttemptRecord;
}

/** AttemptRooms is the memory that the answers of one attempt are counted against. */
export interface AttemptRooms {
  openAnswer(): AnswerRoom;
  /** Reports that the upstream has broken the answer off: what waits for memory for it waits no more. */
  broke(why: Error): void;
}

/**
 * Speak answers in the form that the attempt asks for. A failure before the first frame is thrown here, now or later,
 * or by the first step of the frames. A stream that ends without throwing is complete.
 */
export type Speak<O extends Operation> = <F extends Form>(attempt: Attempt<O, F>) => MaybePromise<Answer<Output<O, F>>>;

/** FittedRequest is a request as an upstream takes it. */
export interface FittedRequest<W extends Wire = Wire> {
  readonly request: W;
  /** The paths of what was left out, named as in the request's operation. */
  readonly dropped: readonly string[];
}

/** PlainFitters returns the fitter for a server that refuses these forms; undefined where its profile says that it takes them. */
export type PlainFitters = (refused: RefusedForms) => RequestFitter | undefined;

/** RequestFitter says what an upstream takes of requests to one of its models. */
export interface RequestFitter {
  /** The name of the output bound in chat requests. */
  readonly outputBound: "max_tokens" | "max_completion_tokens";
  /** customTools is whether chat requests may have custom tools, whose input is free text. */
  readonly customTools: boolean;
  /** takesListedTools is whether the server is known to take the tools of a chat in its list alone, and none in messages. */
  readonly takesListedTools: boolean;
  /** takesPlainChats is whether a plain chat (`call/request/plain-chat.ts`) stays as its caller wrote it. */
  readonly takesPlainChats: boolean;
  /** cacheMarks is which marks of a cached prompt the server takes; undefined where nobody stated it. */
  readonly cacheMarks: ProfileRule["cache_marks"];
  /** takesFunctionsOnly is whether the server is known to take no other tools. */
  readonly takesFunctionsOnly: boolean;
  /** responses says which calls go to the upstream's `/responses`, where it has that (`config/schema-profile.ts`). */
  readonly responses: "when_asked" | "tools" | "always" | "never";
  /** takesAnyItem is whether requests for responses may have the items that agents send, or functions only. */
  readonly takesAnyItem: boolean;
  /** reasoningItems is whether encrypted reasoning is requested, and which reasoning is accepted back. */
  readonly reasoningItems: { readonly areAskedFor: boolean; readonly taken: "encrypted" | "plain" | "either" | "own" };
  /** plain is for a server that refuses more than its profile says. */
  readonly plain: PlainFitters;
  /** Reports whether the model reasons at this effort, or without one. */
  reasonsBy(effort: JsonValue | undefined): boolean;
  /** Returns the request as the upstream takes it. `isOwn` says that the caller wrote it for this operation. */
  fit<W extends Wire>(operation: Operation, request: W, isOwn: boolean): CooperativeTask<FittedRequest<W>>;
}

export interface Provider {
  /** The API that it speaks: openai, anthropic, embedded. */
  readonly kind: string;
  /**
   * Returns the fitter of a model. `reasons` says whether the model reasons, where that is known. Absent: requests
   * are sent as they are.
   */
  fitter?(model: string, reasons: boolean | undefined): RequestFitter;
  readonly speaks: { readonly [O in Operation]?: Speak<O> };
  /** hasQueue is whether calls may wait in a queue. */
  readonly hasQueue?: boolean;
  /**
   * Loads what the first calls of these models would wait for. `models` are names at the upstream. Resolves when
   * nothing is left to load. What fails is left to those calls.
   */
  warm?(models: readonly string[]): Promise<void>;
  /** Requests this path of the upstream, to see whether it is healthy. Throws a Refusal where it is not. */
  check?(path: string, signal: AbortSignal): Promise<void>;
  /**
   * Waits for running calls, then closes every connection. Calls that began before may still speak: each has a connection of its own
   * then.
   */
  close(): Promise<void>;
}

/** UpstreamStats sums up an upstream's recent attempts, as this process sees them. */
export interface UpstreamStats {
  readonly attempts: number;
  readonly failures: number;
  /** lastFailed is whether the last attempt failed. */
  readonly lastFailed: boolean;
  /** firstBytes are the times to the first byte in milliseconds, one for each answer, ascending. */
  readonly firstBytes: readonly number[];
  /** running is the number of calls that run now. */
  readonly running: number;
  /** lastFailure is the last failure, however long ago; `at` is in milliseconds since 1970. */
  readonly lastFailure: { readonly words: string; readonly at: number } | undefined;
}

/** wrapEverySpeak returns the provider with `wrap` applied to each operation that it speaks. */
export function wrapEverySpeak(provider: Provider, wrap: (speak: Speak<Operation>) => Speak<Operation>): Provider {
  const speaks = Object.entries(provider.speaks).map(([operation, speak]) => [
    operation,
    wrap(speak as Speak<Operation>),
  ]);
  return { ...provider, speaks: Object.fromEntries(speaks) as Provider["speaks"] };
}
