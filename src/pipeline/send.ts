/**
 * Sends a call to the targets of its model, one after another, until one answers: while nothing has been told to the
 * caller, what fails by an upstream's fault is tried elsewhere, and where there is nowhere else, again after a while.
 *
 * Another target is tried at once. The same one is tried again only within its budget of retries, after a pause that grows
 * and is never the same, and not before it asked to be. A target that keeps failing is left alone (`targets/breaker.ts`); a
 * call whose targets all are is refused at once.
 */
import { setTimeout } from "node:timers/promises";
import type { Target } from "../catalog.ts";
import { cancelled, upstreamResting } from "../errors.ts";
import { askedToWaitMs, faultOf, isBusy, isLasting } from "../providers/fault.ts";
import type { Targets } from "../targets/targets.ts";

/** An attempt that failed before the one that counts. */
export interface Tried {
  readonly upstream: string;
  /** When it began, and how long it took, in milliseconds. */
  readonly at: number;
  readonly ms: number;
  /** What failed, in the gateway's own words. */
  readonly failure: string;
}

export interface SendOptions {
  readonly targets: Targets;
  /** How many attempts a call makes at most. */
  readonly attempts: number;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  /** From 0 (inclusive) to 1 (exclusive). */
  readonly random: () => number;
}

/** What a call may be sent by: a target, and whatever else the caller of `send` knows of it. */
export interface ToTarget {
  readonly target: Target;
}

export interface Send {
  /** How many attempts a call makes at most. */
  readonly attempts: number;
  /** `onTried` is told of each failed attempt after which another is made. Throws a Refusal. */
  send<L extends ToTarget, A>(
    leads: readonly L[],
    signal: AbortSignal,
    ask: (lead: L) => Promise<A>,
    onTried: (tried: Tried) => void,
  ): Promise<A>;
}

const firstPauseMs = 250;
/** Nobody is let wait longer for a retry: who would have to is told to come again. */
const longestPauseMs = 5_000;

export function createSend({ targets, attempts, clock, random }: SendOptions): Send {
  /** The pause before a retry: twice as long each time, and anything between half of it and all. */
  const pauseOf = (retries: number) => firstPauseMs * 2 ** retries * (0.5 + random() / 2);

  async function send<L extends ToTarget, A>(
    leads: readonly L[],
    signal: AbortSignal,
    ask: (lead: L) => Promise<A>,
    onTried: (tried: Tried) => void,
  ): Promise<A> {
    const failed = new Set<L>();
    let lead = firstOf(leads, targets, failed);
    if (!lead) throw upstreamResting(shortestRest(leads, targets));
    targets.of(lead.target).budget.earn();
    for (let attempt = 1; ; attempt++) {
      const { breaker, budget } = targets.of(lead.target);
      const at = clock();
      breaker.began();
      try {
        const answer = await ask(lead);
        breaker.ended("well");
        return answer;
      } catch (error) {
        const failure = signal.aborted ? undefined : faultOf(error);
        breaker.ended(failure === undefined || isBusy(error) ? "unproved" : "badly");
        if (failure === undefined) throw error;
        if (attempt >= attempts) throw error;
        const tried = { upstream: lead.target.upstream, at, ms: clock() - at, failure };
        failed.add(lead);
        const next = firstOf(leads, targets, failed);
        if (next) {
          targets.of(next.target).budget.earn();
          lead = next;
          onTried(tried);
          continue;
        }
        const pauseMs = Math.max(pauseOf(attempt - 1), askedToWaitMs(error));
        if (isLasting(error) || pauseMs > longestPauseMs || breaker.isOpen()) throw error;
        if (!budget.take()) throw error;
        onTried(tried);
        await setTimeout(pauseMs, undefined, { signal }).catch(() => {
          throw cancelled();
        });
      }
    }
  }

  return { attempts, send };
}

function firstOf<L extends ToTarget>(leads: readonly L[], targets: Targets, failed: ReadonlySet<L>): L | undefined {
  return leads.find((lead) => !failed.has(lead) && !targets.of(lead.target).breaker.isOpen());
}

function shortestRest(leads: readonly ToTarget[], targets: Targets): number {
  return Math.min(...leads.map(({ target }) => targets.of(target).breaker.restMs()));
}
