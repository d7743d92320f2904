/**
 * Answers a call from the cache, and charges it: the configured share of what the answer cost at first. The share is held before
 * and captured as for any call, so that no credit is overdrawn. The call is recorded with no usage of a model.
 */
import { Outcome } from "../../../gen/modelgateway/v1/usage_pb.ts";
import type { Answer, AnswerHeaders, Call } from "../../call/call.ts";
import { type Form, type Operation, operations } from "../../call/operations.ts";
import { nothingUsed } from "../../call/usage.ts";
import type { Capture, Hold, Ledger } from "../../ledger/contract.ts";
import { millionthsOf, shareOf } from "../../ledger/price.ts";
import type { WrittenPart } from "../../ledger/reprice.ts";
import { formatDecimal } from "../../runtime/decimal.ts";
import type { MaybePromise } from "../../runtime/maybe-promise.ts";
import { budgetHeaderAfter } from "../charge/budget-words.ts";
import { type ChargeCall, captureOnce } from "../charge/capture-once.ts";
import { shortOf } from "../charge/hold.ts";
import { callerWaiting } from "../check/deadline.ts";
import type { Unit } from "../complete/model-call.ts";
import { serverTiming } from "../complete/server-timing.ts";
import type { CachedAnswer } from "./answer-cache.ts";
import { bodyOf, framesOf } from "./recorded-answer.ts";

export interface CacheHitOptions {
  readonly ledger: Ledger;
  /** Returns the share of its first cost that a cached answer costs, 0 to 1; undefined where the cache is off. */
  readonly settings: () => { readonly cache: { readonly priceShare: number } | undefined; readonly unit: Unit };
  /** clock returns milliseconds since 1970. */
  readonly clock: () => number;
  /** Called with errors that no caller waits for. */
  readonly onError: (error: unknown) => void;
}

/** AnswerHit answers a call from the cache, and charges it. Throws a Refusal. */
export type AnswerHit = (hit: CachedAnswer, asked: Operation, form: Form, call: Call) => MaybePromise<Answer>;

/** A call that is answered from the cache. */
interface HitCall {
  readonly hit: CachedAnswer;
  readonly call: Call;
  readonly operation: Operation;
  /** cost is in millionths of the unit. */
  readonly cost: number;
  /** The share of its first cost, in millionths. */
  readonly share: number;
  readonly arrivedAt: number;
  readonly unit: Unit;
  held: Hold | undefined;
  /** isHeld is whether what it costs is held, or it costs nothing. A call that did not get so far is never charged. */
  isHeld: boolean;
  /** isOver is whether the end of the answer has been reached. */
  isOver: boolean;
}

export function createCacheHit(options: CacheHitOptions): AnswerHit {
  const { ledger, settings, clock } = options;
  return (hit, operation, form, call) => {
    const [startedAt, arrivedAt] = [performance.now(), clock()];
    const { record } = call;
    Object.assign(record, { operation, form, model: hit.model, replayed: "cache" });
    const { cache, unit } = settings();
    const share = millionthsOf(cache?.priceShare ?? 0);
    const cost = shareOf(hit.cost, share);
    const state = { held: undefined, isHeld: false, isOver: false };
    const hitCall: HitCall = { hit, call, operation, cost, share, arrivedAt, unit, ...state };
    return captureOnce(
      { call, arrivedAt, meter: { isOver: () => hitCall.isOver } },
      chargeOf(hitCall, ledger),
      async (): Promise<Answer> => {
        // A slow reader keeps the answer, which the cache may have dropped meanwhile.
        await call.body.openAnswer(callerWaiting(call)).hold(hit.recorded.length);
        if (cost > 0) hitCall.held = await holdFor(hitCall, ledger);
        hitCall.isHeld = true;
        return answerTo(hitCall, form, serverTiming(record, startedAt));
      },
      options,
    );
  };
}

async function holdFor({ hit, call, operation, cost, arrivedAt, unit }: HitCall, ledger: Ledger): Promise<Hold> {
  const { accountId, keyId, isLimited, asOf, budgets } = call.caller;
  const names = { requestId: call.id, accountId, keyId, isLimited, asOf, budgets, operation, model: hit.model };
  const held = await ledger.hold({ ...names, max: cost, min: cost, now: arrivedAt });
  if (held.kind === "short") throw shortOf(cost, held, unit, arrivedAt);
  return held;
}

function answerTo(hitCall: HitCall, form: Form, timing: string): Answer {
  const { hit, operation, arrivedAt } = hitCall;
  const headers = headersOf(hit, arrivedAt, timing);
  const desc = operations[operation][form];
  if (form === "whole") return { kind: "whole", body: bodyOf(desc, hit.recorded), headers };
  const frames = framesOf(desc, hit.recorded, () => {
    hitCall.isOver = true;
  });
  return { kind: "stream", frames, headers };
}

function chargeOf(hitCall: HitCall, ledger: Ledger): ChargeCall {
  return async (outcome, endedAt, firstByteAt) => {
    if (!hitCall.isHeld) return {};
    const row = rowOf(hitCall, outcome, endedAt, firstByteAt);
    const charged = await ledger.capture(row, hitCall.held);
    const { cost = 0, waived = 0 } = charged ?? {};
    Object.assign(hitCall.call.record, { outcome, used: nothingUsed, cost, waived });
    return { "x-gateway-cost": formatDecimal(cost), ...budgetHeaderAfter(hitCall.held, cost, hitCall.arrivedAt) };
  };
}

function rowOf(hitCall: HitCall, outcome: Outcome, endedAt: number, firstByteAt: number | undefined): Capture {
  const { hit, call, operation, cost, share, arrivedAt } = hitCall;
  const hasCost = firstByteAt !== undefined && outcome !== Outcome.FAILED && cost > 0;
  return {
    id: call.id,
    account_id: call.caller.accountId,
    key_id: call.caller.keyId,
    operation,
    model: hit.model,
    upstream: "",
    outcome,
    cached: 1,
    estimated: 0,
    cost: hasCost ? cost : 0,
    input: 0,
    cache_read: 0,
    cache_write: 0,
    output: 0,
    reasoning: 0,
    characters: 0,
    created_at: arrivedAt,
    duration_ms: Math.max(0, endedAt - arrivedAt),
    first_byte_ms: firstByteAt === undefined ? null : Math.max(0, firstByteAt - arrivedAt),
    price_parts: hasCost ? JSON.stringify([{ of: hit.cost, share }] satisfies WrittenPart[]) : null,
  };
}

function headersOf({ model, dropped, at }: CachedAnswer, now: number, timing: string): AnswerHeaders {
  return {
    "x-gateway-cache": "hit",
    age: String(Math.max(0, Math.floor((now - at) / 1000))),
    "x-gateway-model": model,
    ...(dropped === undefined ? {} : { "x-gateway-dropped": dropped }),
    "server-timing": timing,
  };
}
