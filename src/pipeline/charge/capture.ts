/**
 * Captures the charge of a call for what it used, once, however the call ends.
 *
 * A stream that breaks off is charged for what was used until then. A call whose caller disconnected is charged when its upstream
 * has been drained (`drains.ts`). A caller who disconnects before the first content pays nothing, and so does a call that never
 * brought a byte. No call is charged more than is held for it: what an upstream reports beyond the hold is the operator's loss.
 */
import { Outcome } from "../../../gen/modelgateway/v1/usage_pb.ts";
import type { Answer, AnswerHeaders, Call, Caller } from "../../call/call.ts";
import { type CallUsage, nothingUsed, totalInput } from "../../call/usage.ts";
import type { Capture, Captured, Ledger } from "../../ledger/contract.ts";
import { formatDecimal } from "../../runtime/decimal.ts";
import { andThen, type MaybePromise } from "../../runtime/maybe-promise.ts";
import { sequence } from "../../runtime/sequence.ts";
import type { Model } from "../../targets/catalog.ts";
import { failedAttemptsOf } from "../attempt/failed-attempts.ts";
import { withChargedUsage } from "../attempt/untold-usage.ts";
import type { ModelCall } from "../complete/model-call.ts";
import { budgetHeaderAfter } from "./budget-words.ts";
import { captureOnce } from "./capture-once.ts";
import { charactersOf } from "./estimate.ts";
import type { KeptPrices } from "./kept-prices.ts";
import { type Measured, nothingMeasured } from "./meter.ts";
import { createPriceUsage, type PriceUsage, unpriced } from "./price-usage.ts";

export interface CaptureOptions {
  readonly ledger: Ledger;
  readonly keptPrices: KeptPrices;
  /** clock returns milliseconds since 1970. */
  readonly clock: () => number;
  /** Called with the tokens that a call used of a model, input and output together. */
  readonly onUsed: (caller: Caller, model: Model, tokens: number) => void;
  /** Called for a call that should have cost more than was held for it, with the difference in millionths of the unit. */
  readonly onWaived?: (call: Call, waived: number) => void;
  /** Called for a call whose upstream reported usage that cannot be true. */
  readonly onImplausible?: (call: Call) => void;
  /** Called with errors that no caller waits for. */
  readonly onError: (error: unknown) => void;
}

/** CaptureCall runs a call to its answer, and captures its charge. Throws what `work` throws, once that is captured: now or later. */
export type CaptureCall = <A extends Answer>(modelCall: ModelCall, work: () => MaybePromise<A>) => MaybePromise<A>;

export function createCapture(options: CaptureOptions): CaptureCall {
  const priceUsage = createPriceUsage(options.keptPrices);
  const capture = sequence([
    endStreams,
    measureUsage,
    (charge: Charge, measured: Measured) => rowOf(charge, measured, priceUsage),
    (charge: Charge, row: Capture) => options.ledger.capture(row, charge.modelCall.hold.held),
    (charge: Charge, charged: Captured | undefined) => recordCharge(charge, charged, options),
  ]);
  return (modelCall, work) => {
    const charge = (outcome: Outcome, endedAt: number, firstByteAt: number | undefined) => {
      // A call that got no hold was refused before: there is nothing to charge.
      if (!modelCall.hold.isMade) return {};
      modelCall.outcome = outcome;
      modelCall.endedAt = endedAt;
      modelCall.firstByteAt = firstByteAt;
      return capture({ modelCall, hasCost: false, measured: nothingMeasured, usage: nothingUsed });
    };
    return andThen(captureOnce(modelCall, charge, work, options), (answer) => withChargedUsage(answer, modelCall));
  };
}

/** The charge of a call that has ended, as the steps of its capture work it out. */
interface Charge {
  readonly modelCall: ModelCall;
  hasCost: boolean;
  measured: Measured;
  usage: CallUsage;
}

/** endStreams waits until a call whose caller disconnected is drained. One that failed is not drained. */
function endStreams({ modelCall }: Charge): MaybePromise<void> {
  const { outcome, streams } = modelCall;
  if (isLeft(modelCall)) return streams?.left();
  if (outcome !== Outcome.ANSWERED) streams?.failed();
  return undefined;
}

/**
 * isLeft reports whether the caller disconnected, or got some of the answer before its own time-out passed. Else it was told of the
 * time-out.
 */
function isLeft({ outcome, firstByteAt, call }: ModelCall): boolean {
  return outcome === Outcome.LEFT && (firstByteAt !== undefined || call.signal.aborted);
}

function measureUsage(charge: Charge): MaybePromise<Measured> {
  const { outcome, firstByteAt, streams, meter } = charge.modelCall;
  if (isLeft(charge.modelCall)) {
    // Nothing was sent of a unary answer whose caller disconnected.
    charge.hasCost = streams !== undefined && meter.hasContent();
    return charge.hasCost ? meter.measureLeft() : nothingMeasured;
  }
  charge.hasCost = firstByteAt !== undefined;
  if (charge.hasCost) return meter.measure(outcome === Outcome.ANSWERED);
  return meter.hasBilled() ? measureFailed(charge) : nothingMeasured;
}

/**
 * measureFailed measures a call of which nothing was sent although some of it was answered, or after its upstream refused it and reported
 * usage: the other prompts of several, or what a filter read. The vendor bills that, and so the call is charged for it. One that was
 * rejected stays so, and one whose caller did not wait.
 */
function measureFailed(charge: Charge): MaybePromise<Measured> {
  const { modelCall } = charge;
  if (modelCall.outcome === Outcome.FAILED) modelCall.outcome = Outcome.BROKEN;
  charge.hasCost = true;
  return modelCall.meter.measureBilled();
}

/** rowOf returns the row of the call. Its cost is bounded by the hold only when the ledger captures it. */
function rowOf(charge: Charge, measured: Measured, priceUsage: PriceUsage): Capture {
  const { modelCall, hasCost } = charge;
  const { call, operation, arrivedAt, outcome, endedAt, firstByteAt } = modelCall;
  const { model, target } = modelCall.lastCandidate;
  const { input, cacheRead, cacheWrite, cacheWriteHour, output, reasoning } = measured.used;
  const characters = hasCost ? charactersOf(operation, call.request) : 0;
  charge.measured = measured;
  charge.usage = { ...measured.used, characters };
  const { isRegional = false } = target;
  const isPriced = model.price && !measured.isNothing;
  const priced = isPriced ? priceUsage(model.price, charge.usage, measured.requests, isRegional) : unpriced;
  return {
    id: call.id,
    account_id: call.caller.accountId,
    key_id: call.caller.keyId,
    operation,
    model: model.id,
    upstream: target.upstream,
    tried: failedAttemptsOf(call.record, { model: model.id, cost: priced.cost }),
    outcome,
    input,
    cache_read: cacheRead,
    cache_write: cacheWrite + cacheWriteHour,
    output,
    reasoning,
    characters,
    estimated: measured.estimated ? 1 : 0,
    cost: priced.cost,
    created_at: arrivedAt,
    duration_ms: Math.max(0, endedAt - arrivedAt),
    first_byte_ms: firstByteAt === undefined ? null : Math.max(0, firstByteAt - arrivedAt),
    cache_write_hour: cacheWriteHour,
    implausible: measured.isImplausible ? 1 : 0,
    price_id: priced.price_id,
    price_parts: priced.price_parts,
  };
}

/** recordCharge records what was captured, and returns the headers that report it. */
function recordCharge(
  { modelCall, measured, usage }: Charge,
  charged: Captured | undefined,
  { onUsed, onWaived, onImplausible }: CaptureOptions,
): AnswerHeaders {
  const { call, outcome, hold, arrivedAt } = modelCall;
  const { record } = call;
  record.outcome = outcome;
  record.used = usage;
  modelCall.charged = measured.isNothing ? nothingUsed : usage;
  record.cost = charged?.cost ?? 0;
  record.waived = charged?.waived ?? 0;
  if (record.waived > 0) onWaived?.(call, record.waived);
  if (measured.gaveUp) record.gaveUp = true;
  if (measured.isImplausible) {
    record.isImplausible = true;
    onImplausible?.(call);
  }
  onUsed(call.caller, modelCall.lastCandidate.model, totalInput(usage) + usage.output);
  const headers = costHeaders(record.cost, usage, measured.estimated);
  return { ...headers, ...budgetHeaderAfter(hold.held, record.cost, arrivedAt) };
}

/** `x-gateway-usage` has the parts that are not zero: `input=12, cache_read=3, output=5`. */
function costHeaders(cost: number, used: CallUsage, estimated: boolean): AnswerHeaders {
  let text = "";
  const add = (part: string, count: number) => {
    if (count > 0) text += `${text === "" ? "" : ", "}${part}=${count}`;
  };
  add("input", used.input);
  add("cache_read", used.cacheRead);
  add("cache_write", used.cacheWrite + used.cacheWriteHour);
  add("output", used.output);
  add("reasoning", used.reasoning);
  add("characters", used.characters);
  add("searches", used.searches ?? 0);
  if (estimated) text += text === "" ? "estimated" : ", estimated";
  return { "x-gateway-cost": formatDecimal(cost), "x-gateway-usage": text };
}
