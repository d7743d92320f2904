/**
 * Hedging: makes a second attempt where the first takes long, and takes the answer that comes first; the other attempt is
 * aborted.
 *
 * An upstream may charge for an attempt that was aborted, so only a share of all calls is hedged. The possible cost is recorded
 * (`lost_cost` of the attempt, and in the metrics); the caller pays for the answer that it got.
 */
import { setTimeout } from "node:timers/promises";
import { isRejection } from "../../providers/errors/fault.ts";
import { abortSignalOf, type Signal } from "../../runtime/caller-abort.ts";
import type { MaybePromise } from "../../runtime/maybe-promise.ts";
import { createRetryBudget } from "../../targets/retry-budget.ts";

/** AskCandidate makes one attempt. `signal` fires when its answer is no longer awaited. Throws a Refusal, now or later. */
export type AskCandidate<C, A> = (candidate: C, signal: Signal, isHedge: boolean) => MaybePromise<A>;

/** HedgeShare returns the share of calls that may be hedged. */
export type HedgeShare = () => number;

export interface Hedge {
  /** Throws where both attempts fail: that the request was rejected, if an upstream said so, or the error of the first attempt. */
  ask<C, A>(ask: AskCandidate<C, A>, hedged: Hedged<C>): Promise<A>;
}

interface Hedged<C> {
  /** afterMs is how many milliseconds the first attempt gets before a second is made. */
  readonly afterMs: number;
  readonly candidate: C;
  /** Returns the candidate of the second attempt. */
  readonly other: () => C;
  readonly signal: Signal;
  /** Reports whether a second attempt makes sense when the time is up: a call that waits in a queue gains nothing from it. */
  readonly mayAskAgain: () => boolean;
}

export function createHedge(share: HedgeShare): Hedge {
  const budget = createRetryBudget(share);
  return {
    async ask<C, A>(ask: AskCandidate<C, A>, hedged: Hedged<C>): Promise<A> {
      const { candidate, other, signal: caller, afterMs, mayAskAgain } = hedged;
      budget.earn();
      const signal = abortSignalOf(caller);
      const [first, second] = [new AbortController(), new AbortController()];
      const asking = asked(ask, candidate, AbortSignal.any([signal, first.signal]), false);
      const waiting = new AbortController();
      const late = setTimeout(afterMs, timeIsUp, { signal: waiting.signal });
      try {
        const early = await Promise.race([asking, late.catch(() => timeIsUp)]);
        if (early !== timeIsUp) return early as A;
      } finally {
        waiting.abort();
      }
      if (signal.aborted || !mayAskAgain() || !budget.take()) return asking;
      const again = asked(ask, other(), AbortSignal.any([signal, second.signal]), true);
      return firstOf(asking, again, first, second);
    },
  };
}

/** asked makes an attempt whose result is a promise in any case, so that it can be raced. */
async function asked<C, A>(ask: AskCandidate<C, A>, candidate: C, signal: Signal, isHedge: boolean): Promise<A> {
  return ask(candidate, signal, isHedge);
}

/** The result of a race that no attempt has won in time. */
const timeIsUp = Symbol("the time is up");

/** firstOf resolves with the answer that comes first, and aborts the other attempt. Where one fails, the other is awaited. */
async function firstOf<A>(
  one: Promise<A>,
  other: Promise<A>,
  abortOne: AbortController,
  abortOther: AbortController,
): Promise<A> {
  let hasWon = false;
  const won = (loser: AbortController) => (answer: A) => {
    // An attempt that answers although it was aborted must not abort the winner.
    if (!hasWon) loser.abort();
    hasWon = true;
    return answer;
  };
  try {
    return await Promise.any([one.then(won(abortOther)), other.then(won(abortOne))]);
  } catch (error) {
    const { errors } = error as AggregateError;
    throw errors.find(isRejection) ?? errors[0];
  }
}
