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
import type { Targets } from "../targets/targets.ts";
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
export type AskAt<L, A> = (lead: L, signal: AbortSignal, isHedge: boolean) => Promise<A>;

export interface Sending {
  /** Fires when the caller leaves. */
  readonly signal: AbortSignal;
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

const firstPauseMs = 250;
/** Nobody is let wait longer for a retry: who would have to is told to come again. */
const longestPauseMs = 5_000;

export function createSend({ targets, attempts, hedge, clock, random }: SendOptions): Send {
  /** The pause before a retry: twice as long each time, and anything between half of it and all. */
  const pauseOf = (retries: number) => firstPauseMs * 2 ** retries * (0.5 + random() / 2);

  /** Asks at one target, and has it remembered how it fared there. */
  async function askAt<L extends ToTarget, A>(lead: L, signal: AbortSignal, work: () => Promise<A>): Promise<A> {
    const { breaker, load } = targets.of(lead.target);
    const begunAt = clock();
    breaker.began();
    load.began();
    try {
      const answer = await work();
      breaker.ended("well");
      load.ended(clock() - begunAt);
      return answer;
    } catch (error) {
      const isFault = !signal.aborted && faultOf(error) !== undefined;
      breaker.ended(isFault && isTelling(error) && !isBusy(error) ? "badly" : "unproved");
      load.ended(undefined);
      throw error;
    }
  }

  async function send<L extends ToTarget, A>(leads: readonly L[], sending: Sending, ask: AskAt<L, A>): Promise<A> {
    const { signal, deadline, mayHedge } = sending;
    const course = createCourse(leads, targets, attempts);
    let lead = course.next();
    if (!lead) throw upstreamResting(shortestRest(leads, targets));
    targets.of(lead.target).budget.earn();
    let fault: unknown;
    for (;;) {
      const at = lead;
      course.asked(at);
      try {
        const attempt = (to: L, given: AbortSignal, isHedge: boolean) =>
          askAt(to, given, () => ask(to, given, isHedge));
        if (!hedge || !mayHedge) return await attempt(at, signal, false);
        return await hedge.ask(attempt, { lead: at, other: () => course.beside(at), signal, mayAskAgain: mayHedge });
      } catch (error) {
        const isPassedOver = fault !== undefined && isOwnRefusal(error);
        if (signal.aborted || (faultOf(error) === undefined && !isPassedOver)) throw error;
        if (!isPassedOver) fault = error;
        if (clock() >= deadline) throw fault;
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
        await setTimeout(pauseMs, undefined, { signal }).catch(() => {
          throw cancelled();
        });
        sending.onPaused(pauseMs);
      }
    }
  }

  return { attempts, send };
}

/** How far a call has come among its leads. */
interface Course<L> {
  /** The next that has not failed and may be asked. */
  next(): L | undefined;
  /** One that may be asked while another is: of the same model. */
  beside(lead: L): L;
  asked(lead: L): void;
  /** `model` says that no other target of its model need be asked. */
  failed(lead: L, model: boolean): void;
  /** How often its model was asked. */
  count(lead: L): number;
  /** Whether its model was asked as often as it may be. */
  isSpent(lead: L): boolean;
}

function createCourse<L extends ToTarget>(leads: readonly L[], targets: Targets, attempts: number): Course<L> {
  const failed = new Set<L>();
  const counts = new Map<string, number>();
  const count = ({ model }: L) => counts.get(model.id) ?? 0;
  const mayAsk = (lead: L) => !failed.has(lead) && count(lead) < attempts && targets.restMs(lead.target) === 0;
  const isUp = (lead: L) => targets.passesChecks(lead.target.upstream) !== false;
  return {
    // Health checks may be wrong where nothing else is left.
    next: () => leads.find((lead) => mayAsk(lead) && isUp(lead)) ?? leads.find(mayAsk),
    beside: (lead) =>
      leads.find((other) => other !== lead && other.model === lead.model && mayAsk(other) && isUp(other)) ?? lead,
    asked: (lead) => void counts.set(lead.model.id, count(lead) + 1),
    failed(lead, model) {
      for (const other of leads) if (other === lead || (model && other.model === lead.model)) failed.add(other);
    },
    count,
    isSpent: (lead) => count(lead) >= attempts,
  };
}

/** Returns leads in the order in which one after another is asked; those that are left alone at this moment are none of it. */
export function courseOf<L extends ToTarget>(leads: readonly L[], targets: Targets): L[] {
  const course = createCourse(leads, targets, Number.POSITIVE_INFINITY);
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
