/**
 * `sequence` makes one function of several steps, each of which may return a value or a promise.
 *
 * It is the one place on the way of a call that asks which of the two it got. Steps of a call hardly ever have to wait, and a
 * sequence whose steps all return values runs to its end in one go, without a promise.
 */
import { isPromise, type MaybePromise } from "./maybe-promise.ts";

/** Step works on a state, with the value that the step before it returned. It throws, or its promise rejects, to stop. */
export type Step<S, I, O> = (state: S, input: I) => MaybePromise<O>;

/** FirstStep begins a sequence: there is no value yet. */
type FirstStep<S, O> = (state: S) => MaybePromise<O>;

/** Failed gets what a step threw or rejected with, and throws what the sequence is to fail with. */
type Failed<S> = (state: S, error: unknown) => never;

type Sequence<S, O> = (state: S) => MaybePromise<O>;

/** sequence returns a function that runs the steps in order and returns what the last one returned. */
export function sequence<S, A, B>(steps: readonly [FirstStep<S, A>, Step<S, A, B>], failed?: Failed<S>): Sequence<S, B>;
export function sequence<S, A, B, C>(
  steps: readonly [FirstStep<S, A>, Step<S, A, B>, Step<S, B, C>],
  failed?: Failed<S>,
): Sequence<S, C>;
export function sequence<S, A, B, C, D>(
  steps: readonly [FirstStep<S, A>, Step<S, A, B>, Step<S, B, C>, Step<S, C, D>],
  failed?: Failed<S>,
): Sequence<S, D>;
export function sequence<S, A, B, C, D, E>(
  steps: readonly [FirstStep<S, A>, Step<S, A, B>, Step<S, B, C>, Step<S, C, D>, Step<S, D, E>],
  failed?: Failed<S>,
): Sequence<S, E>;
export function sequence<S, A, B, C, D, E, F>(
  steps: readonly [FirstStep<S, A>, Step<S, A, B>, Step<S, B, C>, Step<S, C, D>, Step<S, D, E>, Step<S, E, F>],
  failed?: Failed<S>,
): Sequence<S, F>;
export function sequence<S, A, B, C, D, E, F, G>(
  steps: readonly [
    ...[FirstStep<S, A>, Step<S, A, B>, Step<S, B, C>, Step<S, C, D>, Step<S, D, E>, Step<S, E, F>, Step<S, F, G>],
  ],
  failed?: Failed<S>,
): Sequence<S, G>;
export function sequence<S>(steps: readonly unknown[], failed?: Failed<S>): Sequence<S, unknown> {
  const all = steps as readonly Step<S, unknown, unknown>[];
  if (!failed) return (state) => run(all, state, 0, undefined);
  return (state) => runGuarded(all, state, 0, undefined, failed);
}

function run<S>(steps: readonly Step<S, unknown, unknown>[], state: S, from: number, input: unknown): unknown {
  let value = input;
  for (let at = from; at < steps.length; at++) {
    value = (steps[at] as Step<S, unknown, unknown>)(state, value);
    if (!isPromise(value)) continue;
    return at + 1 === steps.length ? value : value.then((settled) => run(steps, state, at + 1, settled));
  }
  return value;
}

function runGuarded<S>(
  steps: readonly Step<S, unknown, unknown>[],
  state: S,
  from: number,
  input: unknown,
  failed: Failed<S>,
): unknown {
  let value = input;
  try {
    for (let at = from; at < steps.length; at++) {
      value = (steps[at] as Step<S, unknown, unknown>)(state, value);
      if (!isPromise(value)) continue;
      return value.then(
        (settled) => runGuarded(steps, state, at + 1, settled, failed),
        (error: unknown) => failed(state, error),
      );
    }
  } catch (error) {
    failed(state, error);
  }
  return value;
}
