/**
 * The life of a call to a model, once its caller is known and its request is valid:
 *
 *   candidates  finds the targets that may answer it, in the order in which they are tried (`candidates.ts`)
 *   estimate    works out the most that it may cost, by its own bounds and the model's price (`charge/estimate.ts`)
 *   hold        holds that much of the payer's credit in the ledger, before anything is sent (`charge/hold.ts`)
 *   attempt     sends one request to one target (`attempt/attempt.ts`). As long as nothing was sent to the caller, a failed
 *               attempt is followed by another (`send.ts`)
 *   answer      returns the upstream's answer in the caller's dialect, with headers that say where it comes from
 *   capture     charges what was used, at most what is held, once, however the call ends (`charge/capture.ts`)
 *
 * A ModelCall goes through these stages, and carries what each has found. A call of several prompts is answered part by part,
 * and is held and captured once.
 */

import { Outcome } from "../../../gen/modelgateway/v1/usage_pb.ts";
import type { Answer, AnswerHeaders, Call } from "../../call/call.ts";
import type { Form, Input, Operation, Output } from "../../call/operations.ts";
import { Refusal } from "../../call/refusals.ts";
import { priorityOf } from "../../call/tiers.ts";
import type { Ledger } from "../../ledger/contract.ts";
import type { Signal } from "../../runtime/caller-abort.ts";
import { type MaybePromise, thenOrCatch } from "../../runtime/maybe-promise.ts";
import type { ModelRates } from "../admit/model-rates.ts";
import { nearer, nearestHeader } from "../admit/nearest-limit.ts";
import { CallAttempt, createRunAttempt, noteAttempt } from "../attempt/attempt.ts";
import { attemptOrSpare } from "../attempt/attempt-or-spare.ts";
import { CallStreams } from "../attempt/call-streams.ts";
import { createDrains, type Drains } from "../attempt/drains.ts";
import { retryWithoutRefused } from "../attempt/retry-without-refused.ts";
import { budgetHeader } from "../charge/budget-words.ts";
import type { CaptureCall } from "../charge/capture.ts";
import type { Counting } from "../charge/count-used.ts";
import { createMeter } from "../charge/meter.ts";
import { deadlineOf, timeoutsOf } from "../check/deadline.ts";
import { isStrict } from "../check/strict.ts";
import type { Candidate, CandidatesFor } from "./candidates.ts";
import { eachPrompt } from "./each-prompt.ts";
import type { CallSettings, ModelCall } from "./model-call.ts";
import { countParts } from "./parts.ts";
import type { Send } from "./send.ts";
import { serverTiming } from "./server-timing.ts";

export interface CompleteOptions {
  readonly candidatesFor: CandidatesFor;
  readonly send: Send;
  readonly ledger: Ledger;
  /** Takes from a key's own rates for single models. Omitted: it has none. */
  readonly modelRates?: Pick<ModelRates, "take" | "giveBack"> | undefined;
  readonly capture: CaptureCall;
  readonly counting: Counting;
  /** Omitted: no stream is drained after its caller has disconnected. */
  readonly drains?: Drains;
  readonly settings: () => CallSettings;
  /** clock returns milliseconds since 1970. */
  readonly clock: () => number;
}

/** Complete answers an operation in the form that is asked for. Throws a Refusal, now or later. */
export type Complete = <O extends Operation, F extends Form>(
  operation: O,
  form: F,
  call: Call<Input<O>>,
) => MaybePromise<Answer<Output<O, F>>>;

/** forward answers a call of any operation. */
export function forward(complete: Complete, asked: Operation, form: Form, call: Call): MaybePromise<Answer> {
  return complete(asked, form, call as Call<Input<Operation>>) as MaybePromise<Answer>;
}

export function createComplete(options: CompleteOptions): Complete {
  const { send, capture } = options;
  /** Estimates, holds, sends, and translates the answer: one attempt at one candidate. */
  const runAttempt = retryWithoutRefused(createRunAttempt(options));

  function complete(operation: Operation, form: Form, call: Call): MaybePromise<Answer> {
    const modelCall = beginModelCall(operation, form, call, options);
    return capture(modelCall, () => eachPrompt(modelCall, (part) => answerPart(modelCall, part)));
  }

  function answerPart(modelCall: ModelCall, part: Call): MaybePromise<Answer> {
    const attemptAt = (candidate: Candidate, signal: Signal, isHedge: boolean) =>
      attemptOrSpare(new CallAttempt(modelCall, part, candidate, signal, isHedge), runAttempt);
    return thenOrCatch(
      () => send.send(modelCall, part, attemptAt),
      (attempt) => answerOf(modelCall, attempt),
      (error) => refuse(modelCall, part, error),
    );
  }

  return complete as Complete;
}

const noDrains = createDrains(() => ({ disconnectDrainMs: 0 }));

/** beginModelCall reads how the caller would have the call answered, and finds its candidates. Throws a Refusal. */
function beginModelCall(operation: Operation, form: Form, call: Call, options: CompleteOptions): ModelCall {
  const { candidatesFor, counting, drains = noDrains, settings: settingsNow, clock } = options;
  const startedAt = performance.now();
  const arrivedAt = clock();
  const { record } = call;
  record.operation = operation;
  record.form = form;
  const timeouts = timeoutsOf(call.header);
  const strict = isStrict(call.header);
  // From here on nothing is waited for: the call has one version of the configuration, whatever changes while it runs.
  const settings = settingsNow();
  const candidates = candidatesFor(operation, call);
  const [first] = candidates;
  record.model = first.model.id;
  return {
    call,
    settings,
    operation,
    form,
    arrivedAt,
    startedAt,
    timeouts,
    deadline: deadlineOf(timeouts, arrivedAt),
    isStrict: strict,
    priority: priorityOf(settings.tiers, call.caller.tier),
    candidates,
    hold: { model: undefined, boundOutput: undefined, held: undefined, isMade: false },
    lastCandidate: first,
    meter: createMeter(countParts(first.path, call), counting),
    streams: form === "stream" ? new CallStreams(drains, call) : undefined,
    outcome: Outcome.UNSPECIFIED,
    endedAt: 0,
    firstByteAt: undefined,
  };
}

/** answerOf returns the answer of an attempt, with the headers that say where it comes from. */
function answerOf(modelCall: ModelCall, { answer, candidate, record }: CallAttempt): Answer {
  // Of two hedged attempts, the one that was sent last need not be the one that answered.
  if (record) noteAttempt(modelCall, candidate, record);
  let attempts = 1;
  for (const { failure, outcome, isOvertaken } of modelCall.call.record.attempts)
    if ((failure ?? outcome) !== undefined || isOvertaken) attempts++;
  const origin = originHeaders(modelCall, attempts);
  const headers = answer.headers ? { ...answer.headers, ...origin } : origin;
  return answer.kind === "whole" ? { kind: "whole", body: answer.body, headers } : { ...answer, headers };
}

/** refuse throws a refusal with the headers that say where it comes from, if the call was sent anywhere. */
function refuse(modelCall: ModelCall, part: Call, error: unknown): never {
  // Of two hedged attempts, the one that was sent last need not be the one whose failure is told. A part that was aborted tells none.
  const failed = part.signal.aborted ? undefined : modelCall.failed?.find((one) => one.error === error);
  if (failed) noteAttempt(modelCall, failed.candidate, failed.record);
  const { length } = modelCall.call.record.attempts;
  if (error instanceof Refusal && length > 0) throw error.with({ headers: originHeaders(modelCall, length) });
  throw error;
}

function originHeaders(modelCall: ModelCall, attempts: number): AnswerHeaders {
  const { call, lastCandidate, startedAt, hold, arrivedAt } = modelCall;
  const { model, target } = lastCandidate;
  const budget = hold.held?.budget;
  const nearest = hold.nearest && nearer(call.nearest, hold.nearest);
  return {
    ...nearestHeader(nearest),
    ...(budget ? { "x-gateway-budget": budgetHeader(budget, arrivedAt) } : undefined),
    "x-gateway-model": model.id,
    "x-gateway-upstream": target.upstream,
    "x-gateway-attempts": String(attempts),
    "server-timing": serverTiming(call.record, startedAt),
  };
}
