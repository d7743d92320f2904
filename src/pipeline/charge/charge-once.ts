/**
 * Has a call charged once, however it ends.
 *
 * Whole answers are charged before they are handed over. A stream is charged before the batch that holds its end, or, if it
 * breaks off or its caller leaves, then. The caller's leaving does not hinder it, and nobody who has left waits for it.
 */
import { Outcome } from "../../../gen/modelgateway/v1/usage_pb.ts";
import type { Answer, AnswerHeaders, Call, Frames } from "../../call/call.ts";
import { Refusal } from "../../call/refusals.ts";
import type { Ledger } from "../../ledger/contract.ts";
import type { Signal } from "../../runtime/caller-abort.ts";
import { andThen, Deferred, type MaybePromise, thenOrCatch } from "../../runtime/maybe-promise.ts";
import { forEach, pushStream, stopPulling } from "../../runtime/push-stream.ts";
import type { CallStreams } from "../attempt/drain.ts";
import type { CallMeter } from "./meter.ts";

/** Charges a call, and returns what the answer tells of its cost. `firstByteAt` is when its caller got the first byte. */
export type Charge = (
  outcome: Outcome,
  endedAt: number,
  firstByteAt: number | undefined,
) => MaybePromise<AnswerHeaders>;

/** A call that will be charged. */
export interface ToCharge {
  readonly call: Call;
  /** Milliseconds since 1970. */
  readonly arrivedAt: number;
  /** Knows whether the end of the answer has been seen, before the batch that holds it is handed over. */
  readonly meter: Pick<CallMeter, "isOver">;
  /** Undefined where it reads none. */
  readonly streams?: Pick<CallStreams, "isDraining"> | undefined;
  readonly charge: Charge;
}

export interface ChargeOnceOptions {
  readonly ledger: Pick<Ledger, "begin">;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  /** Told of what went wrong where nobody waits. */
  readonly onError: (error: unknown) => void;
}

/** Runs a call to its answer, and has it charged. Throws what `work` throws, when that has been done: now or later. */
export function chargeOnce<A extends Answer>(
  running: ToCharge,
  work: () => MaybePromise<A>,
  options: ChargeOnceOptions,
): MaybePromise<A> {
  const charging = new Charging(running, options);
  const { signal } = running.call;
  return thenOrCatch(
    work,
    (answer) => {
      if (answer.kind === "whole") return chargedWhole(answer, signal, charging);
      // Frames that nobody began to read have no end of their own.
      signal.addEventListener("abort", () => void charging.endUnread(), { once: true });
      return { ...answer, frames: charged(answer.frames, running, charging), trailers: () => charging.costHeaders() };
    },
    (error) =>
      andThen(signal.aborted ? chargedLeft(running, charging) : charging.end(Outcome.FAILED), (): never => {
        throw error;
      }),
  );
}

/** Charges a call whose caller has left. While it is read on for that nobody waits but who tells of the call. */
function chargedLeft({ call, streams }: ToCharge, charging: Charging): MaybePromise<void> {
  const ending = charging.end(Outcome.LEFT);
  if (!streams?.isDraining()) return ending;
  call.record.settling = ending;
  return undefined;
}

function chargedWhole<A extends Answer>(answer: A, signal: Signal, charging: Charging): MaybePromise<A> {
  if (!signal.aborted) charging.began();
  return charging.end(signal.aborted ? Outcome.LEFT : Outcome.ANSWERED).then(() => {
    return { ...answer, headers: { ...answer.headers, ...charging.costHeaders() } };
  });
}

/** What becomes of a call's charge. A class, for each of thousands of streams has one for as long as it lasts. */
class Charging {
  readonly #running: ToCharge;
  readonly #options: ChargeOnceOptions;
  readonly #isDone: () => void;
  #firstByteAt: number | undefined;
  #ending: Deferred<void> | undefined;
  #headers: AnswerHeaders = {};

  constructor(running: ToCharge, options: ChargeOnceOptions) {
    this.#running = running;
    this.#options = options;
    this.#isDone = options.ledger.begin();
  }

  /** Notes that the caller gets its first byte. */
  began(): void {
    if (this.#firstByteAt !== undefined) return;
    const { call, arrivedAt } = this.#running;
    this.#firstByteAt = this.#options.clock();
    call.record.firstByteMs = Math.max(0, this.#firstByteAt - arrivedAt);
  }

  /** Ends a call whose caller left before it asked for the first byte. */
  async endUnread(): Promise<void> {
    if (this.#firstByteAt !== undefined) return;
    try {
      await this.end(Outcome.LEFT);
    } catch (error) {
      this.#options.onError(error);
    }
  }

  /** Charges the call, unless that was done or is being done. Whoever asks hears of it where it cannot be. */
  end(outcome: Outcome): Deferred<void> {
    if (this.#ending) return this.#ending;
    const begin = new Deferred<Outcome>();
    this.#ending = begin.then((how) => this.#charge(how));
    begin.resolve(outcome);
    return this.#ending;
  }

  #charge(outcome: Outcome): MaybePromise<void> {
    return thenOrCatch(
      () => this.#running.charge(outcome, this.#options.clock(), this.#firstByteAt),
      (headers) => {
        this.#headers = headers;
        this.#isDone();
      },
      (error): never => {
        this.#isDone();
        throw error;
      },
    );
  }

  /** Returns what the answer tells of its cost. */
  costHeaders(): AnswerHeaders {
    return this.#headers;
  }
}

/** Has the call charged, and then its last batch taken. */
async function chargedBefore(charging: Charging, take: () => Promise<void> | undefined): Promise<void> {
  await charging.end(Outcome.ANSWERED);
  await take();
}

/** Whether the caller would not wait longer: that is leaving in another way. */
function isCallersBound(error: unknown): boolean {
  return error instanceof Refusal && error.isCallersBound;
}

function charged(frames: Frames, running: ToCharge, charging: Charging): Frames {
  const { call, meter } = running;
  const { signal } = call;
  return pushStream((take) => {
    let hasBegun = false;
    const taken = forEach(frames, (batch) => {
      hasBegun = true;
      // Who has left does not get it any more.
      if (signal.aborted) return take(batch);
      charging.began();
      return meter.isOver() ? chargedBefore(charging, () => take(batch)) : take(batch);
    });
    return taken.then(
      () => {
        if (signal.aborted) return chargedLeft(running, charging);
        charging.began();
        return charging.end(Outcome.ANSWERED);
      },
      async (error: unknown) => {
        const isLeft = error === stopPulling || signal.aborted || (hasBegun && isCallersBound(error));
        const failed = hasBegun ? Outcome.BROKEN : Outcome.FAILED;
        await (isLeft ? chargedLeft(running, charging) : charging.end(failed));
        throw error;
      },
    );
  });
}
