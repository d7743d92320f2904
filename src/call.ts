/**
 * The shape of a call, the same whichever door it came through, and of its answer.
 */
import type { DescMessage, DescMethod, DescService } from "@bufbuild/protobuf";
import type { Tier } from "./limits/tiers.ts";
import type { Wire } from "./wire/wire.ts";

/** What a credential may do. The operator is no account's; an administrator key manages its account's keys. */
export type Rights = "key" | "admin" | "operator";

/** Who calls: whose credential it is, and what it may do. */
export interface Caller {
  readonly rights: Rights;
  /** Who pays, and whose things are seen; empty for the operator. */
  readonly accountId: string;
  /** Empty for the operator. */
  readonly keyId: string;
  /** The models that the key may use, as ids and `family:name`; empty where it may use all. */
  readonly models: readonly string[];
  /** Whether cost must be known and covered beforehand: its account is prepaid, or the key has a limit. */
  readonly mustPay: boolean;
  /** Of its account; undefined for the operator. */
  readonly tier: Tier | undefined;
}

/** The operator, by the configured credential or at the command line. */
export const operatorCaller: Caller = {
  rights: "operator",
  accountId: "",
  keyId: "",
  models: [],
  mustPay: true,
  tier: undefined,
};

/** A caller that may go on, and what every answer to it tells: its rate, and its credit. */
export interface Admission {
  readonly caller: Caller;
  readonly headers: AnswerHeaders;
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
  | {
      readonly kind: "stream";
      readonly frames: Frames<O>;
      readonly headers?: AnswerHeaders;
      /** What is known only at the end: sent after the last frame, as trailers. */
      readonly trailers?: () => AnswerHeaders;
    };

export type Handler = (call: Call) => Promise<Answer>;

/** A proto service's implementation: one function an RPC. */
export type ServiceImplementation<S extends DescService> = {
  readonly [M in keyof S["method"]]: (call: Call<S["method"][M]["input"]>) => Promise<Answer<S["method"][M]["output"]>>;
};

/** What a door needs of the gateway behind it. */
export interface Way {
  /** Says who calls, and that it may, by headers alone, before the body is read. Throws a Refusal. */
  admit(arrival: Arrival): Promise<Admission>;
  /** Answers the call. Throws a Refusal, and so may its frames. */
  handle: Handler;
  /** Tells of a call that was admitted and never came to be: its body could not be read. */
  abandon(arrival: Arrival, caller: Caller, error: unknown): void;
}
