/**
 * The way of a model call once its caller is known and its request is sound: find where it may go, reserve what it may
 * cost, send, settle what it cost. What an upstream does one by one is asked of it one by one; it is one call all the same,
 * reserved and settled once.
 *
 * An upstream that fails before its first content is replaced by another, or tried again (`send.ts`). Which model and which
 * upstream answered, how many attempts it took and where the time went is told in the answer's headers.
 */
import type { Answer, AnswerHeaders, Call } from "../../call/call.ts";
import type { AttemptRecord, CallRecord } from "../../call/call-record.ts";
import type { Form, Input, Operation, Output } from "../../call/operations.ts";
import { Refusal } from "../../call/refusals.ts";
import type { Ledger } from "../../ledger/contract.ts";
import type { Signal } from "../../runtime/caller-abort.ts";
import { type MaybePromise, thenOrCatch } from "../../runtime/maybe-promise.ts";
import type { Answered } from "../attempt/attempt.ts";
import { attemptOrSpare } from "../attempt/attempt-or-spare.ts";
import { CallStreams, createDrains, type Drains } from "../attempt/drain.ts";
import type { CaptureCall } from "../charge/capture.ts";
import type { Counting } from "../charge/count-used.ts";
import { createMeter } from "../charge/meter.ts";
import { createReservation } from "../charge/reserve.ts";
import { deadlineOf, timeoutsOf } from "../check/deadline.ts";
import { isStrict } from "../check/strict.ts";
import type { Candidate, CandidatesFor } from "./candidates.ts";
import { eachPrompt, partsOf } from "./each-prompt.ts";
import type { Send } from "./send.ts";
import { serverTiming } from "./server-timing.ts";

export interface CompleteOptions {
  readonly leadsOf: CandidatesFor;
  readonly send: Send;
  readonly ledger: Ledger;
  readonly settle: CaptureCall;
  readonly counting: Counting;
  /** Left out: no stream is read on after its caller has left. */
  readonly drains?: Drains;
  /** Who goes first where calls wait for a place at an upstream: 0 (first) to 9. */
  readonly priorityOf: (caller: Call["caller"]) => number;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
}

/** Answers an operation, in the form that is asked for. Throws a Refusal, now or later. */
export type Complete = <O extends Operation, F extends Form>(
  asked: O,
  form: F,
  call: Call<Input<O>>,
) => MaybePromise<Answer<Output<O, F>>>;

export function createComplete(init: CompleteOptions): Complete {
  const { leadsOf, send, ledger, settle, counting, drains = createDrains(0), priorityOf, clock } = init;
  return <O extends Operation, F extends Form>(asked: O, form: F, call: Call<Input<O>>) => {
    const begunAt = performance.now();
    const arrivedAt = clock();
    const { record } = call;
    record.operation = asked;
    record.form = form;
    const timeouts = timeoutsOf(call.header);
    const deadline = deadlineOf(timeouts, arrivedAt);
    const strict = isStrict(call.header);
    const leads = leadsOf(asked, call);
    const [first] = leads;
    record.model = first.model.id;
    const meter = createMeter(partsOf(first.way, call), counting);
    const streams = form === "stream" ? new CallStreams(drains, call) : undefined;
    const reservation = createReservation(ledger, { call, asked, arrivedAt });
    let reached: { lead: Candidate; facts: AttemptRecord | undefined } = { lead: first, facts: undefined };
    const reach = (lead: Candidate, attempt: AttemptRecord) => {
      reached = { lead, facts: attempt };
      record.model = lead.model.id;
    };
    const options = {
      form,
      meter,
      reservation,
      streams,
      arrivedAt,
      deadline,
      timeouts,
      isStrict: strict,
      priority: priorityOf(call.caller),
      holdsHead: send.attempts > 1 || leads.length > 1,
      clock,
      onSent: reach,
    };
    const mayHedge = form === "whole" ? () => clock() < deadline && !record.attempts.some(isQueued) : undefined;
    const onPaused = (ms: number) => {
      record.pausedMs = (record.pausedMs ?? 0) + ms;
    };
    const answeredBy = ({ answer, lead, facts: attempt }: Answered<O, F>): Answer<Output<O, F>> => {
      // Of two that were asked at once the one that was sent last need not be the one that answered.
      reach(lead, attempt);
      const told = toldOf(lead, record, begunAt);
      const headers = answer.headers ? { ...answer.headers, ...told } : told;
      return answer.kind === "whole" ? { kind: "whole", body: answer.body, headers } : { ...answer, headers };
    };
    const ask = (part: Call<Input<O>>): MaybePromise<Answer<Output<O, F>>> => {
      const sending = { signal: part.signal, deadline, mayHedge, onPaused };
      const askAt = (to: Candidate, signal: Signal, isHedge: boolean) =>
        attemptOrSpare<O, F>(to, part, signal, isHedge, options);
      const failed = (error: unknown): never => {
        throw withWay(error, reached.lead, record, begunAt);
      };
      return thenOrCatch(() => send.send(leads, sending, askAt), answeredBy, failed);
    };
    const running = { call, asked, meter, arrivedAt, reached: () => reached, reservation, streams };
    const hasQueue = leads.some((lead) => lead.hasQueue);
    return settle(running, () => eachPrompt(first.way, form, call, ask, hasQueue));
  };
}

const isQueued = (attempt: AttemptRecord) => attempt.isQueued === true;

/** Says who answered, and where the time went. */
function toldOf(lead: Candidate, facts: CallRecord, begunAt: number): AnswerHeaders {
  let asked = 1;
  for (const { failure, isOvertaken } of facts.attempts) if (failure !== undefined || isOvertaken) asked++;
  return wayOf(lead, asked, facts, begunAt);
}

/** Has a refusal say where the call went, if it went anywhere. */
function withWay(error: unknown, lead: Candidate, facts: CallRecord, begunAt: number): unknown {
  const { length } = facts.attempts;
  return error instanceof Refusal && length > 0 ? error.with({ headers: wayOf(lead, length, facts, begunAt) }) : error;
}

function wayOf({ model, target }: Candidate, attempts: number, facts: CallRecord, begunAt: number): AnswerHeaders {
  return {
    "x-gateway-model": model.id,
    "x-gateway-upstream": target.upstream,
    "x-gateway-attempts": String(attempts),
    "server-timing": serverTiming(facts, begunAt),
  };
}
