/**
 * The one choreography of all doors: admit → read → handle → write, with every way out of it.
 *
 * The credential is admitted on the headers alone, before the body is read. Whatever fails on the way is refused once, here:
 * what still comes of the request is discarded, and nothing is written for a client that has disconnected. A door brings an
 * `Exchange`: how it reads a request, writes an answer, and writes a refusal.
 */
import type { DescMethod } from "@bufbuild/protobuf";
import type { Admission, Answer, Arrival, Gateway, Remembered } from "../call/call.ts";
import { internal } from "../call/refusals.ts";
import type { Signal } from "../runtime/caller-abort.ts";
import { andThen, catchError, type MaybePromise, thenOrCatch } from "../runtime/maybe-promise.ts";
import type { Wire } from "../wire/wire.ts";
import type { BodyBudget, BodyShare } from "./body/body-budget.ts";

/** Door is what every exchange of a door needs of the gateway. */
export interface Door {
  readonly gateway: Gateway;
  /** The room that the bodies of all calls share. */
  readonly bodies: BodyBudget;
}

/** DoorArrival is a call before its body is read. Its signal fires when the client disconnects or its deadline passes. */
export interface DoorArrival extends Arrival {
  readonly signal: Signal;
}

/** ReadCall is a call whose request has been read. */
export interface ReadCall {
  /** The RPC that is called. It may be another than the arrival's: a REST body can select the streaming twin. */
  readonly method: DescMethod;
  readonly request: Wire;
  /** The memory of the connection; unset where it has none. */
  readonly remembered?: Remembered | undefined;
}

export type UnaryAnswer = Extract<Answer, { readonly kind: "whole" }>;
export type StreamAnswer = Extract<Answer, { readonly kind: "stream" }>;

/** Refuser is the part of an exchange that refuses it. */
export interface Refuser {
  readonly arrival: DoorArrival;
  /** Reports whether the client has disconnected, so that a refusal has no reader. */
  hasDisconnected(): boolean;
  /** Writes a refusal, or ends the stream that has begun with one. */
  refuse(error: unknown): void;
  /** Discards what still comes of the request. Unset where nothing can come, or the protocol's library does it. */
  discard?(): void;
}

/** Exchange is one request and its answer, in the protocol of a door. */
export interface Exchange extends Refuser {
  /** Reads the request, counting its bytes in `share`. Throws a Refusal or a WireFault, now or later. */
  read(admission: Admission, share: BodyShare): MaybePromise<ReadCall>;
  /** Writes the answer of a unary RPC. */
  writeUnary(answer: UnaryAnswer): MaybePromise<void>;
  /** Writes the answer of a streaming RPC. It is handed over before it is there, so that silence can be filled meanwhile. */
  writeStream(answering: MaybePromise<StreamAnswer>, request: Wire): MaybePromise<void>;
}

/**
 * serve serves one call. What it throws, now or later, is a fault in writing the refusal.
 *
 * Every step may be synchronous: a REST call whose body arrived with its head allocates no promise here.
 */
export function serve(door: Door, exchange: Exchange): MaybePromise<void> {
  return orRefuse(door.gateway, exchange, () =>
    andThen(door.gateway.admit(exchange.arrival), (admission) => serveAdmitted(door, exchange, admission)),
  );
}

/** Does the work of an exchange, and refuses it with whatever the work fails by. */
export function orRefuse(gateway: Gateway, refuser: Refuser, work: () => MaybePromise<void>): MaybePromise<void> {
  return catchError(work, (error) => {
    refuser.discard?.();
    if (refuser.hasDisconnected()) return;
    gateway.broke?.(refuser.arrival, error);
    refuser.refuse(error);
  });
}

function serveAdmitted({ gateway, bodies }: Door, exchange: Exchange, admission: Admission): MaybePromise<void> {
  const { caller } = admission;
  const share = bodies.open(caller.accountId);
  return thenOrCatch(
    () => exchange.read(admission, share),
    (call) => releasing(share, () => write(exchange, call, handle(gateway, exchange, call, admission, share))),
    (error): never => {
      share.release();
      gateway.abandon(exchange.arrival, caller, error);
      throw error;
    },
  );
}

/**
 * handle has the call answered, and gives back the bytes of its body as soon as it is: a stream no longer needs them. Those of its answer
 * stay until that is written.
 */
function handle(
  gateway: Gateway,
  { arrival }: Exchange,
  { method, request, remembered }: ReadCall,
  { caller, nearest }: Admission,
  share: BodyShare,
): MaybePromise<Answer> {
  const { id, header, peer, signal } = arrival;
  return thenOrCatch(
    () => gateway.handle({ id, method, header, peer, caller, request, body: share, remembered, nearest, signal }),
    (answer) => {
      share.releaseBody();
      checkKind(method, answer);
      return answer;
    },
    (error): never => {
      share.release();
      throw error;
    },
  );
}

function checkKind(method: DescMethod, { kind }: Answer): void {
  const isUnary = method.methodKind === "unary";
  if (isUnary && kind !== "whole") throw internal(new Error("a unary RPC was answered with a stream"));
  if (!isUnary && kind !== "stream") throw internal(new Error("a streaming RPC was answered whole"));
}

function write(exchange: Exchange, call: ReadCall, answering: MaybePromise<Answer>): MaybePromise<void> {
  if (call.method.methodKind !== "unary") {
    return exchange.writeStream(answering as MaybePromise<StreamAnswer>, call.request);
  }
  return andThen(answering as MaybePromise<UnaryAnswer>, (answer) => {
    if (!exchange.hasDisconnected()) return exchange.writeUnary(answer);
  });
}

/** releasing gives back all bytes of a call once its work is done, or has failed. */
function releasing(share: BodyShare, work: () => MaybePromise<void>): MaybePromise<void> {
  return thenOrCatch(
    work,
    () => share.release(),
    (error): never => {
      share.release();
      throw error;
    },
  );
}
