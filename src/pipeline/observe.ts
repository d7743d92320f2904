/**
 * Sees every call begin and end, and tells those who tell of it: the log, the metrics, the traces. A call ends when the
 * last of its answer has been handed over, or when it is refused; one that is alone is answered before it is told of.
 */
import type { Answer, Arrival, Asked, Call, Caller, Gateway, Handler } from "../call/call.ts";
import { type CallRecord, newCallRecord } from "../call/call-record.ts";
import { asRefusal, Reason, type Refusal } from "../call/refusals.ts";
import { catchError, type MaybePromise, thenOrCatch } from "../runtime/maybe-promise.ts";
import { onEnd } from "../runtime/push-stream.ts";
import type { FailedCredential } from "./admit/guesses.ts";

/** A call that is over. */
export interface EndedCall {
  readonly arrival: Arrival;
  /** Undefined where it was refused before its caller was known. */
  readonly caller: Caller | undefined;
  readonly record: CallRecord;
  /** Milliseconds since 1970. */
  readonly begunAt: number;
  readonly endedAt: number;
  /** What it ended with, if not well. */
  readonly refusal: Refusal | undefined;
}

/** Tells of calls. It never throws, and nobody waits for it. */
export interface Observer {
  /** Sees a call begin that was admitted, before anything is found out about it. */
  began?(call: Call): void;
  ended(call: EndedCall): void;
  /** Sees a credential fail, before its call is over. */
  failedCredential?(failed: FailedCredential): void;
  /** Sees an internal error of a door's own, of a call whose end it has seen or will see. */
  broke?(arrival: Arrival, refusal: Refusal): void;
}

export interface ObserveOptions {
  readonly observers: readonly Observer[];
  /** Milliseconds since 1970. */
  readonly clock: () => number;
}

/** Wraps the way of calls. */
export function observe(
  way: { readonly admit: Gateway["admit"]; readonly handle: Handler },
  { observers, clock }: ObserveOptions,
): Gateway {
  /** Internal errors that were told of. */
  const told = new WeakSet<object>();
  /** How often a call has begun or ended: of one that is alone none has meanwhile. */
  let seen = 0;
  const endedNow = (
    arrival: Arrival,
    caller: Caller | undefined,
    facts: CallRecord,
    begunAt: number,
    error: unknown,
  ): EndedCall => {
    const refusal = error === undefined ? undefined : asRefusal(error);
    if (refusal?.reason === Reason.INTERNAL) for (const one of behind(refusal)) told.add(one);
    return { arrival, caller, record: facts, begunAt, endedAt: clock(), refusal };
  };
  const tell = (ended: EndedCall) => {
    for (const observer of observers) observer.ended(ended);
  };
  /** Tells of a call that its caller has left when it is known what it cost. */
  const tellSettled = (settling: PromiseLike<void>, ended: EndedCall) => {
    void settling.then(
      () => tell(ended),
      (error: unknown) => tell({ ...ended, refusal: asRefusal(error) }),
    );
  };
  return {
    admit(arrival) {
      const begunAt = clock();
      const refused = (error: unknown): never => {
        tell(endedNow(arrival, undefined, newCallRecord(), begunAt, error));
        throw error;
      };
      return catchError(() => way.admit(arrival), refused);
    },
    broke(arrival, error) {
      const refusal = asRefusal(error);
      if (refusal.reason !== Reason.INTERNAL || behind(refusal).some((one) => told.has(one))) return;
      for (const one of behind(refusal)) told.add(one);
      for (const observer of observers) observer.broke?.(arrival, refusal);
    },
    abandon: (arrival, caller, error) => tell(endedNow(arrival, caller, newCallRecord(), clock(), error)),
    handle(asked: Asked): MaybePromise<Answer> {
      const begunAt = clock();
      const { id, method, header, peer, caller, request, body, remembered, signal } = asked;
      const call: Call = {
        id,
        method,
        header,
        peer,
        caller,
        request,
        body,
        remembered,
        signal,
        record: newCallRecord(),
      };
      const end = (error?: unknown) => {
        const ended = endedNow(asked, asked.caller, call.record, begunAt, error);
        const isAlone = seen++ === own;
        const { pendingCapture } = call.record;
        if (pendingCapture) tellSettled(pendingCapture, ended);
        else if (isAlone) whenWritten(() => tell(ended));
        else tell(ended);
      };
      const own = ++seen;
      for (const observer of observers) observer.began?.(call);
      return thenOrCatch(
        () => way.handle(call),
        (answer) => {
          if (answer.kind === "stream") return { ...answer, frames: onEnd(answer.frames, end) };
          end();
          return answer;
        },
        (error): never => {
          end(error);
          throw error;
        },
      );
    },
  };
}

/** Returns an error, and what it was made of. */
function behind(error: unknown): object[] {
  const chain: object[] = [];
  for (let at = error; typeof at === "object" && at !== null && chain.length < 10; at = (at as Error).cause)
    chain.push(at);
  return chain;
}

/**
 * Calls back when what is handed over now has been written, which is done at the end of this tick: a caller reads while its
 * call is told of. Not where there are many: the first would ask again before all are told of, and less would come together.
 */
function whenWritten(work: () => void): void {
  process.nextTick(() => process.nextTick(work));
}
