/**
 * One attempt at one target: translate where its upstream speaks another family, reserve what the call may cost, ask, hold
 * a stream's head back until its first content, and translate back.
 *
 * What a translation leaves out is named in the answer header `x-gateway-dropped`, and what a gateway behind this one
 * leaves out with it. A caller who sends `x-gateway-strict: true` is refused instead, before anything is sent.
 */

import type { Answer, AnswerHeaders, Call } from "../../call/call.ts";
import type { AttemptRecord } from "../../call/call-record.ts";
import type { Form, Input, Operation, Output } from "../../call/operations.ts";
import { wouldBeDropped } from "../../call/refusals.ts";
import type { Translated } from "../../families/translation.ts";
import { outputBound } from "../../ledger/worst-case.ts";
import type { Attempt } from "../../providers/contract.ts";
import type { Timeouts } from "../../providers/upstream/timeouts.ts";
import type { Signal } from "../../runtime/caller-abort.ts";
import { runCooperatively } from "../../runtime/cooperative.ts";
import { andThen, catchError, type MaybePromise } from "../../runtime/maybe-promise.ts";
import type { Wire } from "../../wire/wire.ts";
import { outputOf } from "../charge/estimate.ts";
import type { AttemptMeter, CallMeter } from "../charge/meter.ts";
import type { Reservation } from "../charge/reserve.ts";
import { endless } from "../check/deadline.ts";
import type { Candidate } from "../complete/candidates.ts";
import type { CallStreams } from "./drain.ts";
import { droppedHeaders } from "./dropped-headers.ts";
import { firstContentGate } from "./first-content-gate.ts";
import { translate } from "./translate.ts";
import { UpstreamStream } from "./upstream-stream.ts";

/** What all attempts of a call share. */
export interface AttemptOptions<F extends Form> {
  readonly form: F;
  readonly meter: CallMeter;
  readonly reservation: Reservation;
  /** The streams of the call; undefined where it is answered whole. */
  readonly streams: CallStreams | undefined;
  /** When the call came, in milliseconds since 1970. */
  readonly arrivedAt: number;
  /** When all attempts must be over, in milliseconds since 1970. */
  readonly deadline: number;
  /** Bounds that the caller set for each attempt. */
  readonly timeouts: Partial<Timeouts>;
  /** Whether the caller would rather be refused than have anything left out. */
  readonly isStrict: boolean;
  /** Who goes first where calls wait for a place at an upstream: 0 (first) to 9. */
  readonly priority: number;
  /** Whether a stream's head is held back: what cannot be tried again need not wait. */
  readonly holdsHead: boolean;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  /** Told of an attempt when it is sent. */
  readonly onSent: (lead: Candidate, facts: AttemptRecord) => void;
}

export interface Answered<O extends Operation, F extends Form> {
  readonly answer: Answer<Output<O, F>>;
  readonly lead: Candidate;
  readonly facts: AttemptRecord;
}

/** Asks `part`, which is the call or one of several that it consists of, at a target. Throws a Refusal, now or later. */
export function attemptAt<O extends Operation, F extends Form>(
  lead: Candidate,
  part: Call<Input<O>>,
  signal: Signal,
  isHedge: boolean,
  options: AttemptOptions<F>,
): MaybePromise<Answered<O, F>> {
  const translating = translate(lead, part, options);
  const translated = runCooperatively(translating, part.request.isLong);
  return andThen(translated, (asked) => attemptWith(asked, lead, part, signal, isHedge, options));
}

function attemptWith<O extends Operation, F extends Form>(
  translated: Translated<Operation, Operation>,
  lead: Candidate,
  part: Call<Input<O>>,
  signal: Signal,
  isHedge: boolean,
  options: AttemptOptions<F>,
): MaybePromise<Answered<O, F>> {
  const { form, meter, reservation, clock, onSent } = options;
  const { operation } = lead;
  const { dropped } = translated;
  if (dropped.length > 0 && options.isStrict) throw wouldBeDropped(dropped);
  const bounded = reservation.bound(lead, translated.request);
  return andThen(bounded, (request) => {
    const facts = factsOf(lead, clock(), isHedge);
    part.record.attempts = [...part.record.attempts, facts];
    onSent(lead, facts);
    const attempted = meter.attempt(operation, request);
    const failedFirst = followOvertaking(signal, part.signal, attempted, facts);
    const stream = options.streams && streamOf(lead, signal, attempted, request, facts, options.streams);
    const told = (answer: Answer): MaybePromise<Answered<O, F>> => {
      // A stream may last for long, and asks for no text of its request any more.
      if (form === "stream") for (const sent of [request, part.request]) sent.letGoOfText();
      const answered = { answer: toldBack(answer, translated) as Answered<O, F>["answer"], lead, facts };
      if (answer.kind !== "whole" || answered.answer.kind !== "whole" || !answer.body.isLong) return answered;
      // What was long is long in other words, too.
      return andThen((answered.answer.body as Wire).written(), () => answered);
    };
    /** Who has no sockets waits for itself. */
    const waited = () => {
      if (facts.waitedMs === 0) facts.waitedMs = performance.now() - facts.sentAt - facts.queuedMs;
    };
    const spoken = (spokenAnswer: Answer) => {
      waited();
      const answer = stream && spokenAnswer.kind === "stream" ? through(stream, spokenAnswer) : spokenAnswer;
      return form === "stream" && (options.holdsHead || lead.spare)
        ? heldBack(answer, attempted, facts).then(told)
        : told(answer);
    };
    return catchError(
      () => {
        const upstream = {
          request,
          signal: stream?.signal ?? signal,
          late: stream?.late,
          meter: attempted,
          record: facts,
        };
        return andThen(lead.speak(requestTo(lead, part, upstream, options)), spoken);
      },
      (error): never => {
        failedFirst();
        stream?.abort();
        waited();
        attempted.drop();
        facts.endedAt ??= clock();
        throw error;
      },
    );
  });
}

/** What a provider is asked. */
function requestTo<F extends Form>(
  { operation, target }: Candidate,
  { id, header, record: { trace } }: Pick<Call, "id" | "header" | "record">,
  { request, signal, late, meter, record }: Pick<Attempt, "request" | "signal" | "late" | "meter" | "record">,
  { form, deadline, timeouts, priority, clock }: AttemptOptions<F>,
): Attempt<Operation, F> {
  return {
    id,
    operation,
    form,
    request,
    model: target.model,
    header,
    signal,
    late,
    record,
    meter,
    priority,
    traceHeaders: trace?.began(record) ?? passedTrace(header),
    timeouts: deadline === endless ? timeouts : { ...timeouts, totalMs: deadline - clock() },
  };
}

/** The stream that an attempt asks for. */
function streamOf(
  { model, operation, kind, state }: Candidate,
  signal: Signal,
  meter: AttemptMeter,
  request: Wire,
  facts: AttemptRecord,
  call: CallStreams,
): UpstreamStream {
  const mostOutput = () => outputOf(operation, outputBound(operation, request.outline()), model);
  const of = { isEmbedded: kind === "embedded", pace: state.pace, reasons: model.reasons, mostOutput };
  return new UpstreamStream({ call, signal, meter, facts, ...of });
}

function through(stream: UpstreamStream, answer: Answer & { readonly kind: "stream" }): Answer {
  return { ...answer, frames: stream.through(answer.frames) };
}

/** Translates an answer back, and names what was left out on the way to it. */
function toldBack(answer: Answer, translated: Translated<Operation, Operation>): Answer {
  const { dropped } = translated;
  const further = answer.headers?.["x-gateway-dropped"];
  const told = translated.answer(answer as Answer<Output<Operation, Form>>) as Answer;
  return dropped.length === 0 && further === undefined ? told : { ...told, headers: droppedHeaders(dropped, further) };
}

/** Holds a stream's head back: what is waited for it is the upstream's. */
async function heldBack(spoken: Answer, meter: AttemptMeter, facts: AttemptRecord): Promise<Answer> {
  const spokenAt = performance.now();
  try {
    return await firstContentGate(spoken, () => meter.hasContent());
  } finally {
    facts.waitedMs += performance.now() - spokenAt;
  }
}

function factsOf({ model, target, kind }: Candidate, begunAt: number, isHedge: boolean): AttemptRecord {
  const facts: AttemptRecord = {
    upstream: target.upstream,
    kind,
    model: target.model,
    modelId: model.id,
    begunAt,
    sentAt: performance.now(),
    queuedMs: 0,
    waitedMs: 0,
  };
  if (isHedge) facts.isHedge = true;
  return facts;
}

/**
 * An attempt that another has overtaken counts no more, whether it has answered or not. Returns what says that it failed
 * before: then it was not overtaken.
 */
function followOvertaking(signal: Signal, caller: Signal, meter: AttemptMeter, facts: AttemptRecord): () => void {
  if (signal === caller) return nothing;
  const overtaken = () => {
    if (caller.aborted) return;
    facts.isOvertaken = true;
    meter.drop();
  };
  signal.addEventListener("abort", overtaken, { once: true });
  return () => signal.removeEventListener("abort", overtaken);
}

const nothing = () => {};

/** Who keeps no traces passes on where the call belongs. */
function passedTrace(header: Call["header"]): AnswerHeaders {
  const traceparent = header("traceparent");
  if (traceparent === undefined) return {};
  const tracestate = header("tracestate");
  return tracestate === undefined ? { traceparent } : { traceparent, tracestate };
}
