/**
 * How each target stands in this process: how busy it is, whether it is left alone, how many retries it may still be
 * sent, and how quickly it puts out tokens; and of each upstream, whether its health checks pass.
 */

import { type Breaker, type BreakerOptions, createBreaker } from "./breaker.ts";
import type { Target } from "./catalog.ts";
import { createLoad, type Load } from "./load.ts";
import { createPace, type Pace } from "./pace.ts";
import { createRetryBudget, type RetryBudget } from "./retry-budget.ts";
import { createUnserved, type Unserved } from "./unserved.ts";

export interface TargetState {
  readonly breaker: Breaker;
  readonly budget: RetryBudget;
  readonly load: Load;
  readonly pace: Pace;
  readonly unserved: Unserved;
}

export interface TargetsOptions extends Omit<BreakerOptions, "onChange"> {
  /** Which part of what a target is sent may be retries. */
  readonly retryShare: number;
  /** Told when a target begins to be left alone, and when that is over. */
  readonly onResting?: (target: Target, isResting: boolean) => void;
}

export interface Targets {
  of(target: Target): TargetState;
  /** For how long a target is left alone yet, in milliseconds; 0 where it may be asked now. */
  restMs(target: Target): number;
  /** Notes how a health check of an upstream ended. */
  checked(upstream: string, passes: boolean): void;
  /** Whether an upstream's health checks pass; undefined where it is not checked, or was not yet. */
  passesChecks(upstream: string): boolean | undefined;
}

/** Targets are known by themselves: the catalogue makes each once, and lets go of those that are served no more. */
export function createTargets({ retryShare, onResting = () => {}, ...options }: TargetsOptions): Targets {
  const states = new WeakMap<Target, TargetState>();
  const checks = new Map<string, boolean>();
  const of = (target: Target) => {
    let state = states.get(target);
    if (!state) {
      const load = createLoad(options.clock);
      const breaker = createBreaker({ ...options, onChange: (isOpen) => onResting(target, isOpen) });
      state = {
        breaker,
        budget: createRetryBudget(retryShare),
        load,
        pace: createPace(),
        unserved: createUnserved(options.clock),
      };
      states.set(target, state);
    }
    return state;
  };
  return {
    of,
    restMs: (target) => of(target).breaker.restMs(),
    checked: (upstream, passes) => void checks.set(upstream, passes),
    passesChecks: (upstream) => checks.get(upstream),
  };
}
