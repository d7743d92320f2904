/**
 * The state of each target in this process: its breaker, retry budget, load and pace, and the operations that it turned out not
 * to serve; and of each upstream, whether its health checks pass.
 */

import { type Breaker, type BreakerOptions, type BreakerSettings, createBreaker } from "./breaker.ts";
import type { Target } from "./catalog.ts";
import { createFurtherKeys, type FurtherKeys } from "./further-keys.ts";
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
  readonly furtherKeys: FurtherKeys;
}

export interface TargetsOptions extends Pick<BreakerOptions, "clock"> {
  /** Returns when breakers open, and the retries per call that a target may be sent. */
  readonly settings: () => { readonly breaker: BreakerSettings; readonly retries: { readonly share: number } };
  /** Called when the breaker of a target opens, and when it closes. */
  readonly onResting?: (target: Target, isResting: boolean) => void;
}

export interface Targets {
  of(target: Target): TargetState;
  /** Milliseconds until the target's breaker lets a probe through; 0 if closed. */
  restMs(target: Target): number;
  /** Notes whether an upstream is healthy; undefined where it is not checked any more. */
  checked(upstream: string, passes: boolean | undefined): void;
  /** passesChecks is undefined where the upstream is not checked, or not yet. */
  passesChecks(upstream: string): boolean | undefined;
}

/** createTargets keeps the state of each target, by its Target object. The catalogue makes each target once; a state goes with its target. */
export function createTargets({ settings, clock, onResting = () => {} }: TargetsOptions): Targets {
  const states = new WeakMap<Target, TargetState>();
  const checks = new Map<string, boolean>();
  const of = (target: Target) => {
    let state = states.get(target);
    if (!state) {
      const load = createLoad(clock);
      const onChange = (isOpen: boolean) => onResting(target, isOpen);
      const breaker = createBreaker({ settings: () => settings().breaker, clock, onChange });
      state = {
        breaker,
        budget: createRetryBudget(() => settings().retries.share),
        load,
        pace: createPace(),
        unserved: createUnserved(clock),
        furtherKeys: createFurtherKeys(clock),
      };
      states.set(target, state);
    }
    return state;
  };
  return {
    of,
    restMs: (target) => of(target).breaker.restMs(),
    checked(upstream, passes) {
      if (passes === undefined) checks.delete(upstream);
      else checks.set(upstream, passes);
    },
    passesChecks: (upstream) => checks.get(upstream),
  };
}
