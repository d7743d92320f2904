/** How far a call has come among its leads: which it has asked, which have failed, and which it may ask next. */
import type { Model, Target } from "../../targets/catalog.ts";
import type { TargetState, Targets } from "../../targets/targets.ts";

/** What a call may be sent by: a target of a model, and whatever else whoever sends it knows of it. */
export interface ToTarget {
  readonly model: Pick<Model, "id">;
  readonly target: Target;
  /** How the target stands. */
  readonly state: TargetState;
}

/** For how long the first of them is left alone yet, in milliseconds. */
export function shortestRest(leads: readonly ToTarget[]): number {
  return Math.min(...leads.map(({ state }) => state.breaker.restMs()));
}

/** Most calls ask once: what they need not know is not kept. */
export class AttemptPlan<L extends ToTarget> {
  readonly #leads: readonly L[];
  readonly #targets: Pick<Targets, "passesChecks">;
  /** How often each model may be asked. */
  readonly #attempts: number;
  readonly #asked: L[] = [];
  readonly #failed: L[] = [];

  constructor(leads: readonly L[], targets: Pick<Targets, "passesChecks">, attempts: number) {
    this.#leads = leads;
    this.#targets = targets;
    this.#attempts = attempts;
  }

  /**
   * The next that has not failed and may be asked. One that fails its health checks, or has asked to be left alone, is the last:
   * checks may be wrong, and what another call has met need not meet this one.
   */
  next(): L | undefined {
    let down: L | undefined;
    for (const lead of this.#leads) {
      if (!this.#mayAsk(lead)) continue;
      if (this.#isUp(lead)) return lead;
      down ??= lead;
    }
    return down;
  }

  /** One that may be asked while another is: of the same model. */
  beside(lead: L): L {
    const isBeside = (other: L) => other !== lead && other.model === lead.model;
    return this.#leads.find((other) => isBeside(other) && this.#mayAsk(other) && this.#isUp(other)) ?? lead;
  }

  asked(lead: L): void {
    this.#asked.push(lead);
  }

  /** `model` says that no other target of its model need be asked. */
  failed(lead: L, model: boolean): void {
    for (const other of this.#leads)
      if (other === lead || (model && other.model === lead.model)) this.#failed.push(other);
  }

  /** How often its model was asked. */
  count({ model }: L): number {
    let count = 0;
    for (const asked of this.#asked) if (asked.model.id === model.id) count++;
    return count;
  }

  /** Whether its model was asked as often as it may be. */
  isSpent(lead: L): boolean {
    return this.count(lead) >= this.#attempts;
  }

  #mayAsk(lead: L): boolean {
    return !this.#failed.includes(lead) && !this.isSpent(lead) && lead.state.breaker.restMs() === 0;
  }

  #isUp({ target, state }: L): boolean {
    return state.breaker.askedMs() === 0 && this.#targets.passesChecks(target.upstream) !== false;
  }
}

/** Returns leads in the order in which one after another is asked; those that are left alone at this moment are none of it. */
export function attemptOrder<L extends ToTarget>(leads: readonly L[], targets: Pick<Targets, "passesChecks">): L[] {
  const course = new AttemptPlan(leads, targets, Number.POSITIVE_INFINITY);
  const order: L[] = [];
  for (let lead = course.next(); lead; lead = course.next()) {
    order.push(lead);
    course.failed(lead, false);
  }
  return order;
}
