/**
 * Observes every call from its beginning to its end, and reports it to the log, the metrics and the traces. A call ends when the
 * last of its answer has been handed over, or when it is refused. The only call at a time is answered before it is reported.
 */
import type { Answer, Arrival, Asked, Call, Caller, Gateway, Handler } from "../call/call.ts";
import { type CallRecord, newCallRecord } from "../call/call-record.ts";
import { asRefusal, Reason, Refusal } from "../call/refusals.ts";
import { catchError, type MaybePromise, thenOrCatch } from "../runtime/maybe-promise.ts";
import { onEnd } from "../runtime/push-stream.ts";
import type { FailedCredential } from "./admit/guesses.ts";
import { modelNamed } from "./refused/named-model.ts";

/** A call that has ended. */
export interface EndedCall {
  readonly arrival: Arrival;
  /** caller is undefined where the call was refused before its caller was known. */
  readonly caller: Caller | undefined;
  readonly record: CallRecord;
  /** begunAt is in milliseconds since 1970. */
  readonly begunAt: number;
  readonly endedAt: number;
  /** refusal is what the call ended with; undefined where it ended well. */
  readonly refusal: Refusal | undefined;
}

/** Observer is told of calls. It never throws, and no call waits for it. */
export interface Observer {
  /** Called when an admitted call begins, before anything is recorded of it. */
  began?(call: Call): void;
  ended(call: EndedCall): void;
  /** Called when a credential fails, before its call has ended. */
  failedCredential?(failed: FailedCredential): void;
  /** Called for an internal error of a door's own. The end of its call is reported besides. */
  broke?(arrival: Arrival, refusal: Refusal): void;
}

export interface ObserveOptions {
  readonly observers: readonly Observer[];
  /** clock returns milliseconds since 1970. */
  readonly clock: () => number;
}

/** observe wraps a gateway, so that the observers see all of its calls. */
export function observe(
  gateway: { readonly admit: Gateway["admit"]; readonly handle: Handler },
  options: ObserveOptions,
): Gateway {
  const { clock } = options;
  const reports = new Reports(options);
  return {
    admit(arrival) {
      const begunAt = clock();
      return catchError(
        () => gateway.admit(arrival),
        (error): never => {
          const caller = error instanceof Refusal ? error.caller : undefined;
          reports.ended(reports.endOf(arrival, caller, newCallRecord(), begunAt, error));
          throw error;
        },
      );
    },
    broke: (arrival, error) => reports.broke(arrival, error),
    abandon: (arrival, caller, error) => reports.ended(reports.endOf(arrival, caller, newCallRecord(), clock(), error)),
    handle(asked): MaybePromise<Answer> {
      const begunAt = clock();
      const call = callOf(asked);
      const number = reports.begin(call);
      const end = (error?: unknown) => {
        const ended = reports.endOf(asked, asked.caller, call.record, begunAt, error);
        // Now: when the call is reported its body may be gone.
        if (ended.refusal && call.record.model === undefined) call.record.named = modelNamed(asked, ended.refusal);
        reports.endedAfter(number, ended);
      };
      return thenOrCatch(
        () => gateway.handle(call),
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

/** callOf gives a call the record that is kept of it. Named one by one: a spread would take several times as long. */
function callOf({ id, method, header, peer, caller, request, body, remembered, nearest, signal }: Asked): Call {
  return { id, method, header, peer, caller, request, body, remembered, nearest, signal, record: newCallRecord() };
}

/** Reports calls to the observers. */
class Reports {
  readonly #observers: readonly Observer[];
  readonly #clock: () => number;
  /** Internal errors that were reported. */
  readonly #reported = new WeakSet<object>();
  /** seen is how many calls have begun and ended. A call that finds the number unchanged at its end was the only one. */
  #seen = 0;

  constructor({ observers, clock }: ObserveOptions) {
    this.#observers = observers;
    this.#clock = clock;
  }

  /** Reports that a call begins, and returns its number, for `endedAfter`. */
  begin(call: Call): number {
    const number = ++this.#seen;
    for (const observer of this.#observers) observer.began?.(call);
    return number;
  }

  /** Returns the end of a call, at this moment. */
  endOf(arrival: Arrival, caller: Caller | undefined, record: CallRecord, begunAt: number, error: unknown): EndedCall {
    const refusal = error === undefined ? undefined : asRefusal(error);
    if (refusal?.reason === Reason.INTERNAL) for (const one of causesOf(refusal)) this.#reported.add(one);
    return { arrival, caller, record, begunAt, endedAt: this.#clock(), refusal };
  }

  ended(ended: EndedCall): void {
    for (const observer of this.#observers) observer.ended(ended);
  }

  /** Reports the end of the call that began with this number. Where its caller disconnected, its cost is captured first. */
  endedAfter(number: number, ended: EndedCall): void {
    const isAlone = this.#seen++ === number;
    const { pendingCapture } = ended.record;
    if (pendingCapture) {
      void pendingCapture.then(
        () => this.ended(ended),
        (error: unknown) => this.ended({ ...ended, refusal: asRefusal(error) }),
      );
    } else if (isAlone) whenWritten(() => this.ended(ended));
    else this.ended(ended);
  }

  /** Reports an internal error of a door's own, unless it was reported with a call. */
  broke(arrival: Arrival, error: unknown): void {
    const refusal = asRefusal(error);
    const causes = causesOf(refusal);
    if (refusal.reason !== Reason.INTERNAL || causes.some((one) => this.#reported.has(one))) return;
    for (const one of causes) this.#reported.add(one);
    for (const observer of this.#observers) observer.broke?.(arrival, refusal);
  }
}

/** causesOf returns an error and its causes. */
function causesOf(error: unknown): object[] {
  const chain: object[] = [];
  for (let at = error; typeof at === "object" && at !== null && chain.length < 10; at = (at as Error).cause)
    chain.push(at);
  return chain;
}

/**
 * whenWritten calls back when what is handed over now has been written, at the end of this tick, so that the caller reads its answer while
 * the call is reported. With several calls at once this would only delay the next ones, and it is not done.
 */
function whenWritten(work: () => void): void {
  process.nextTick(() => process.nextTick(work));
}
