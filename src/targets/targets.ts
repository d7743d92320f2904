/**
 * How each target stands in this process: whether it is left alone, and how many retries it may still be sent.
 */
import type { Target } from "../catalog.ts";
import { type Breaker, type BreakerOptions, createBreaker } from "./breaker.ts";
import { createRetryBudget, type RetryBudget } from "./retry-budget.ts";

export interface TargetState {
  readonly breaker: Breaker;
  readonly budget: RetryBudget;
}

export interface TargetsOptions extends BreakerOptions {
  /** Which part of what a target is sent may be retries. */
  readonly retryShare: number;
}

export interface Targets {
  of(target: Target): TargetState;
}

/** Targets are known by themselves: the catalogue makes each once. */
export function createTargets({ retryShare, ...options }: TargetsOptions): Targets {
  const states = new Map<Target, TargetState>();
  return {
    of(target) {
      let state = states.get(target);
      if (!state) {
        state = { breaker: createBreaker(options), budget: createRetryBudget(retryShare) };
        states.set(target, state);
      }
      return state;
    },
  };
}
