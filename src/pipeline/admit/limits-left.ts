/**
 * Looks at the limits of a caller besides its credit, and takes nothing: what is left of each, when it is whole again, and the refusal that
 * a call would get by it now.
 */
import type { DescMethod } from "@bufbuild/protobuf";
import type { Caller } from "../../call/call.ts";
import { type Refusal, tooManyRunning } from "../../call/refusals.ts";
import type { BudgetLeft } from "../../ledger/contract.ts";
import type { KeyPlaces } from "../../limits/key-places.ts";
import { type Decision, type Limiter, perMinute, type Rate } from "../../limits/limiter.ts";
import { accessOf } from "./authorize.ts";
import { type RateUnit, rateRefusal } from "./limit.ts";
import { modelRefusal, type RatedModel, ratedBuckets } from "./model-rates.ts";
import type { LimitName } from "./nearest-limit.ts";
import { apartId, requestsOf, tokensId, tokensOf, wholeOne } from "./rate-buckets.ts";

/** LimitLeft is a limit, and what is left of it. */
export interface LimitLeft {
  readonly name: string;
  /** The key's entry, of a model's limit. */
  readonly model: string | undefined;
  /** isMoney is whether `limit` and `remaining` are money, in millionths of the unit. */
  readonly isMoney: boolean;
  readonly limit: number;
  readonly remaining: number;
  /** resetsAt is in milliseconds since 1970; undefined where nobody knows. */
  readonly resetsAt: number | undefined;
  /** refusal is what a call is refused with by this limit now; undefined where it goes. A budget's depends on what the call may cost. */
  readonly refusal: Refusal | undefined;
}

export interface LimitsLeft {
  /** Looks at the rates of the account and the key by which an RPC is limited, and at the calls that run. */
  ofCaller(caller: Caller, method: DescMethod): Promise<readonly LimitLeft[]>;
  /** Looks at the key's rates for a model. */
  ofModel(caller: Caller, model: RatedModel): Promise<readonly LimitLeft[]>;
}

export interface LimitsLeftOptions {
  readonly limiter: Limiter;
  readonly places: Pick<KeyPlaces, "running">;
  /** clock returns milliseconds since 1970. */
  readonly clock: () => number;
}

/** Look is a bucket to look at, and how a call is refused by it. */
interface Look {
  readonly name: LimitName;
  readonly id: string;
  /** rate is undefined where there is no such limit. */
  readonly rate: Rate | undefined;
  readonly unit: RateUnit;
  readonly model?: string;
  readonly refusalOf: (decision: Decision) => Refusal;
}

export function createLimitsLeft({ limiter, places, clock }: LimitsLeftOptions): LimitsLeft {
  async function look({ name, id, rate, unit, model, refusalOf }: Look): Promise<LimitLeft[]> {
    if (!rate) return [];
    const looked = await limiter.take(id, rate, 0);
    const decision = unit === "request" ? wholeOne(looked, rate) : looked;
    const { limit, remaining, resetMs, allowed } = decision;
    const refusal = allowed ? undefined : refusalOf(decision);
    return [{ name, model, isMoney: false, limit, remaining, resetsAt: clock() + resetMs, refusal }];
  }

  async function lookAtAll(looks: readonly Look[]): Promise<LimitLeft[]> {
    return (await Promise.all(looks.map(look))).flat();
  }

  return {
    async ofCaller(caller, method) {
      const { keyId, limits } = caller;
      const rates = await lookAtAll(looksOf(caller, method));
      const most = limits?.maxConcurrent;
      return most === undefined ? rates : [...rates, placesLeft(most, places.running(keyId))];
    },
    ofModel: ({ keyId, limits }, model) =>
      lookAtAll(
        ratedBuckets(keyId, limits, model).map(({ entry, unit, ...bucket }) => ({
          ...bucket,
          unit,
          name: `model-${unit}s`,
          model: entry,
          refusalOf: (decision) => modelRefusal(decision, unit, entry),
        })),
      ),
  };
}

/** looksOf returns the buckets of an account and its key, in the order in which a call is refused by them. */
function looksOf({ accountId, keyId, tier, limits }: Caller, method: DescMethod): Look[] {
  const { ownRate } = accessOf(method);
  const requestsId = (id: string) => (ownRate ? apartId(id, method) : id);
  const of = (name: LimitName, id: string, rate: Rate | undefined, unit: RateUnit): Look => {
    const whose = name.startsWith("key-") ? "the API key" : "the account";
    return { name, id, rate, unit, refusalOf: (decision) => rateRefusal(decision, unit, whose) };
  };
  const tokens = [
    of("account-tokens", tokensId(accountId), tier && tokensOf(tier), "token"),
    of("key-tokens", tokensId(keyId), limits && tokensOf(limits), "token"),
  ];
  return [
    ...(ownRate ? [] : tokens),
    of("key-requests", requestsId(keyId), limits && requestsOf(limits), "request"),
    of("account-requests", requestsId(accountId), tier && perMinute(tier.requestsPerMinute), "request"),
  ];
}

function placesLeft(limit: number, running: number): LimitLeft {
  const remaining = Math.max(0, limit - running);
  const refusal = remaining === 0 ? tooManyRunning(limit) : undefined;
  return { name: "key-concurrency", model: undefined, isMoney: false, limit, remaining, resetsAt: undefined, refusal };
}

/** limitOfBudget returns a budget as a limit. */
export function limitOfBudget({ of, budget, left, endsAt }: BudgetLeft): LimitLeft {
  const name = `${of}-${budget.rolling ? "rolling-" : ""}${budget.period}`;
  const remaining = Math.max(0, left);
  const { amount: limit } = budget;
  return { name, model: undefined, isMoney: true, limit, remaining, resetsAt: endsAt, refusal: undefined };
}

/** nearestLeft returns the limit of which the least is left, in proportion; of several the key's, as the headers of answers do. */
export function nearestLeft(limits: readonly LimitLeft[]): LimitLeft | undefined {
  const share = ({ remaining, limit, refusal }: LimitLeft) => (refusal ? 0 : remaining / limit);
  const isOfAccount = ({ name }: LimitLeft) => Number(name.startsWith("account-"));
  return limits.toSorted((one, other) => share(one) - share(other) || isOfAccount(one) - isOfAccount(other))[0];
}
