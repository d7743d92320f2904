/**
 * Limits a key to its rates for single models, once the model of a call is known and before anything is held or sent.
 *
 * A call takes one request from each entry that names its model or its model's family, once for each model that it is sent to, however many
 * attempts it takes. Tokens are only looked at, and drawn after the call, as those of a tier. A refusal takes nothing, and neither does an
 * answer from the cache or a replay, for which no model is asked.
 */
import type { Caller } from "../../call/call.ts";
import type { KeyLimits, ModelLimit, NearestLimit } from "../../call/key-limits.ts";
import { type Refusal, rateLimited } from "../../call/refusals.ts";
import { type Decision, type Limiter, perMinute, type Rate } from "../../limits/limiter.ts";
import { andThen, catchError, type MaybePromise } from "../../runtime/maybe-promise.ts";
import { counted } from "../../runtime/words/counted.ts";
import type { Model } from "../../targets/catalog.ts";
import type { RateUnit } from "./limit.ts";
import { nearer, nearestHeader, nearestOf } from "./nearest-limit.ts";

/** RatedModel is what the rates go by of a model. */
export type RatedModel = Pick<Model, "id" | "family">;

export interface ModelRates {
  /**
   * Takes a request of a model from the key's rates. Returns the limit that is nearest, undefined where the key has none for the model.
   * Throws a Refusal, now or later.
   */
  take(caller: Caller, model: RatedModel): MaybePromise<NearestLimit | undefined>;
  /** Gives back what was taken for a call that was not sent after all. */
  giveBack(caller: Caller, model: RatedModel): void;
  /** Draws the tokens that a call used of a model. */
  used(caller: Caller, model: RatedModel, tokens: number): Promise<void>;
}

export function createModelRates(limiter: Limiter): ModelRates {
  return {
    take(caller, model) {
      const entries = entriesFor(caller.limits, model);
      if (entries.length === 0) return undefined;
      return takeEach(limiter, caller.keyId, entries, undefined);
    },
    giveBack({ keyId, limits }, model) {
      for (const entry of entriesFor(limits, model)) giveBack(limiter, keyId, entry);
    },
    async used({ keyId, limits }, model, tokens) {
      for (const { model: name, tokensPerMinute } of entriesFor(limits, model))
        if (tokensPerMinute !== undefined)
          await limiter.draw(modelTokensId(keyId, name), perMinute(tokensPerMinute), tokens);
    },
  };
}

const none: readonly ModelLimit[] = [];

function entriesFor(limits: KeyLimits | undefined, { id, family }: RatedModel): readonly ModelLimit[] {
  if (!limits || limits.models.length === 0) return none;
  return limits.models.filter(({ model }) => model === id || model === `family:${family}`);
}

/** takeEach takes from one entry after another. What a later one refuses is given back to those before it. */
function takeEach(
  limiter: Limiter,
  keyId: string,
  [entry, ...others]: readonly ModelLimit[],
  before: NearestLimit | undefined,
): MaybePromise<NearestLimit | undefined> {
  if (!entry) return before;
  return andThen(takeOne(limiter, keyId, entry), (nearest) =>
    catchError(
      () => takeEach(limiter, keyId, others, nearer(before, nearest)),
      (error): never => {
        giveBack(limiter, keyId, entry);
        throw error;
      },
    ),
  );
}

function takeOne(limiter: Limiter, keyId: string, entry: ModelLimit): MaybePromise<NearestLimit | undefined> {
  const { model, requestsPerMinute, tokensPerMinute } = entry;
  const looked =
    tokensPerMinute === undefined
      ? undefined
      : limiter.take(modelTokensId(keyId, model), perMinute(tokensPerMinute), 0);
  return andThen(looked, (tokens) => {
    if (tokens?.allowed === false) throw modelRefusal(tokens, "token", model);
    const ofTokens = tokens && nearestOf({ name: "model-tokens", decision: tokens, model });
    if (requestsPerMinute === undefined) return ofTokens;
    return andThen(limiter.take(modelRequestsId(keyId, model), perMinute(requestsPerMinute), 1), (requests) => {
      if (!requests.allowed) throw modelRefusal(requests, "request", model);
      return nearer(nearestOf({ name: "model-requests", decision: requests, model }), ofTokens);
    });
  });
}

function giveBack(limiter: Limiter, keyId: string, { model, requestsPerMinute }: ModelLimit): void {
  if (requestsPerMinute !== undefined)
    void limiter.draw(modelRequestsId(keyId, model), perMinute(requestsPerMinute), -1);
}

/** modelRefusal returns the refusal of a call for a rate of an entry that is used up. */
export function modelRefusal(decision: Decision, unit: RateUnit, model: string): Refusal {
  const { limit, retryAfterMs } = decision;
  const what = model.startsWith("family:") ? `models of the family \`${model.slice(7)}\`` : `the model \`${model}\``;
  const allowed = `${counted(limit, unit)} a minute of ${what}`;
  const nearest = nearestOf({ name: `model-${unit}s`, decision, model });
  return rateLimited(allowed, retryAfterMs, nearestHeader(nearest), "the API key");
}

/** RatedBucket is a bucket that calls of a model take from. */
export interface RatedBucket {
  readonly id: string;
  readonly rate: Rate;
  readonly unit: RateUnit;
  /** The key's entry: a model's id, or `family:name`. */
  readonly entry: string;
}

/** ratedBuckets returns the buckets of a key that calls of a model take from, or draw from. */
export function ratedBuckets(keyId: string, limits: KeyLimits | undefined, model: RatedModel): RatedBucket[] {
  return entriesFor(limits, model).flatMap(({ model: entry, requestsPerMinute, tokensPerMinute }) => {
    const of = (id: string, capacity: number | undefined, unit: RateUnit): RatedBucket[] =>
      capacity === undefined ? [] : [{ id, rate: perMinute(capacity), unit, entry }];
    return [
      ...of(modelTokensId(keyId, entry), tokensPerMinute, "token"),
      ...of(modelRequestsId(keyId, entry), requestsPerMinute, "request"),
    ];
  });
}

/** modelRequestsId returns the id of the bucket of requests that a key has for an entry of its rates; modelTokensId that of tokens. */
const modelRequestsId = (keyId: string, model: string) => `${keyId} ${model} requests`;
const modelTokensId = (keyId: string, model: string) => `${keyId} ${model} tokens`;
