/**
 * Charges a call for what it used, once, however it ends: the table of charges.
 *
 * One that breaks off is charged by what had been used up to there. One whose caller leaves is charged when its upstream has been
 * read on (`drain.ts`). A caller who leaves before the first content, and a call that never brought a byte, cost nothing; and
 * none costs more than was held for it: what an upstream tells beyond that is the operator's loss.
 */
import { Outcome } from "../../../gen/modelgateway/v1/usage_pb.ts";
import type { Answer, AnswerHeaders, Call, Caller } from "../../call/call.ts";
import type { AttemptRecord } from "../../call/call-record.ts";
import type { Operation } from "../../call/operations.ts";
import type { Price } from "../../call/price.ts";
import type { CallUsage } from "../../call/usage.ts";
import type { Captured, Ledger } from "../../ledger/contract.ts";
import { costOf, costOfAll } from "../../ledger/price.ts";
import { chargedRates, isPlain } from "../../ledger/rates.ts";
import { formatDecimal } from "../../runtime/decimal.ts";
import { andThen, type MaybePromise } from "../../runtime/maybe-promise.ts";
import type { CallStreams } from "../attempt/drain.ts";
import { triedOf } from "../attempt/failed-attempts.ts";
import type { Candidate } from "../complete/candidates.ts";
import { type Charge, chargeOnce } from "./charge-once.ts";
import { charactersOf } from "./estimate.ts";
import { type CallMeter, type Measured, type MeasuredRequest, nothingMeasured } from "./meter.ts";
import type { Reservation } from "./reserve.ts";

/** A call whose cost was reserved. */
export interface Running {
  readonly call: Call;
  readonly asked: Operation;
  /** Where it went last; without facts where nothing was sent. */
  readonly reached: () => { readonly lead: Candidate; readonly facts: AttemptRecord | undefined };
  readonly meter: CallMeter;
  /** Milliseconds since 1970. */
  readonly arrivedAt: number;
  /** Where nothing is made of it, it was refused before: that is no matter of money. */
  readonly reservation: Pick<Reservation, "isMade" | "held">;
  /** What it reads of its upstreams; undefined where it is answered whole. */
  readonly streams: CallStreams | undefined;
}

export interface CaptureOptions {
  readonly ledger: Ledger;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  /** Told how many tokens a call used, all in all. */
  readonly onUsed: (caller: Caller, tokens: number) => void;
  /** Told of a call that should have cost more than was held for it, by so much in millionths of the unit. */
  readonly onWaived?: (call: Call, waived: number) => void;
  /** Told of what went wrong where nobody waits. */
  readonly onError: (error: unknown) => void;
}

/** Runs a call to its answer, and charges it. Throws what `work` throws, when that has been settled: now or later. */
export type CaptureCall = <A extends Answer>(running: Running, work: () => MaybePromise<A>) => MaybePromise<A>;

export function createCapture(options: CaptureOptions): CaptureCall {
  return (running, work) => {
    const { call, arrivedAt, meter, streams } = running;
    return chargeOnce({ call, arrivedAt, meter, streams, charge: chargeOf(running, options) }, work, options);
  };
}

function chargeOf(running: Running, options: CaptureOptions): Charge {
  return (outcome, endedAt, firstByteAt) => {
    const { reservation, streams, meter } = running;
    if (!reservation.isMade()) return {};
    const chargedFor = (hasCost: boolean, measuring: MaybePromise<Measured>) =>
      andThen(measuring, (measured) =>
        chargeFor(running, { outcome, endedAt, firstByteAt, hasCost }, measured, options),
      );
    if (outcome === Outcome.LEFT)
      return andThen(streams?.left(), () => {
        // Of a whole answer that its caller left nothing was told.
        const hasCost = streams !== undefined && meter.hasContent();
        return chargedFor(hasCost, hasCost ? meter.measureLeft() : nothingMeasured);
      });
    const isAnswered = outcome === Outcome.ANSWERED;
    if (!isAnswered) streams?.failed();
    const hasCost = firstByteAt !== undefined && outcome !== Outcome.FAILED;
    return chargedFor(hasCost, hasCost ? meter.measure(isAnswered) : nothingMeasured);
  };
}

/** How a call ended, and when: in milliseconds since 1970. */
interface Ended {
  readonly outcome: Outcome;
  readonly endedAt: number;
  readonly firstByteAt: number | undefined;
  readonly hasCost: boolean;
}

function chargeFor(
  running: Running,
  ended: Ended,
  measured: Measured,
  options: CaptureOptions,
): MaybePromise<AnswerHeaders> {
  const { call, asked, arrivedAt } = running;
  const { outcome, endedAt, firstByteAt, hasCost } = ended;
  const { used, requests, estimated, isNothing, gaveUp } = measured;
  const { lead, facts: last } = running.reached();
  const { model, target } = lead;
  const { input, cacheRead, cacheWrite, cacheWriteHour, output, reasoning } = used;
  const characters = hasCost ? charactersOf(asked, call.request) : 0;
  const whole: CallUsage = { ...used, characters };
  const { isRegional = false } = target;
  const cost = model.price && !isNothing ? costOfCall(model.price, whole, requests, isRegional) : 0;
  const settlement = {
    id: call.id,
    account_id: call.caller.accountId,
    key_id: call.caller.keyId,
    operation: asked,
    model: model.id,
    upstream: target.upstream,
    tried: triedOf(call.record.attempts, last, { model: model.id, cost }),
    outcome,
    input,
    cache_read: cacheRead,
    cache_write: cacheWrite + cacheWriteHour,
    output,
    reasoning,
    characters,
    estimated: estimated ? 1 : 0,
    cost,
    created_at: arrivedAt,
    duration_ms: Math.max(0, endedAt - arrivedAt),
    first_byte_ms: firstByteAt === undefined ? null : Math.max(0, firstByteAt - arrivedAt),
  };
  return andThen(options.ledger.capture(settlement, running.reservation.held()), (charged) => {
    const { record } = call;
    record.outcome = outcome;
    record.used = whole;
    record.cost = charged?.cost ?? 0;
    record.waived = charged?.waived ?? 0;
    if (record.waived > 0) options.onWaived?.(call, record.waived);
    if (gaveUp) record.gaveUp = true;
    options.onUsed(call.caller, tokensOf(whole));
    return headersOf(whole, estimated, charged);
  });
}

/** Returns the cost in millionths of the unit: each request to an upstream by the rates that it was served at. */
function costOfCall(price: Price, whole: CallUsage, requests: readonly MeasuredRequest[], isRegional: boolean): number {
  if (isPlain(price)) return costOf(price, whole);
  const [first, ...others] = requests;
  // Speech is paid by what was asked, of which there is one request.
  const all = first ? [{ ...first, used: { ...first.used, characters: whole.characters } }, ...others] : [];
  const charged = all.map(({ used, asked, told }) => {
    return { used, ...chargedRates(price, used, { asked, told, isRegional }) };
  });
  return costOfAll(price, charged);
}

function tokensOf({ input, cacheRead, cacheWrite, cacheWriteHour, output }: CallUsage): number {
  return input + cacheRead + cacheWrite + cacheWriteHour + output;
}

/** `x-gateway-usage` has the parts that are not zero: `input=12, cache_read=3, output=5`. */
function headersOf(used: CallUsage, estimated: boolean, charged: Captured | undefined): AnswerHeaders {
  let words = "";
  const tell = (part: string, count: number) => {
    if (count > 0) words += `${words === "" ? "" : ", "}${part}=${count}`;
  };
  tell("input", used.input);
  tell("cache_read", used.cacheRead);
  tell("cache_write", used.cacheWrite + used.cacheWriteHour);
  tell("output", used.output);
  tell("reasoning", used.reasoning);
  tell("characters", used.characters);
  tell("searches", used.searches ?? 0);
  if (estimated) words += words === "" ? "estimated" : ", estimated";
  return { "x-gateway-cost": formatDecimal(charged?.cost ?? 0), "x-gateway-usage": words };
}
