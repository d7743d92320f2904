/**
 * The types of a call and its answer, the same for every door.
 */
import type { DescMessage, DescMethod, DescService } from "@bufbuild/protobuf";
import type { Signal } from "../runtime/caller-abort.ts";
import type { MaybePromise } from "../runtime/maybe-promise.ts";
import type { Wire } from "../wire/wire.ts";
import type { CallRecord } from "./call-record.ts";
import type { KeyLimits, NearestLimit } from "./key-limits.ts";
import type { Tier } from "./tiers.ts";

/**
 * Rights are what a credential may do. An administrator key manages the keys of its account, and so does a person's session. The
 * operator key belongs to no account; an operator's session has an account and the operator's rights. `nobody` calls without a
 * credential, where none is needed.
 */
export type Rights = "nobody" | "key" | "admin" | "session" | "operator" | "operator_session";

/** Caller is the holder of a call's credential, and what the credential may do. */
export interface Caller {
  readonly rights: Rights;
  /** The account that pays, and whose resources are visible; empty for the operator key and for nobody. */
  readonly accountId: string;
  /** The API key of the call, or the one that a session calls a model by; empty where there is none. */
  readonly keyId: string;
  /** The user who is signed in; empty without a session. */
  readonly userId: string;
  readonly sessionId: string;
  /** The models that the key may use, as ids and `family:name`; empty: all. */
  readonly models: readonly string[];
  /** mustPay is whether cost must be known and held beforehand: the account is prepaid, or the key has a limit. */
  readonly mustPay: boolean;
  /** isFreeUnpriced is whether models without a price are free for the account although it must pay. Default: no, they are refused. */
  readonly isFreeUnpriced?: boolean | undefined;
  /** isLimited is whether the key has a credit limit. */
  readonly isLimited: boolean;
  /** The budgets of the key and its account, and the zone in which they begin, as they are stored; unset where there are none. */
  readonly budgets?: CallerBudgets | undefined;
  /** The key's own limits; undefined where it has none. */
  readonly limits?: KeyLimits | undefined;
  /** The addresses and networks that the key may be used from; unset: all. */
  readonly allowedIps?: readonly string[] | undefined;
  /** The version of the stored data that all of this was read at; unset where that is not known. */
  readonly asOf?: number | undefined;
  /** The account's tier; undefined where there is no account. */
  readonly tier: Tier | undefined;
}

export interface CallerBudgets {
  readonly zone: string | null;
  readonly ofAccount: string | null;
  readonly ofKey: string | null;
}

/** nobody is the caller of a call without a credential. */
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

/** operatorCaller is the operator: by the configured credential, or on the command line. */
export const operatorCaller: Caller = { ...nobody, rights: "operator" };

/** Peer is the client's end of a connection. Its members are computed when they are read. */
export interface Peer {
  /** The client's network address; empty for the command line. */
  readonly address: string;
  /** The URL under which the client reaches the gateway, without a trailing slash. */
  readonly rootUrl: string;
}

/** here is the peer of calls from the command line. */
export const here: Peer = { address: "", rootUrl: "" };

/** Admission is an admitted caller, and the headers of every answer to it: its rate limits and credit. */
export interface Admission {
  readonly caller: Caller;
  readonly headers: AnswerHeaders;
  /** The limit that is nearest to its end; undefined where the key has none of its own. */
  readonly nearest?: NearestLimit | undefined;
}

/** Arrival is what is known of a call before its body is read. */
export interface Arrival {
  /** The request id, `req_…`: in every answer and log line. */
  readonly id: string;
  readonly method: DescMethod;
  /** Returns a request header by its lower-case name. */
  readonly header: (name: string) => string | undefined;
  /** An object that is the same for all calls that a client sends with identical headers; unset where that is not known. */
  readonly sameHeaders?: object | undefined;
  readonly peer: Peer;
  /** Fires when the client disconnects; unset where the answer takes no time. */
  readonly signal?: Signal | undefined;
}

/**
 * BodyRoom counts the bytes of a call's body against the memory for all bodies. They are released when the call is answered, or
 * its stream begins.
 */
export interface BodyRoom {
  /** The bytes that are counted. */
  readonly bytes: number;
  /** The most bytes that a body may have. */
  readonly maxBytes: number;
  /**
   * Counts bytes before the body grows by them. Throws a Refusal where the body would be too large, which names `param` as the
   * field at fault, or where there is no memory for it now.
   */
  grow(bytes: number, param?: string): void;
  /** Counts the body as `bytes` long, if it was shorter. Throws as `grow` does. */
  growTo(bytes: number, param?: string): void;
  /** Returns the room of an answer that is read for the call, with nothing counted yet. */
  openAnswer(waiting?: AnswerWaiting): AnswerRoom;
}

/** AnswerWaiting bounds how long an answer waits for memory, beside the bound that all have. */
export interface AnswerWaiting {
  /** Fires when nobody waits for the answer any more. */
  readonly signal: Signal;
  /** The moment until which the caller waits for its answer, by `performance.now()`. Omitted: without a bound. */
  readonly until?: number;
  /** Told when the answer begins to wait, and when it no longer does. */
  note?(isWaiting: boolean): void;
}

/** AnswerRoom counts the memory of one answer to a call, by the same room as bodies. It is released when the answer has been sent. */
export interface AnswerRoom {
  /**
   * Counts the answer as `bytes` long, whatever it was counted as before. Returns a promise where there is no memory for it now: it
   * resolves when there is, or the room is released, and rejects with a Refusal where none comes in time or nobody waits for it.
   * While no other answer is held it is counted as `least` bytes long where there is memory for no more. Default: `bytes`.
   */
  hold(bytes: number, least?: number): Promise<void> | undefined;
  /** The same without waiting. Returns whether there was memory; where there was none it is counted as before. */
  tryHold(bytes: number): boolean;
  /** Ends the wait of `hold`, which rejects with `why`. Nothing happens where none waits. */
  leave(why: Error): void;
  /** Gives back all bytes, and counts nothing from then on. */
  release(): void;
}

/** The room of an answer that nobody counts. */
const anyAnswerRoom: AnswerRoom = { hold: () => undefined, tryHold: () => true, leave() {}, release() {} };

/** anyRoom is the room of calls that came through no door. */
export const anyRoom: BodyRoom = {
  ...{ bytes: 0, maxBytes: Number.POSITIVE_INFINITY, grow() {}, growTo() {} },
  openAnswer: () => anyAnswerRoom,
};

/**
 * Remembered is the memory of a connection: the conversation of its last response. The next response may continue it, also where
 * it is not stored.
 */
export interface Remembered {
  /** Returns the conversation that ended with a response; undefined where it is not remembered. */
  find(responseId: string): RememberedConversation | undefined;
  /** Replaces the conversation, if there is room. */
  keep(responseId: string, conversation: RememberedConversation): void;
}

export interface RememberedConversation {
  /** Lists of items as JSON, oldest first. */
  readonly pieces: readonly string[];
  /** isKept is whether the response is stored beyond the connection. */
  readonly isKept: boolean;
}

/** Asked is a call as a door passes it on. */
export interface Asked<I extends DescMessage = DescMessage> extends Arrival {
  readonly caller: Caller;
  readonly request: Wire<I>;
  readonly body: BodyRoom;
  /** The memory of the connection; unset at doors that keep none. */
  readonly remembered?: Remembered | undefined;
  /** As in its admission. */
  readonly nearest?: NearestLimit | undefined;
  /** Fires when the client disconnects or its deadline passes. */
  readonly signal: Signal;
}

export interface Call<I extends DescMessage = DescMessage> extends Asked<I> {
  /** The record that the stages of the call write to. */
  readonly record: CallRecord;
  /** Called when the call's hold is made. Its model is asked once that is done, and not at all where it fails. */
  readonly onReserved?: (() => Promise<void>) | undefined;
}

/**
 * Frames are the messages of a stream. They come in batches, one for each network read, and not one by one. Ending the iteration
 * early stops the work behind it.
 */
export type Frames<O extends DescMessage = DescMessage> = AsyncIterable<readonly Wire<O>[]>;

/** AnswerHeaders are headers by their lower-case names. */
export type AnswerHeaders = Readonly<Record<string, string>>;

export type Answer<O extends DescMessage = DescMessage> =
  | { readonly kind: "whole"; readonly body: Wire<O>; readonly headers?: AnswerHeaders }
  | {
      readonly kind: "stream";
      readonly frames: Frames<O>;
      readonly headers?: AnswerHeaders;
      /** Returns what is known only at the end. It is sent after the last frame, as trailers. */
      readonly trailers?: () => AnswerHeaders;
    };

/** Handler answers a call. Throws a Refusal, now or later. */
export type Handler = (call: Call) => MaybePromise<Answer>;

/** ServiceImplementation is the implementation of a proto service: a function for each RPC. */
export type ServiceImplementation<S extends DescService> = {
  readonly [M in keyof S["method"]]: (
    call: Call<S["method"][M]["input"]>,
  ) => MaybePromise<Answer<S["method"][M]["output"]>>;
};

/** Gateway is what a door needs of the gateway behind it. */
export interface Gateway {
  /** Finds the caller by the headers alone, before the body is read. Throws a Refusal, now or later. */
  admit(arrival: Arrival): MaybePromise<Admission>;
  /** Answers the call. Throws a Refusal, now or later, and so may its frames. */
  handle(asked: Asked): MaybePromise<Answer>;
  /** Reports a call that was admitted and never handled, because its body could not be read. */
  abandon(arrival: Arrival, caller: Caller, error: unknown): void;
  /** Reports an internal error that the caller sees, as one in writing the answer, unless it was reported with its call. */
  broke?(arrival: Arrival, error: unknown): void;
}
