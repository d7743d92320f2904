/**
 * Sends a call to its candidates, one after another, until one answers. While nothing was sent to the caller, an attempt that
 * fails by its upstream's fault is followed by one at another target, and where there is none, after a pause, at the same.
 *
 * Another target is tried at once. The same target is tried again only within its retry budget, after a pause that grows and is
 * jittered, and not before its `Retry-After`. A target that keeps failing is left alone (`targets/breaker.ts`); a call whose
 * targets are all left alone is refused at once. A fallback that the call may not be put to (`isOwnRefusal`: its credit does not
 * suffice for it) is skipped, and the caller is told of the failure before.
 */
import { setTimeout } from "node:timers/promises";
import type { Call } from "../../call/call.ts";
import type { AttemptRecord } from "../../call/call-record.ts";
import { cancelled, upstreamResting } from "../../call/refusals.ts";
import {
  countsForHealth,
  faultOf,
  isBusy,
  isOwnRefusal,
  isPermanent,
  isUpstreamRefusal,
  retryAfterMs,
} from "../../providers/errors/fault.ts";
import { abortSignalOf, type Signal } from "../../runtime/caller-abort.ts";
import { catchError, type MaybePromise, thenOrCatch } from "../../runtime/maybe-promise.ts";
import type { Targets } from "../../targets/targets.ts";
import { AttemptPlan, shortestRest } from "./attempt-plan.ts";
import type { Candidate } from "./candidates.ts";
import type { AskCandidate, Hedge } from "./hedge.ts";
import type { ModelCall } from "./model-call.ts";

export interface SendOptions {
  readonly targets: Targets;
  /** Makes a second attempt where an answer takes long. */
  readonly hedge: Hedge;
  /** clock returns milliseconds since 1970. */
  readonly clock: () => number;
  /** random returns a number from 0 (inclusive) to 1 (exclusive). */
  readonly random: () => number;
}

export interface Send {
  /** Sends a part of a call, and returns what the attempt that answered it returned. Throws a Refusal, now or later. */
  send<A>(modelCall: ModelCall, part: Call, ask: AskCandidate<Candidate, A>): MaybePromise<A>;
}

/** The least time, in milliseconds, that another attempt needs before the deadline: timers may fire a little early. */
const minAttemptMs = 2;
const firstPauseMs = 250;
/**
 * assumedRetryAfterMs is how long a busy upstream is assumed to want to be left alone where it does not say: no reason to prefer others.
 */
const assumedRetryAfterMs = 1_000;
/** The longest pause before a retry. Where the upstream asks for more, the caller is told to come back instead. */
const maxPauseMs = 5_000;

export function createSend(options: SendOptions): Send {
  const { targets } = options;
  return {
    send(modelCall, part, ask) {
      const plan = new AttemptPlan(modelCall.candidates, targets, modelCall.settings.retries.attempts);
      const first = plan.next();
      if (!first) throw upstreamResting(shortestRest(modelCall.candidates));
      const sending = { options, modelCall, part, plan, ask };
      first.state.budget.earn();
      return catchError(
        () => tryCandidate(sending, first),
        (error) => tryFurther(sending, nextAttempt(sending, first, error, undefined)),
      );
    },
  };
}

/** Sending is what the attempts at one part of a call share. */
interface Sending<A> {
  readonly options: SendOptions;
  readonly modelCall: ModelCall;
  readonly part: Call;
  readonly plan: AttemptPlan<Candidate>;
  readonly ask: AskCandidate<Candidate, A>;
}

/** The attempt that follows a failed one. */
interface NextAttempt {
  readonly candidate: Candidate;
  /** pauseMs is how long it waits before it is made, in milliseconds. */
  readonly pauseMs: number;
  /** The failure that the caller is told of if no attempt answers. */
  readonly fault: unknown;
}

/** tryFurther makes one attempt after another until one answers. Throws where there is no further one. */
async function tryFurther<A>(sending: Sending<A>, first: NextAttempt): Promise<A> {
  const { record } = sending.modelCall.call;
  let next = first;
  for (;;) {
    const { candidate, pauseMs, fault } = next;
    if (pauseMs > 0) {
      await pause(pauseMs, sending.part.signal);
      record.pausedMs = (record.pausedMs ?? 0) + pauseMs;
    }
    try {
      return await tryCandidate(sending, candidate);
    } catch (error) {
      next = nextAttempt(sending, candidate, error, fault);
    }
  }
}

/** tryCandidate makes an attempt at a candidate, and a second one beside it where the call is hedged. */
function tryCandidate<A>(sending: Sending<A>, candidate: Candidate): MaybePromise<A> {
  const { options, modelCall, part, plan } = sending;
  const { hedge, clock } = options;
  plan.tried(candidate);
  const { hedging } = modelCall.settings;
  if (!hedging || modelCall.form === "stream") return observed(sending, candidate, part.signal, false);
  // Each of the two attempts is observed by itself.
  const askEither: AskCandidate<Candidate, A> = (at, signal, isHedge) =>
    catchError(
      () => observed(sending, at, signal, isHedge),
      (error): never => {
        if (isHedge && !signal.aborted && faultOf(error) !== undefined) plan.failed(at, false);
        throw error;
      },
    );
  return hedge.ask(askEither, {
    candidate,
    afterMs: hedging.afterMs,
    other: () => plan.beside(candidate),
    signal: part.signal,
    mayAskAgain: () => clock() < modelCall.deadline && !modelCall.call.record.attempts.some(waitsHere),
  });
}

/** waitsHere reports whether an attempt waits for this gateway, and not for its upstream. */
const waitsHere = ({ isQueued, isHeldUp }: AttemptRecord) => isQueued === true || isHeldUp === true;

/** observed makes an attempt, and tells the target's breaker and load how it went. */
function observed<A>(
  { options: { clock }, ask }: Sending<A>,
  candidate: Candidate,
  signal: Signal,
  isHedge: boolean,
): MaybePromise<A> {
  const { breaker, load } = candidate.state;
  const begunAt = clock();
  breaker.began();
  load.began();
  return thenOrCatch(
    () => ask(candidate, signal, isHedge),
    (answer) => {
      breaker.ended("well");
      load.ended(clock() - begunAt);
      return answer;
    },
    (error): never => {
      const isFault = !signal.aborted && faultOf(error) !== undefined;
      breaker.ended(isFault && countsForHealth(error) && !isBusy(error) ? "badly" : "unproved");
      const delayMs = isUpstreamRefusal(error) ? retryAfterMs(error) : 0;
      if (delayMs > assumedRetryAfterMs) breaker.asks(delayMs);
      load.ended(undefined);
      throw error;
    },
  );
}

/**
 * nextAttempt returns the attempt that follows the failed one at `tried`. Throws what the caller is told where none follows. `earlier` is
 * the failure before, if there was one.
 */
function nextAttempt<A>(sending: Sending<A>, tried: Candidate, error: unknown, earlier: unknown): NextAttempt {
  const { options, modelCall, part, plan } = sending;
  const isSkipped = earlier !== undefined && isOwnRefusal(error);
  if (part.signal.aborted || (faultOf(error) === undefined && !isSkipped)) throw error;
  const fault = isSkipped ? earlier : error;
  if (options.clock() + minAttemptMs > modelCall.deadline) throw fault;
  plan.failed(tried, isSkipped);
  const candidate = plan.next();
  if (candidate) {
    candidate.state.budget.earn();
    return { candidate, pauseMs: 0, fault };
  }
  if (isSkipped || plan.isSpent(tried)) throw fault;
  return { candidate: tried, pauseMs: pauseBeforeRetry(sending, tried, error), fault };
}

/** pauseBeforeRetry returns how long to wait before the same target is tried again. Throws `error` where it must not be. */
function pauseBeforeRetry<A>({ options, modelCall, plan }: Sending<A>, tried: Candidate, error: unknown): number {
  const { clock, random } = options;
  const { breaker, budget } = tried.state;
  const pauseMs = Math.max(jitteredPause(plan.count(tried) - 1, random), retryAfterMs(error));
  const isTooLong = pauseMs > maxPauseMs || clock() + pauseMs >= modelCall.deadline;
  // A caller whose own time-out is shorter than others' gets no retry that others would pay for.
  if (isPermanent(error) || !countsForHealth(error) || isTooLong || breaker.restMs() > 0) throw error;
  if (!budget.take()) throw error;
  return pauseMs;
}

/** Doubles with each retry, and is anything between half of that and all. */
function jitteredPause(retries: number, random: () => number): number {
  return firstPauseMs * 2 ** retries * (0.5 + random() / 2);
}

/** pause resolves after a while. Throws a Refusal where the caller disconnects before. */
async function pause(ms: number, signal: Signal): Promise<void> {
  await setTimeout(ms, undefined, { signal: abortSignalOf(signal) }).catch(() => {
    throw cancelled();
  });
}
