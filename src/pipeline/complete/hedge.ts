/**
 * Makes a call once more where its answer takes long, and takes the answer that comes first: the other attempt is given up.
 *
 * An upstream may charge for what was given up, so only a part of all calls is made twice. What that may have cost is told
 * (`lost_cost` of the attempt, and among the metrics); the caller pays for the answer that it got.
 */
import { setTimeout } from "node:timers/promises";
import { abortSignalOf, type Signal } from "../../runtime/caller-abort.ts";
import { createRetryBudget } from "../../targets/retry-budget.ts";
import type { AskAt } from "./send.ts";

export interface HedgeOptions {
  /** After how long without an answer, in milliseconds. */
  readonly afterMs: number;
  /** Which part of calls may be made twice. */
  readonly share: number;
}

export interface Hedge {
  /** Throws what the attempt threw that was alone at last. */
  ask<L, A>(ask: AskAt<L, A>, from: Hedging<L>): Promise<A>;
}

interface Hedging<L> {
  readonly lead: L;
  /** Where it is asked beside the first. */
  readonly other: () => L;
  readonly signal: Signal;
  /** Whether it still makes sense when the time is up: who waits for a place is not asked quicker by waiting twice. */
  readonly mayAskAgain: () => boolean;
}

export function createHedge({ afterMs, share }: HedgeOptions): Hedge {
  const budget = createRetryBudget(share);
  return {
    async ask<L, A>(ask: AskAt<L, A>, { lead, other, signal: caller, mayAskAgain }: Hedging<L>): Promise<A> {
      budget.earn();
      const signal = abortSignalOf(caller);
      const [first, second] = [new AbortController(), new AbortController()];
      const asking = asked(ask, lead, AbortSignal.any([signal, first.signal]), false);
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

/** Asks, and promises what comes of it: promises can be raced. */
async function asked<L, A>(ask: AskAt<L, A>, lead: L, signal: Signal, isHedge: boolean): Promise<A> {
  return ask(lead, signal, isHedge);
}

/** What the race is lost to. */
const timeIsUp = Symbol("the time is up");

/** Resolves with the answer that comes first, and gives the other up. Where one fails the other is waited for. */
async function firstOf<A>(
  one: Promise<A>,
  other: Promise<A>,
  leaveOne: AbortController,
  leaveOther: AbortController,
): Promise<A> {
  let hasWon = false;
  const won = (leave: AbortController) => (answer: A) => {
    // Who answers all the same that was given up does not give up the one that was taken.
    if (!hasWon) leave.abort();
    hasWon = true;
    return answer;
  };
  try {
    return await Promise.any([one.then(won(leaveOther)), other.then(won(leaveOne))]);
  } catch (error) {
    throw (error as AggregateError).errors[0];
  }
}
