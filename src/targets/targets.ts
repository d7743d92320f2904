/**
 * The state of each target in this process: its breaker, retry budget, load and pace, and the operations that it turned out not
 * to serve; and of each upstream, whether its health checks pass.
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
  /** Retries per call that a target may be sent. */
  readonly retryShare: number;
  /** Called when the breaker of a target opens, and when it closes. */
  readonly onResting?: (target: Target, isResting: boolean) => void;
}

export interface Targets {
  of(target: Target): TargetState;
  /** Milliseconds until the target's breaker lets a probe through; 0 if closed. */
  restMs(target: Target): number;
  /** Notes whether an upstream is healthy. */
  checked(upstream: string, passes: boolean): void;
  /** Undefined where the upstream is not checked, or not yet. */
  passesChecks(upstream: string): boolean | undefined;
}

/** State is kept by Target object. The catalogue makes each target once; a state goes with its target. */
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
