/**
 * Has a call charged once, however it ends.
 *
 * Whole answers are charged before they are handed over. A stream is charged before the batch that holds its end, or, if it
 * breaks off or its caller leaves, then. The caller's leaving does not hinder it.
 */
import { Outcome } from "../../gen/modelgateway/v1/usage_pb.ts";
import type { Answer, AnswerHeaders, Call, Frames } from "../call.ts";
import { each, flow, noMore } from "../flow.ts";
import type { Ledger } from "../ledger/ledger.ts";

/** Charges a call, and returns what the answer tells of its cost. `firstByteAt` is when its caller got the first byte. */
export type Charge = (outcome: Outcome, endedAt: number, firstByteAt: number | undefined) => Promise<AnswerHeaders>;

/** A call that will be charged. */
export interface ToCharge {
  readonly call: Call;
  /** Milliseconds since 1970. */
  readonly arrivedAt: number;
  /** Whether the end of the answer has been seen, before the batch that holds it is handed over. */
  readonly isOver: () => boolean;
  readonly charge: Charge;
}

export interface ChargeOnceOptions {
  readonly ledger: Pick<Ledger, "begin">;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  /** Told of what went wrong where nobody waits. */
  readonly onError: (error: unknown) => void;
}

/** Runs a call to its answer, and has it charged. Throws what `work` throws, when that has been done. */
export async function chargeOnce<A extends Answer>(
  running: ToCharge,
  work: () => Promise<A>,
  options: ChargeOnceOptions,
): Promise<A> {
  const charging = chargingOf(running, options);
  const { signal } = running.call;
  let answer: A;
  try {
    answer = await work();
  } catch (error) {
    await charging.end(signal.aborted ? Outcome.LEFT : Outcome.FAILED);
    throw error;
  }
  if (answer.kind === "whole") {
    if (!signal.aborted) charging.began();
    await charging.end(signal.aborted ? Outcome.LEFT : Outcome.ANSWERED);
    const headers = Object.assign({}, answer.headers, charging.costHeaders());
    return Object.assign({}, answer, { headers });
  }
  // Frames that nobody began to read have no end of their own.
  signal.addEventListener("abort", () => void charging.endUnread(), { once: true });
  return { ...answer, frames: charged(answer.frames, running, charging), trailers: charging.costHeaders };
}

interface Charging {
  /** Notes that the caller gets its first byte. */
  began(): void;
  /** Ends a call whose caller left before it asked for the first byte. */
  endUnread(): Promise<void>;
  /** Charges the call, unless that was done. */
  end(outcome: Outcome): Promise<void>;
  /** Returns what the answer tells of its cost. */
  costHeaders(): AnswerHeaders;
}

function chargingOf({ call, arrivedAt, charge }: ToCharge, { ledger, clock, onError }: ChargeOnceOptions): Charging {
  let firstByteAt: number | undefined;
  let ending: Promise<void> | undefined;
  let headers: AnswerHeaders = {};
  const isDone = ledger.begin();
  const chargeNow = async (outcome: Outcome) => {
    headers = await charge(outcome, clock(), firstByteAt);
  };
  const end = (outcome: Outcome) => {
    ending ??= chargeNow(outcome).finally(isDone);
    return ending;
  };
  return {
    began() {
      if (firstByteAt !== undefined) return;
      firstByteAt = clock();
      call.facts.firstByteMs = Math.max(0, firstByteAt - arrivedAt);
    },
    async endUnread() {
      if (firstByteAt === undefined) await end(Outcome.LEFT).catch(onError);
    },
    end,
    costHeaders: () => headers,
  };
}

function charged(frames: Frames, { call, isOver }: ToCharge, charging: Charging): Frames {
  const { signal } = call;
  return flow((take) => {
    let hasBegun = false;
    const taken = each(frames, (batch) => {
      hasBegun = true;
      // Who has left does not get it any more.
      if (signal.aborted) return take(batch);
      charging.began();
      return isOver() ? charging.end(Outcome.ANSWERED).then(() => take(batch)) : take(batch);
    });
    return taken.then(
      () => {
        if (!signal.aborted) charging.began();
        return charging.end(signal.aborted ? Outcome.LEFT : Outcome.ANSWERED);
      },
      async (error: unknown) => {
        const isLeft = error === noMore || signal.aborted;
        const failed = hasBegun ? Outcome.BROKEN : Outcome.FAILED;
        await charging.end(isLeft ? Outcome.LEFT : failed);
        throw error;
      },
    );
  });
}
