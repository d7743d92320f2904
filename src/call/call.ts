/**
 * The shape of a call, the same whichever door it came through, and of its answer.
 */
import type { DescMessage, DescMethod, DescService } from "@bufbuild/protobuf";
import type { Signal } from "../runtime/caller-abort.ts";
import type { MaybePromise } from "../runtime/maybe-promise.ts";
import type { Wire } from "../wire/wire.ts";
import type { CallRecord } from "./call-record.ts";
import type { Tier } from "./tiers.ts";

/**
 * What a credential may do. An administrator key manages its account's keys, and so does a session, which is a person's; the
 * operator key is no account's, and an operator's session both. Nobody is who shows no credential where none is needed.
 */
export type Rights = "nobody" | "key" | "admin" | "session" | "operator" | "operator_session";

/** Who calls: whose credential it is, and what it may do. */
export interface Caller {
  readonly rights: Rights;
  /** Who pays, and whose things are seen; empty for the operator key and nobody. */
  readonly accountId: string;
  /** The key that calls, or that a session calls a model by; empty where there is none. */
  readonly keyId: string;
  /** Who is signed in; empty without a session. */
  readonly userId: string;
  readonly sessionId: string;
  /** The models that the key may use, as ids and `family:name`; empty where it may use all. */
  readonly models: readonly string[];
  /** Whether cost must be known and covered beforehand: its account is prepaid, or the key has a limit. */
  readonly mustPay: boolean;
  /** Whether models that have no price cost its account nothing, though it must pay; unset: they do not, and are refused. */
  readonly isFreeUnpriced?: boolean | undefined;
  /** Whether its key has a limit of its own. */
  readonly isLimited: boolean;
  /** At which version of what is stored all of this was read; unset where that is not known. */
  readonly asOf?: number | undefined;
  /** Of its account; undefined where there is none. */
  readonly tier: Tier | undefined;
}

/** Who shows no credential. */
export const nobody: Caller = {
  rights: "nobody",
  accountId: "",
  keyId: "",
  userId: "",
  sessionId: "",
  models: [],
  mustPay: true,
  isLimited: false,
  tier: undefined,
};

/** The operator, by the configured credential or at the command line. */
export const operatorCaller: Caller = { ...nobody, rights: "operator" };

/** Where a call comes from, and how it reached the gateway; worked out when it is asked for. */
export interface Peer {
  /** The client's address on the network; empty for the command line. */
  readonly address: string;
  /** The address under which the client reaches the gateway, without a slash at its end. */
  readonly rootUrl: string;
}

/** The command line is at no address. */
export const here: Peer = { address: "", rootUrl: "" };

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
  /** The same object for call after call that a client sends with the very same headers; unset where that is not known. */
  readonly sameHeaders?: object | undefined;
  readonly peer: Peer;
  /** Fires when the caller goes away; unset where nobody waits for so long. */
  readonly signal?: Signal | undefined;
}

/**
 * The bytes that a call's body holds of the room for all bodies. They are given back when the call is answered, or its stream
 * begins.
 */
export interface BodyRoom {
  /** How many bytes are counted. */
  readonly bytes: number;
  /** The most that it may have. */
  readonly maxBytes: number;
  /**
   * Counts bytes that the body is to grow by, before it does. Throws a Refusal where it would be larger than any body may be,
   * which `param` would make it, or where there is no room for it now.
   */
  grow(bytes: number, param?: string): void;
  /** Counts it as so long, where it was shorter. Throws as `grow` does. */
  growTo(bytes: number, param?: string): void;
}

/** For calls that came through no door. */
export const anyRoom: BodyRoom = { bytes: 0, maxBytes: Number.POSITIVE_INFINITY, grow() {}, growTo() {} };

/**
 * The memory of a connection: the conversation of its last response. The next response may go on from it, kept or not.
 */
export interface Remembered {
  /** Returns the conversation that ended in this response; undefined where it is not remembered. */
  find(responseId: string): RememberedConversation | undefined;
  /** Remembers this one instead of the last, as far as there is room. */
  keep(responseId: string, conversation: RememberedConversation): void;
}

export interface RememberedConversation {
  /** Lists of items as JSON, oldest first. */
  readonly pieces: readonly string[];
  /** Whether the response is kept beyond the connection. */
  readonly isKept: boolean;
}

/** A call as a door hands it over. */
export interface Asked<I extends DescMessage = DescMessage> extends Arrival {
  readonly caller: Caller;
  readonly request: Wire<I>;
  readonly body: BodyRoom;
  /** The memory of the connection, where responses on one go on from another; unset elsewhere. */
  readonly remembered?: Remembered | undefined;
  /** Aborted when the caller goes away or its deadline passes. */
  readonly signal: Signal;
}

export interface Call<I extends DescMessage = DescMessage> extends Asked<I> {
  /** What is found out about it on its way. */
  readonly record: CallRecord;
  /** Told when what it may cost is reserved, and before its model is asked. */
  readonly onReserved?: (() => void) | undefined;
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

/** Throws a Refusal, now or later. */
export type Handler = (call: Call) => MaybePromise<Answer>;

/** A proto service's implementation: one function an RPC. */
export type ServiceImplementation<S extends DescService> = {
  readonly [M in keyof S["method"]]: (
    call: Call<S["method"][M]["input"]>,
  ) => MaybePromise<Answer<S["method"][M]["output"]>>;
};

/** What a door needs of the gateway behind it. */
export interface Gateway {
  /** Says who calls, and that it may, by headers alone, before the body is read. Throws a Refusal, now or later. */
  admit(arrival: Arrival): MaybePromise<Admission>;
  /** Answers the call. Throws a Refusal, now or later, and so may its frames. */
  handle(asked: Asked): MaybePromise<Answer>;
  /** Tells of a call that was admitted and never came to be: its body could not be read. */
  abandon(arrival: Arrival, caller: Caller, error: unknown): void;
  /** Tells of an internal error that its caller sees, unless it was told of before: one of the door's own, in writing the answer. */
  broke?(arrival: Arrival, error: unknown): void;
}
