/**
 * Tells an answer from the cache, and charges it: the configured part of what it cost at first, which is reserved before and
 * charged as any call is, so that no credit is overdrawn. It used nothing of a model, and is written down as such.
 */
import { Outcome } from "../../../gen/modelgateway/v1/usage_pb.ts";
import type { Answer, AnswerHeaders, Call } from "../../call/call.ts";
import { type Form, type Operation, operations } from "../../call/operations.ts";
import { nothingUsed } from "../../call/usage.ts";
import type { Hold, Ledger } from "../../ledger/contract.ts";
import { partOf } from "../../ledger/price.ts";
import { formatDecimal } from "../../runtime/decimal.ts";
import type { MaybePromise } from "../../runtime/maybe-promise.ts";
import { type Charge, chargeOnce } from "../charge/charge-once.ts";
import { shortOf } from "../charge/reserve.ts";
import { serverTiming } from "../complete/server-timing.ts";
import type { KeptAnswer } from "./answer-cache.ts";
import { bodyOf, framesOf } from "./recorded-answer.ts";

export interface CacheHitOptions {
  readonly ledger: Ledger;
  /** Which part of its cost at first an answer costs that was kept, 0 to 1. */
  readonly priceShare: number;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  /** Told of what went wrong where nobody waits. */
  readonly onError: (error: unknown) => void;
}

/** Throws a Refusal. */
export type AnswerHit = (hit: KeptAnswer, asked: Operation, form: Form, call: Call) => MaybePromise<Answer>;

export function createCacheHit(options: CacheHitOptions): AnswerHit {
  const { ledger, priceShare, clock } = options;
  return (hit, asked, form, call) => {
    const [begunAt, arrivedAt] = [performance.now(), clock()];
    const { record, caller } = call;
    Object.assign(record, { operation: asked, form, model: hit.model, replayed: "cache" });
    const cost = partOf(hit.cost, priceShare);
    let reserved: Hold | undefined;
    let isReserved = false;
    let isOver = false;
    const charge: Charge = async (outcome, endedAt, firstByteAt) => {
      if (!isReserved) return {};
      const hasCost = firstByteAt !== undefined && outcome !== Outcome.FAILED;
      const settlement = {
        ...{ id: call.id, account_id: caller.accountId, key_id: caller.keyId, operation: asked, model: hit.model },
        ...{ upstream: "", outcome, cached: 1, estimated: 0, cost: hasCost ? cost : 0 },
        ...{ input: 0, cache_read: 0, cache_write: 0, output: 0, reasoning: 0, characters: 0 },
        created_at: arrivedAt,
        duration_ms: Math.max(0, endedAt - arrivedAt),
        first_byte_ms: firstByteAt === undefined ? null : Math.max(0, firstByteAt - arrivedAt),
      };
      const charged = await ledger.capture(settlement, reserved);
      Object.assign(record, { outcome, used: nothingUsed, cost: charged?.cost ?? 0, waived: charged?.waived ?? 0 });
      return { "x-gateway-cost": formatDecimal(charged?.cost ?? 0) };
    };
    return chargeOnce(
      { call, arrivedAt, meter: { isOver: () => isOver }, charge },
      async (): Promise<Answer> => {
        if (cost > 0) reserved = await reserve(ledger, call, asked, hit.model, cost, arrivedAt);
        isReserved = true;
        const headers = headersOf(hit, arrivedAt, serverTiming(record, begunAt));
        const desc = operations[asked][form];
        if (form === "whole") return { kind: "whole", body: bodyOf(desc, hit.packed), headers };
        const frames = framesOf(desc, hit.packed, () => {
          isOver = true;
        });
        return { kind: "stream", frames, headers };
      },
      options,
    );
  };
}

async function reserve(
  ledger: Ledger,
  { id, caller }: Call,
  operation: Operation,
  model: string,
  cost: number,
  now: number,
): Promise<Hold> {
  const { accountId, keyId, isLimited, asOf } = caller;
  const names = { requestId: id, accountId, keyId, isLimited, asOf, operation, model };
  const held = await ledger.hold({ ...names, max: cost, min: cost, now });
  if (held.kind === "short") throw shortOf(cost, held);
  return held;
}

function headersOf({ model, dropped, at }: KeptAnswer, now: number, timing: string): AnswerHeaders {
  return {
    "x-gateway-cache": "hit",
    age: String(Math.max(0, Math.floor((now - at) / 1000))),
    "x-gateway-model": model,
    ...(dropped === undefined ? {} : { "x-gateway-dropped": dropped }),
    "server-timing": timing,
  };
}
