/** AttemptPlan picks the next candidate of a call, and remembers which were tried and which failed. */
import type { Model, Target } from "../../targets/catalog.ts";
import type { TargetState, Targets } from "../../targets/targets.ts";

/** PlannedCandidate is what the plan reads of a candidate. */
export interface PlannedCandidate {
  readonly model: Pick<Model, "id">;
  readonly target: Target;
  readonly state: TargetState;
}

/** shortestRest returns the milliseconds until the first of the candidates' breakers lets a call through. */
export function shortestRest(candidates: readonly PlannedCandidate[]): number {
  return Math.min(...candidates.map(({ state }) => state.breaker.restMs()));
}

export class AttemptPlan<C extends PlannedCandidate> {
  readonly #candidates: readonly C[];
  readonly #targets: Pick<Targets, "passesChecks">;
  readonly #attempts: number;
  readonly #tried: C[] = [];
  readonly #failed: C[] = [];

  /** `attempts` is how many attempts a call may make at each model. */
  constructor(candidates: readonly C[], targets: Pick<Targets, "passesChecks">, attempts: number) {
    this.#candidates = candidates;
    this.#targets = targets;
    this.#attempts = attempts;
  }

  /**
   * Returns the next candidate that has not failed and may be tried. One that fails its health checks, or has sent
   * `Retry-After`, comes last: checks can be wrong, and what another call met need not happen to this one.
   */
  next(): C | undefined {
    let down: C | undefined;
    for (const candidate of this.#candidates) {
      if (!this.#mayTry(candidate)) continue;
      if (this.#isUp(candidate)) return candidate;
      down ??= candidate;
    }
    return down;
  }

  /** Returns a candidate of the same model that may be tried beside this one; this one where there is no other. */
  beside(candidate: C): C {
    const isBeside = (other: C) => other !== candidate && other.model === candidate.model;
    return this.#candidates.find((other) => isBeside(other) && this.#mayTry(other) && this.#isUp(other)) ?? candidate;
  }

  tried(candidate: C): void {
    this.#tried.push(candidate);
  }

  /** `isWholeModel` says that the other targets of its model would fail alike. */
  failed(candidate: C, isWholeModel: boolean): void {
    for (const other of this.#candidates)
      if (other === candidate || (isWholeModel && other.model === candidate.model)) this.#failed.push(other);
  }

  /** Returns how often the candidate's model was tried. */
  count({ model }: C): number {
    let count = 0;
    for (const tried of this.#tried) if (tried.model.id === model.id) count++;
    return count;
  }

  /** Reports whether the candidate's model was tried as often as it may be. */
  isSpent(candidate: C): boolean {
    return this.count(candidate) >= this.#attempts;
  }

  #mayTry(candidate: C): boolean {
    return !this.#failed.includes(candidate) && !this.isSpent(candidate) && candidate.state.breaker.restMs() === 0;
  }

  #isUp({ target, state }: C): boolean {
    return state.breaker.askedMs() === 0 && this.#targets.passesChecks(target.upstream) !== false;
  }
}

/** attemptOrder returns the candidates in the order in which they would be tried. Those whose breaker is open are left out. */
export function attemptOrder<C extends PlannedCandidate>(
  candidates: readonly C[],
  targets: Pick<Targets, "passesChecks">,
): C[] {
  const plan = new AttemptPlan(candidates, targets, Number.POSITIVE_INFINITY);
  const order: C[] = [];
  for (let candidate = plan.next(); candidate; candidate = plan.next()) {
    order.push(candidate);
    plan.failed(candidate, false);
  }
  return order;
}
