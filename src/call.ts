/**
 * The shape of a call, the same whichever door it came through, and of its answer.
 */
import type { DescMessage, DescMethod, DescService } from "@bufbuild/protobuf";
import type { Wire } from "./wire/wire.ts";

/** Who calls: the account and key that the credential belongs to. */
export interface Caller {
  readonly accountId: string;
  readonly keyId: string;
  /** Whether the key may manage keys. */
  readonly admin: boolean;
}

/** What is known of a call before its body is read. */
export interface Arrival {
  /** The request id: `req_…`, in every answer and log line. */
  readonly id: string;
  readonly method: DescMethod;
  /** Returns a request header by its lower-case name. */
  readonly header: (name: string) => string | undefined;
}

export interface Call<I extends DescMessage = DescMessage> extends Arrival {
  readonly caller: Caller;
  readonly request: Wire<I>;
  /** Aborted when the caller goes away or its deadline passes. */
  readonly signal: AbortSignal;
}

/**
 * A stream hands over as many messages at a time as it has: one step per network read, not one per message.
 * Leaving the iteration early stops the work behind it.
 */
export type Frames<O extends DescMessage = DescMessage> = AsyncIterable<readonly Wire<O>[]>;

/** Headers by their lower-case names. */
export type AnswerHeaders = Readonly<Record<string, string>>;

export type Answer<O extends DescMessage = DescMessage> =
  | { readonly kind: "whole"; readonly body: Wire<O>; readonly headers?: AnswerHeaders }
  | { readonly kind: "stream"; readonly frames: Frames<O>; readonly headers?: AnswerHeaders };

export type Handler = (call: Call) => Promise<Answer>;

/** A proto service's implementation: one function an RPC. */
export type ServiceImplementation<S extends DescService> = {
  readonly [M in keyof S["method"]]: (call: Call<S["method"][M]["input"]>) => Promise<Answer<S["method"][M]["output"]>>;
};

/** What a door needs of the gateway behind it. */
export interface Way {
  /** Says who calls, by headers alone, before the body is read. Throws a Refusal. */
  admit(arrival: Arrival): Promise<Caller>;
  /** Answers the call. Throws a Refusal, and so may its frames. */
  handle: Handler;
  /** Tells of a call that was admitted and never came to be: its body could not be read. */
  abandon(arrival: Arrival, caller: Caller, error: unknown): void;
}
