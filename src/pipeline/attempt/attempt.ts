/**
 * The steps of one attempt, which is one request to one target: translate the request to the upstream's dialect, hold what the
 * call may cost, send it, wait for a stream's first content, and translate the answer back.
 *
 * The answer header `x-gateway-dropped` names the fields that a translation drops, with those that a gateway behind this one drops. A
 * caller that sends `x-gateway-strict: true` is refused instead, before anything is sent.
 */

import type { Answer, AnswerHeaders, AnswerRoom, AnswerWaiting, Call } from "../../call/call.ts";
import type { AttemptRecord } from "../../call/call-record.ts";
import type { Form, Operation, Output } from "../../call/operations.ts";
import { Refusal, wouldBeDropped } from "../../call/refusals.ts";
import { isUsageRefused } from "../../call/request/refused-members.ts";
import type { Usage } from "../../call/usage.ts";
import type { Translated } from "../../families/translation.ts";
import type { Ledger } from "../../ledger/contract.ts";
import { outputBound } from "../../ledger/worst-case.ts";
import type { Attempt, AttemptRooms } from "../../providers/contract.ts";
import { asksForUsage, tellsUsage } from "../../providers/usage/write-usage.ts";
import type { Signal } from "../../runtime/caller-abort.ts";
import { runCooperatively } from "../../runtime/cooperative.ts";
import type { MaybePromise } from "../../runtime/maybe-promise.ts";
import { sequence } from "../../runtime/sequence.ts";
import type { JsonObject } from "../../wire/json.ts";
import type { ModelRates } from "../admit/model-rates.ts";
import { maxOutputOf } from "../charge/estimate.ts";
import { createHoldCredit } from "../charge/hold.ts";
import type { AttemptMeter } from "../charge/meter.ts";
import { endless } from "../check/deadline.ts";
import type { Candidate } from "../complete/candidates.ts";
import type { ModelCall } from "../complete/model-call.ts";
import { billRefused } from "./billed-refusal.ts";
import { droppedHeaders } from "./dropped-headers.ts";
import { firstContentGate } from "./first-content-gate.ts";
import { betasIn, plainAsWritten, translate } from "./translate.ts";
import { withUntoldUsage } from "./untold-usage.ts";
import { UpstreamStream } from "./upstream-stream.ts";

type TranslatedRequest = Translated<Operation, Operation>["request"];

/** CallAttempt is one attempt, and what its steps have made of it. */
export class CallAttempt {
  readonly modelCall: ModelCall;
  /** The call itself, or the one of its prompts that is asked. */
  readonly part: Call;
  readonly candidate: Candidate;
  /** Fires when the answer is no longer awaited. */
  readonly signal: Signal;
  /** isHedge is whether another attempt runs beside this one. */
  readonly isHedge: boolean;

  /** Set by `takeTranslation`. */
  translated!: Translated<Operation, Operation>;
  /** Set by `send`, as is all below. */
  record: AttemptRecord | undefined;
  request!: TranslatedRequest;
  meter!: AttemptMeter;
  /** Undefined for a unary answer. */
  stream: UpstreamStream | undefined;
  stopFollowing!: () => void;
  /** Set by `translateAnswer`. */
  answer!: Answer;

  constructor(modelCall: ModelCall, part: Call, candidate: Candidate, signal: Signal, isHedge: boolean) {
    this.modelCall = modelCall;
    this.part = part;
    this.candidate = candidate;
    this.signal = signal;
    this.isHedge = isHedge;
  }
}

export interface AttemptOptions {
  readonly ledger: Ledger;
  /** Takes from a key's own rates for single models. Omitted: it has none. */
  readonly modelRates?: Pick<ModelRates, "take" | "giveBack"> | undefined;
  /** clock returns milliseconds since 1970. */
  readonly clock: () => number;
}

/** RunAttempt runs an attempt, and returns it with its answer. Throws a Refusal, now or later. */
export type RunAttempt = (attempt: CallAttempt) => MaybePromise<CallAttempt>;

export function createRunAttempt({ ledger, modelRates, clock }: AttemptOptions): RunAttempt {
  const holdCredit = createHoldCredit(ledger, modelRates);
  const hold = (attempt: CallAttempt, translated: Translated<Operation, Operation>) => {
    takeTranslation(attempt, translated);
    return holdCredit(attempt.modelCall, attempt.candidate, translated.request);
  };
  return sequence(
    [
      translateRequest,
      hold,
      (attempt: CallAttempt, request: TranslatedRequest) => send(attempt, request, clock),
      awaitFirstContent,
      tellUsage,
      translateAnswer,
      (attempt: CallAttempt) => attempt,
    ],
    (attempt, error) => fail(attempt, error, clock),
  );
}

function translateRequest({ candidate, part, modelCall }: CallAttempt): MaybePromise<Translated<Operation, Operation>> {
  const asWritten = plainAsWritten(candidate, part);
  return asWritten ?? runCooperatively(translate(candidate, part, modelCall), part.request.isLong);
}

function takeTranslation(attempt: CallAttempt, translated: Translated<Operation, Operation>): void {
  const { dropped } = translated;
  if (dropped.length > 0 && attempt.modelCall.isStrict) throw wouldBeDropped(dropped);
  attempt.translated = translated;
}

/** send sends the request to the upstream. The attempt counts from here on: it is recorded, metered, and named in the answer. */
function send(attempt: CallAttempt, request: TranslatedRequest, clock: () => number): MaybePromise<Answer> {
  const { modelCall, part, candidate, signal } = attempt;
  const record = newAttemptRecord(candidate, clock(), attempt.isHedge);
  part.record.attempts = [...part.record.attempts, record];
  noteAttempt(modelCall, candidate, record);
  attempt.request = request;
  attempt.meter = modelCall.meter.attempt(candidate.operation, request);
  attempt.stopFollowing = followOvertaking(signal, part.signal, attempt.meter, record);
  attempt.record = record;
  attempt.stream = streamOf(attempt);
  return candidate.speak(requestTo(attempt, record, clock));
}

/** noteAttempt notes which attempt answers the call, or which failure the caller is told, or which was sent last. */
export function noteAttempt(modelCall: ModelCall, candidate: Candidate, record: AttemptRecord): void {
  modelCall.lastCandidate = candidate;
  modelCall.call.record.lastAttempt = record;
  modelCall.call.record.model = candidate.model.id;
}

/** requestTo returns what the provider gets. */
function requestTo(attempt: CallAttempt, record: AttemptRecord, clock: () => number): Attempt<Operation, Form> {
  const { modelCall, part, candidate, request, signal, stream, meter } = attempt;
  const { form, deadline, timeouts, priority } = modelCall;
  const { id, header } = part;
  const leftMs = deadline - clock();
  const room = answerRoomsOf(attempt, record, leftMs);
  if (stream) stream.rooms = room;
  return {
    id,
    account: part.caller.accountId,
    operation: candidate.operation,
    form,
    asked: candidate.refused?.asked,
    isUsageUnasked: isUsageRefused(candidate.refused?.members),
    request,
    model: candidate.target.model,
    header: candidate.refused ? withoutBetas(header, candidate.refused.betas) : header,
    signal: stream?.signal ?? signal,
    onLate: stream?.late,
    record,
    meter,
    room,
    priority,
    traceHeaders: part.record.trace?.began(record) ?? passedTrace(header),
    timeouts: deadline === endless ? timeouts : { ...timeouts, totalMs: leftMs },
  };
}

/** answerRoomsOf returns the memory that the attempt's answers are counted against. They wait for it as long as the attempt itself may last. */
function answerRoomsOf({ part, signal, stream }: CallAttempt, record: AttemptRecord, leftMs: number): AttemptRooms {
  const waiting: AnswerWaiting = {
    signal: stream?.signal ?? signal,
    until: performance.now() + leftMs,
    note(isWaiting) {
      record.isHeldUp = isWaiting;
    },
  };
  const opened: AnswerRoom[] = [];
  return {
    openAnswer() {
      const room = part.body.openAnswer(waiting);
      opened.push(room);
      return room;
    },
    broke(why) {
      for (const room of opened) room.leave(why);
    },
  };
}

/** withoutBetas returns the caller's headers without the values of `anthropic-beta` that the upstream has refused. */
function withoutBetas(header: Call["header"], refused: readonly string[]): Call["header"] {
  if (refused.length === 0) return header;
  return (name) => {
    const value = header(name);
    if (name !== "anthropic-beta" || value === undefined) return value;
    const left = betasIn(value).filter((beta) => !refused.includes(beta));
    return left.length === 0 ? undefined : left.join(",");
  };
}

/** streamOf returns the stream that the attempt will read; undefined where it asks for a unary answer. */
function streamOf({ modelCall, candidate, signal, meter, request, record }: CallAttempt): UpstreamStream | undefined {
  const { streams: call } = modelCall;
  if (!call || !record) return undefined;
  const { model, operation, kind, state } = candidate;
  const maxOutput = () => maxOutputOf(operation, outputBound(operation, request.outline()), model);
  const isRetold = operation !== modelCall.operation;
  const of = { isEmbedded: kind === "embedded", pace: state.pace, reasons: model.reasons, maxOutput, isRetold };
  return new UpstreamStream({ call, signal, meter, record, ...of });
}

/**
 * awaitFirstContent passes the frames of a stream through its meter, and waits for their first content: until then another candidate may
 * follow, and where none does a failure has a status and costs nothing.
 */
function awaitFirstContent(attempt: CallAttempt, sent: Answer): MaybePromise<Answer> {
  const { modelCall, stream } = attempt;
  noteWaited(attempt);
  const answer = stream && sent.kind === "stream" ? { ...sent, frames: stream.through(sent.frames) } : sent;
  return modelCall.form === "stream" ? gated(answer, attempt) : answer;
}

/** gated counts the time until the first content as time that the upstream took. */
async function gated(answer: Answer, { meter, record }: CallAttempt): Promise<Answer> {
  const gatedAt = performance.now();
  try {
    return await firstContentGate(answer, () => meter.hasContent());
  } finally {
    if (record) record.waitedMs += performance.now() - gatedAt;
  }
}

/** tellUsage has the caller of a stream told what its charge is counted by, where the upstream does not tell that. */
function tellUsage(attempt: CallAttempt, sent: Answer): Answer {
  const { modelCall, part, candidate, meter } = attempt;
  const { operation, kind } = candidate;
  if (sent.kind === "whole" || !tellsUsage(operation) || kind === "embedded") return sent;
  const frames = withUntoldUsage(sent.frames, {
    operation,
    isAskedFor: wantsUsage(modelCall.operation, part.request.outline()),
    isUntold: () => meter.isUntold(),
    told: () => meter.told(),
    count: () => modelCall.meter.measureAttempt(meter),
  });
  return { ...sent, frames };
}

/** wantsUsage reports whether a caller is to see the usage of a stream. Only callers of chat and completions have a choice. */
function wantsUsage(operation: Operation, request: JsonObject): boolean {
  return (operation !== "chat" && operation !== "completions") || asksForUsage(request);
}

/** translateAnswer translates the answer back, and names what was dropped on the way. A long body is written here, in time slices. */
function translateAnswer(attempt: CallAttempt, sent: Answer): MaybePromise<unknown> {
  const { modelCall, part, request, translated } = attempt;
  // A stream may last for long, and needs the text of its request no more.
  if (modelCall.form === "stream") for (const kept of [request, part.request]) kept.dropText();
  const { dropped } = translated;
  const further = namedFurther(sent, translated);
  const answer = translated.answer(sent as Answer<Output<Operation, Form>>) as Answer;
  const isComplete = dropped.length === 0 && further === undefined;
  if (sent.kind === "whole") attempt.meter.bill();
  attempt.answer = isComplete ? answer : { ...answer, headers: droppedHeaders(dropped, further) };
  if (sent.kind === "whole" && answer.kind === "whole" && sent.body.isLong) return answer.body.writeInSlices();
  return undefined;
}

/** namedFurther returns what the upstream, or its dialect, has dropped, by the caller's paths. */
function namedFurther({ headers }: Answer, { callersPath }: Translated<Operation, Operation>): string[] | undefined {
  const named = headers?.["x-gateway-dropped"]?.split(",").map((path) => path.trim());
  return named?.map(callersPath).filter((path) => path !== undefined);
}

/** fail ends an attempt that failed. Before it was sent there is nothing to undo. */
function fail(attempt: CallAttempt, thrown: unknown, clock: () => number): never {
  const { record, translated } = attempt;
  const error = translated && thrown instanceof Refusal ? thrown.renamed(translated.callersPath) : thrown;
  if (record) {
    attempt.stopFollowing();
    attempt.stream?.abort();
    noteWaited(attempt);
    // What the caller's own request led to, and its upstream bills, is charged (`charge/capture.ts`).
    if (attempt.signal.aborted || !billRefused(attempt.meter, error)) noteTold(record, attempt.meter.drop());
    record.endedAt ??= clock();
    const { modelCall, candidate } = attempt;
    modelCall.failed = [...(modelCall.failed ?? []), { error, candidate, record }];
  }
  throw error;
}

/** noteTold records what the upstream of an attempt has reported that is charged to nobody: it may bill the operator for that. */
function noteTold(record: AttemptRecord, told: Usage | undefined): void {
  if (told) record.told = told;
}

/** noteWaited records how long the upstream took, where its provider has not: one without sockets does not measure it. */
function noteWaited({ record }: CallAttempt): void {
  if (record?.waitedMs === 0) record.waitedMs = performance.now() - record.sentAt - record.queuedMs;
}

function newAttemptRecord({ model, target, kind }: Candidate, begunAt: number, isHedge: boolean): AttemptRecord {
  const record: AttemptRecord = {
    upstream: target.upstream,
    kind,
    model: target.model,
    modelId: model.id,
    begunAt,
    sentAt: performance.now(),
    queuedMs: 0,
    waitedMs: 0,
  };
  if (isHedge) record.isHedge = true;
  return record;
}

/**
 * followOvertaking drops an attempt from the meter when a faster one beside it has answered, whether it has answered itself or not. Returns
 * the function that stops this, for an attempt that fails before.
 */
function followOvertaking(signal: Signal, caller: Signal, meter: AttemptMeter, record: AttemptRecord): () => void {
  if (signal === caller) return nothing;
  const overtaken = () => {
    if (caller.aborted) return;
    record.isOvertaken = true;
    noteTold(record, meter.drop());
  };
  signal.addEventListener("abort", overtaken, { once: true });
  return () => signal.removeEventListener("abort", overtaken);
}

const nothing = () => {};

/** passedTrace returns the caller's own trace headers: a gateway that keeps no traces passes them on. */
function passedTrace(header: Call["header"]): AnswerHeaders {
  const traceparent = header("traceparent");
  if (traceparent === undefined) return {};
  const tracestate = header("tracestate");
  return tracestate === undefined ? { traceparent } : { traceparent, tracestate };
}
