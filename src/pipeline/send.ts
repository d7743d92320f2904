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
import type { Model, Target } from "../catalog.ts";
import { cancelled, upstreamResting } from "../errors.ts";
import { askedToWaitMs, faultOf, isBusy, isLasting, isOwnRefusal, isTelling } from "../providers/fault.ts";
import { abortSignalOf, type Signal } from "../signal.ts";
import type { TargetState, Targets } from "../targets/targets.ts";
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

/** What a call may be sent by: a target of a model, and whatever else the caller of `send` knows of it. */
export interface ToTarget {
  readonly model: Pick<Model, "id">;
  readonly target: Target;
}

/** One attempt. `signal` fires when nobody waits for it any more. */
export type AskAt<L, A> = (lead: L, signal: Signal, isHedge: boolean) => Promise<A>;

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
  /** Throws a Refusal. */
  send<L extends ToTarget, A>(leads: readonly L[], sending: Sending, ask: AskAt<L, A>): Promise<A>;
}

/** What is left of the time must be more for another attempt: a timer may fire a little early by the clock. */
const leastMs = 2;
const firstPauseMs = 250;
/** Nobody is let wait longer for a retry: who would have to is told to come again. */
const longestPauseMs = 5_000;

export function createSend({ targets, attempts, hedge, clock, random }: SendOptions): Send {
  /** The pause before a retry: twice as long each time, and anything between half of it and all. */
  const pauseOf = (retries: number) => firstPauseMs * 2 ** retries * (0.5 + random() / 2);

  /** Notes that a target is asked. Returns what is told how it fared there. */
  function begin({ target }: ToTarget): Trial {
    const { breaker, load } = targets.of(target);
    breaker.began();
    load.began();
    return { breaker, load, begunAt: clock() };
  }

  function answered({ breaker, load, begunAt }: Trial): void {
    breaker.ended("well");
    load.ended(clock() - begunAt);
  }

  function failed({ breaker, load }: Trial, error: unknown, signal: Signal): void {
    const isFault = !signal.aborted && faultOf(error) !== undefined;
    breaker.ended(isFault && isTelling(error) && !isBusy(error) ? "badly" : "unproved");
    load.ended(undefined);
  }

  /** For targets that may be asked at once, each of which fares by itself. */
  function onTrial<L extends ToTarget, A>(ask: AskAt<L, A>): AskAt<L, A> {
    return async (lead, signal, isHedge) => {
      const trial = begin(lead);
      try {
        const answer = await ask(lead, signal, isHedge);
        answered(trial);
        return answer;
      } catch (error) {
        failed(trial, error, signal);
        throw error;
      }
    };
  }

  async function send<L extends ToTarget, A>(leads: readonly L[], sending: Sending, ask: AskAt<L, A>): Promise<A> {
    const { signal, deadline, mayHedge } = sending;
    const course = new Course(leads, targets, attempts);
    let lead = course.next();
    if (!lead) throw upstreamResting(shortestRest(leads, targets));
    targets.of(lead.target).budget.earn();
    let fault: unknown;
    for (;;) {
      const at = lead;
      course.asked(at);
      let trial: Trial | undefined;
      try {
        if (hedge && mayHedge) {
          const hedging = { lead: at, other: () => course.beside(at), signal, mayAskAgain: mayHedge };
          return await hedge.ask(onTrial(ask), hedging);
        }
        trial = begin(at);
        const answer = await ask(at, signal, false);
        answered(trial);
        return answer;
      } catch (error) {
        if (trial) failed(trial, error, signal);
        const isPassedOver = fault !== undefined && isOwnRefusal(error);
        if (signal.aborted || (faultOf(error) === undefined && !isPassedOver)) throw error;
        if (!isPassedOver) fault = error;
        if (clock() + leastMs > deadline) throw fault;
        course.failed(at, isPassedOver);
        const next = course.next();
        if (next) {
          targets.of(next.target).budget.earn();
          lead = next;
          continue;
        }
        if (isPassedOver || course.isSpent(at)) throw fault;
        const pauseMs = Math.max(pauseOf(course.count(at) - 1), askedToWaitMs(error));
        const isTooLong = pauseMs > longestPauseMs || clock() + pauseMs >= deadline;
        // Who would not wait there as long as others gets no retry that is theirs, too.
        if (isLasting(error) || !isTelling(error) || isTooLong || targets.restMs(at.target) > 0) throw error;
        if (!targets.of(at.target).budget.take()) throw error;
        await setTimeout(pauseMs, undefined, { signal: abortSignalOf(signal) }).catch(() => {
          throw cancelled();
        });
        sending.onPaused(pauseMs);
      }
    }
  }

  return { attempts, send };
}

/** What is known of a target that is asked at this moment. */
interface Trial extends Pick<TargetState, "breaker" | "load"> {
  /** Milliseconds since 1970. */
  readonly begunAt: number;
}

/** How far a call has come among its leads. Most calls ask once: what they need not know is not kept. */
class Course<L extends ToTarget> {
  readonly #leads: readonly L[];
  readonly #targets: Targets;
  /** How often each model may be asked. */
  readonly #attempts: number;
  readonly #asked: L[] = [];
  readonly #failed: L[] = [];

  constructor(leads: readonly L[], targets: Targets, attempts: number) {
    this.#leads = leads;
    this.#targets = targets;
    this.#attempts = attempts;
  }

  /** The next that has not failed and may be asked. Health checks may be wrong where nothing else is left. */
  next(): L | undefined {
    return (
      this.#leads.find((lead) => this.#mayAsk(lead) && this.#isUp(lead)) ??
      this.#leads.find((lead) => this.#mayAsk(lead))
    );
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
    return !this.#failed.includes(lead) && !this.isSpent(lead) && this.#targets.restMs(lead.target) === 0;
  }

  #isUp({ target }: L): boolean {
    return this.#targets.passesChecks(target.upstream) !== false;
  }
}

/** Returns leads in the order in which one after another is asked; those that are left alone at this moment are none of it. */
export function courseOf<L extends ToTarget>(leads: readonly L[], targets: Targets): L[] {
  const course = new Course(leads, targets, Number.POSITIVE_INFINITY);
  const order: L[] = [];
  for (let lead = course.next(); lead; lead = course.next()) {
    order.push(lead);
    course.failed(lead, false);
  }
  return order;
}

export function shortestRest(leads: readonly ToTarget[], targets: Targets): number {
  return Math.min(...leads.map(({ target }) => targets.restMs(target)));
}
