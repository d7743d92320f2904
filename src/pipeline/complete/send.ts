/**
 * Sends a call to the targets of its models, one after another, until one answers: while nothing has been told to the
 * caller, what fails by an upstream's fault is tried elsewhere, and where there is nowhere else, again after a while.
 *
 * Another target is tried at once. The same one is tried again only within its budget of retries, after a pause that grows
 * and is never the same, and not before it asked to be. A target that keeps failing is left alone (`targets/breaker.ts`); a
 * call whose targets all are is refused at once. Who cannot be asked in a failed one's place (`isOwnRefusal`: there is no
 * credit for it) is passed over, and the caller is told of the failure.
 */
import { setTimeout } from "node:timers/promises";
import { cancelled, upstreamResting } from "../../call/refusals.ts";
import {
  countsForHealth,
  faultOf,
  isBusy,
  isOwnRefusal,
  isPermanent,
  isUpstreamRefusal,
  retryAfterMs,
} from "../../providers/errors/fault.ts";
import { abortSignalOf, type Signal } from "../../runtime/caller-abort.ts";
import { type MaybePromise, thenOrCatch } from "../../runtime/maybe-promise.ts";
import type { Targets } from "../../targets/targets.ts";
import { AttemptPlan, shortestRest, type ToTarget } from "./attempt-plan.ts";
import type { Hedge } from "./hedge.ts";

export interface SendOptions {
  readonly targets: Targets;
  /** How many attempts a call makes of a model at most. */
  readonly attempts: number;
  /** Makes a call twice where its answer takes long; undefined: no call is. */
  readonly hedge: Hedge | undefined;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  /** From 0 (inclusive) to 1 (exclusive). */
  readonly random: () => number;
}

/** One attempt. `signal` fires when nobody waits for it any more. Throws a Refusal, now or later. */
export type AskAt<L, A> = (lead: L, signal: Signal, isHedge: boolean) => MaybePromise<A>;

export interface Sending {
  /** Fires when the caller leaves. */
  readonly signal: Signal;
  /** When all attempts must be over, in milliseconds since 1970. */
  readonly deadline: number;
  /** Whether it may be made twice at once, and still so when its answer takes long; undefined: never. */
  readonly mayHedge: (() => boolean) | undefined;
  /** Told of each pause before it is tried again, in milliseconds. */
  readonly onPaused: (ms: number) => void;
}

export interface Send {
  /** How many attempts a call makes of a model at most. */
  readonly attempts: number;
  /** Throws a Refusal, now or later. */
  send<L extends ToTarget, A>(leads: readonly L[], sending: Sending, ask: AskAt<L, A>): MaybePromise<A>;
}

/** What is left of the time must be more for another attempt: a timer may fire a little early by the clock. */
const leastMs = 2;
const firstPauseMs = 250;
/** What an upstream is given that is busy and does not say for how long: no reason to ask others first. */
const assumedMs = 1_000;
/** Nobody is let wait longer for a retry: who would have to is told to come again. */
const longestPauseMs = 5_000;

export function createSend({ targets, attempts, hedge, clock, random }: SendOptions): Send {
  /** The pause before a retry: twice as long each time, and anything between half of it and all. */
  const pauseOf = (retries: number) => firstPauseMs * 2 ** retries * (0.5 + random() / 2);

  /** Asks at a target, and notes how it fares there. Where it fails it goes on with `otherwise`. */
  function onTrial<A>(
    { state: { breaker, load } }: ToTarget,
    signal: Signal,
    ask: () => MaybePromise<A>,
    otherwise: (error: unknown) => MaybePromise<A>,
  ): MaybePromise<A> {
    const begunAt = clock();
    breaker.began();
    load.began();
    return thenOrCatch(
      ask,
      (answer) => {
        breaker.ended("well");
        load.ended(clock() - begunAt);
        return answer;
      },
      (error) => {
        const isFault = !signal.aborted && faultOf(error) !== undefined;
        breaker.ended(isFault && countsForHealth(error) && !isBusy(error) ? "badly" : "unproved");
        const askedMs = isUpstreamRefusal(error) ? retryAfterMs(error) : 0;
        if (askedMs > assumedMs) breaker.asks(askedMs);
        load.ended(undefined);
        return otherwise(error);
      },
    );
  }

  function send<L extends ToTarget, A>(leads: readonly L[], sending: Sending, ask: AskAt<L, A>): MaybePromise<A> {
    const course = new AttemptPlan(leads, targets, attempts);
    const lead = course.next();
    if (!lead) throw upstreamResting(shortestRest(leads));
    lead.state.budget.earn();
    return askOn({ course, sending, ask }, lead, undefined);
  }

  /** Asks at a target, and goes on where it fails. `fault` is what failed before. */
  function askOn<L extends ToTarget, A>(run: Run<L, A>, at: L, fault: unknown): MaybePromise<A> {
    const { course, sending, ask } = run;
    const { signal, mayHedge } = sending;
    course.asked(at);
    const otherwise = (error: unknown) => goOn(run, at, error, fault);
    if (!hedge || !mayHedge) return onTrial(at, signal, () => ask(at, signal, false), otherwise);
    const hedging = { lead: at, other: () => course.beside(at), signal, mayAskAgain: mayHedge };
    // Each of two that may be asked at once fares by itself.
    const askThere: AskAt<L, A> = (lead, from, isHedge) => onTrial(lead, from, () => ask(lead, from, isHedge), thrown);
    return hedge.ask(askThere, hedging).catch(otherwise);
  }

  /** Asks elsewhere, or there again after a while. Throws what the caller is told where neither can be. */
  function goOn<L extends ToTarget, A>(run: Run<L, A>, at: L, error: unknown, before: unknown): MaybePromise<A> {
    const { course, sending } = run;
    const { signal, deadline } = sending;
    const isPassedOver = before !== undefined && isOwnRefusal(error);
    if (signal.aborted || (faultOf(error) === undefined && !isPassedOver)) throw error;
    const fault = isPassedOver ? before : error;
    if (clock() + leastMs > deadline) throw fault;
    course.failed(at, isPassedOver);
    const next = course.next();
    if (next) {
      next.state.budget.earn();
      return askOn(run, next, fault);
    }
    if (isPassedOver || course.isSpent(at)) throw fault;
    const pauseMs = Math.max(pauseOf(course.count(at) - 1), retryAfterMs(error));
    const isTooLong = pauseMs > longestPauseMs || clock() + pauseMs >= deadline;
    // Who would not wait there as long as others gets no retry that is theirs, too.
    if (isPermanent(error) || !countsForHealth(error) || isTooLong || at.state.breaker.restMs() > 0) throw error;
    if (!at.state.budget.take()) throw error;
    return pause(pauseMs, signal).then(() => {
      sending.onPaused(pauseMs);
      return askOn(run, at, fault);
    });
  }

  return { attempts, send };
}

function thrown(error: unknown): never {
  throw error;
}

/** Resolves after a while. Throws a Refusal where the caller leaves before. */
async function pause(ms: number, signal: Signal): Promise<void> {
  await setTimeout(ms, undefined, { signal: abortSignalOf(signal) }).catch(() => {
    throw cancelled();
  });
}

/** What all attempts of a call are made by. */
interface Run<L extends ToTarget, A> {
  readonly course: AttemptPlan<L>;
  readonly sending: Sending;
  readonly ask: AskAt<L, A>;
}
