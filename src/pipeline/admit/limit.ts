/**
 * Limits an account to the rate of its tier, and an RPC to its own limit.
 *
 * A refusal takes nothing that lasts. The RPC's own limit is taken first and the tier's request last: a refused call costs no
 * request, and a place under the RPC's own limit is back within a second. Tokens are only looked at here, because no one knows
 * beforehand how many a call needs: it may go while they are not in debt, and they are drawn after it. An RPC with a rate of its
 * own has a bucket of its own, as large as the tier's. An RPC that counts what it creates is only looked at here, and takes when it
 * creates.
 *
 * A key with rates of its own is limited by them besides, in the same way: its request is taken before the tier's, and given back
 * where the tier refuses. The headers report the tighter of the two.
 */
import type { DescMethod } from "@bufbuild/protobuf";
import { type Access, Family } from "../../../gen/modelgateway/v1/access_pb.ts";
import type { AnswerHeaders, Caller } from "../../call/call.ts";
import type { KeyLimits, NearestLimit } from "../../call/key-limits.ts";
import { internal, type Refusal, rateLimited } from "../../call/refusals.ts";
import type { Tier } from "../../call/tiers.ts";
import { type Decision, type Limiter, perMinute, type Rate } from "../../limits/limiter.ts";
import { andThen, catchError, type MaybePromise } from "../../runtime/maybe-promise.ts";
import { sequence } from "../../runtime/sequence.ts";
import { counted } from "../../runtime/words/counted.ts";
import { accessOf } from "./authorize.ts";
import { type LimitName, nearer, nearestHeader, nearestOf } from "./nearest-limit.ts";
import { apartId, givenBack, ownId, perSecond, requestsOf, tokensId, tokensOf, wholeOne } from "./rate-buckets.ts";
import { rateHeaders } from "./rate-headers.ts";

/** LimitedAccount is the account, user or address that a limit counts. */
export interface LimitedAccount {
  readonly id: string;
  readonly tier: Tier;
  /** The key that calls, where it has limits of its own. */
  readonly key?: LimitedKey | undefined;
}

export interface LimitedKey {
  readonly id: string;
  readonly limits: KeyLimits;
}

/** AccountRate is what an account has left of its rate. */
export interface AccountRate {
  readonly tier: Tier;
  readonly requestsRemaining: number;
  /** keyRequestsRemaining is what its key has left of its own rates; undefined where it has no such rate. */
  readonly keyRequestsRemaining?: number | undefined;
  readonly keyTokensRemaining?: number | undefined;
}

/** Limited is a call that is within its limits. */
export interface Limited {
  /** headers tell the caller what is left. */
  readonly headers: AnswerHeaders;
  /** The limit that is nearest to its end; undefined where the key has none of its own. */
  readonly nearest: NearestLimit | undefined;
}

export interface Limit {
  /**
   * Takes a request from the account's rate, and from the key's. `creditRemaining` is in millionths of the unit, undefined where nothing
   * limits it. `method` is omitted where only the account's rate counts. Throws a Refusal with the same headers, now or later.
   */
  limit(
    account: LimitedAccount,
    method: DescMethod | undefined,
    family: Family,
    creditRemaining: number | undefined,
  ): MaybePromise<Limited>;
  /**
   * Takes one from what an RPC may create in a second, and returns a function that gives it back where nothing was created. Throws
   * a Refusal, now or later.
   */
  making(accountId: string, method: DescMethod): MaybePromise<() => void>;
  /** Returns what a caller has left of its rate, and takes nothing. */
  accountRate(caller: Caller): Promise<AccountRate>;
  /** Draws the tokens that a call used, input and output together, from the tier's and the key's. */
  used(caller: Caller, tokens: number): Promise<void>;
}

export interface LimitOptions {
  readonly limiter: Limiter;
  /** clock returns milliseconds since 1970. */
  readonly clock: () => number;
}

export function createLimit({ limiter, clock }: LimitOptions): Limit {
  const takeAll = createTakeAll(limiter, clock);
  const takeAllOfKey = createTakeAllOfKey(limiter, clock);
  return {
    limit(account, method, family, creditRemaining) {
      const access = method && accessOf(method);
      const undecided = { own: undefined, tokens: undefined, keyTokens: undefined, keyRequests: undefined };
      const call: LimitedCall = { account, method, access, family, creditRemaining, ...undecided };
      return account.key ? takeAllOfKey(call) : takeAll(call);
    },
    making(accountId, method) {
      const rate = perSecond(accessOf(method).perSecond);
      if (!rate) throw internal(new Error(`${method} has no limit a second`));
      const id = ownId(accountId, method);
      return andThen(limiter.take(id, rate, 1), (own) => {
        if (!own.allowed) throw ownRefusal(own, {});
        return () => void limiter.draw(id, rate, -1);
      });
    },
    async accountRate({ accountId, keyId, tier, limits }) {
      if (!tier) throw internal(new Error("the operator has no rate"));
      const left = async (id: string, rate: Rate | undefined) => rate && (await limiter.take(id, rate, 0)).remaining;
      return {
        tier,
        requestsRemaining: (await left(accountId, perMinute(tier.requestsPerMinute))) ?? 0,
        keyRequestsRemaining: await left(keyId, limits && requestsOf(limits)),
        keyTokensRemaining: await left(tokensId(keyId), limits && tokensOf(limits)),
      };
    },
    async used({ accountId, keyId, tier, limits }, tokens) {
      const rate = tier && tokensOf(tier);
      if (rate) await limiter.draw(tokensId(accountId), rate, tokens);
      const ofKey = limits && tokensOf(limits);
      if (ofKey) await limiter.draw(tokensId(keyId), ofKey, tokens);
    },
  };
}

/** A call that is being limited, and what its limits decided so far. */
interface LimitedCall {
  readonly account: LimitedAccount;
  readonly method: DescMethod | undefined;
  readonly access: Access | undefined;
  readonly family: Family;
  readonly creditRemaining: number | undefined;
  /** own is undefined where the RPC, or the tier, has no such limit. */
  own: Decision | undefined;
  tokens: Decision | undefined;
  /** keyTokens is undefined where the key has no such limit. */
  keyTokens: Decision | undefined;
  keyRequests: Decision | undefined;
}

/** The first steps of all calls: the RPC's own limit, and the tokens of the tier. */
function firstSteps(limiter: Limiter) {
  return [
    (call: LimitedCall) => takeOwn(call, limiter),
    (call: LimitedCall, own: Decision | undefined) => {
      noteOwn(call, own);
      return takeTokens(call, limiter);
    },
  ] as const;
}

/** createTakeAll takes one limit after another: a call that is refused by one must not take from the next. */
function createTakeAll(limiter: Limiter, clock: () => number) {
  return sequence([
    ...firstSteps(limiter),
    (call: LimitedCall, tokens: Decision | undefined) => {
      call.tokens = tokens;
      return takeRequest(call, limiter);
    },
    (call: LimitedCall, requests: Decision) => limitedOrRefusal(call, requests, clock),
  ]);
}

/** Does the same with the rates of the key between. */
function createTakeAllOfKey(limiter: Limiter, clock: () => number) {
  return sequence([
    ...firstSteps(limiter),
    (call: LimitedCall, tokens: Decision | undefined) => {
      call.tokens = tokens;
      return takeKeyTokens(call, limiter);
    },
    (call: LimitedCall, keyTokens: Decision | undefined) => {
      call.keyTokens = keyTokens;
      return takeKeyRequest(call, limiter);
    },
    (call: LimitedCall, keyRequests: Decision | undefined) => {
      call.keyRequests = keyRequests;
      return catchError(
        () => takeRequest(call, limiter),
        (error): never => {
          giveBackKeyRequest(call, limiter);
          throw error;
        },
      );
    },
    (call: LimitedCall, requests: Decision) => {
      if (!requests.allowed) giveBackKeyRequest(call, limiter);
      return limitedOrRefusal(call, requests, clock);
    },
  ]);
}

/** takeOwn takes from the RPC's own limit. */
function takeOwn({ account, method, access }: LimitedCall, limiter: Limiter): MaybePromise<Decision | undefined> {
  const rate = access && perSecond(access.perSecond);
  return rate && limiter.take(ownId(account.id, method as DescMethod), rate, access.countsMade ? 0 : 1);
}

function noteOwn(call: LimitedCall, own: Decision | undefined): void {
  const { access } = call;
  const rate = access && perSecond(access.perSecond);
  call.own = own && rate && access.countsMade ? wholeOne(own, rate) : own;
}

/** takeTokens looks at the tier's tokens. */
function takeTokens(call: LimitedCall, limiter: Limiter): MaybePromise<Decision | undefined> {
  const { id, tier } = countedAccount(call);
  const rate = tokensOf(tier);
  return rate && limiter.take(tokensId(id), rate, 0);
}

/** takeKeyTokens looks at the key's tokens. An RPC with a rate of its own uses none. */
function takeKeyTokens(
  { account: { key }, access }: LimitedCall,
  limiter: Limiter,
): MaybePromise<Decision | undefined> {
  const rate = key && !access?.ownRate ? tokensOf(key.limits) : undefined;
  return rate && limiter.take(tokensId((key as LimitedKey).id), rate, 0);
}

/** takeKeyRequest takes one of the key's requests, unless a limit before it refuses the call. */
function takeKeyRequest(call: LimitedCall, limiter: Limiter): MaybePromise<Decision | undefined> {
  const bucket = keyRequestsOf(call);
  return bucket && limiter.take(bucket.id, bucket.rate, isAllowedSoFar(call) ? 1 : 0);
}

/** giveBackKeyRequest gives back what was taken of the key's requests for a call that the tier refuses, whose answer then tells so. */
function giveBackKeyRequest(call: LimitedCall, limiter: Limiter): void {
  const bucket = keyRequestsOf(call);
  if (!bucket || !call.keyRequests?.allowed || !isAllowedSoFar(call)) return;
  void limiter.draw(bucket.id, bucket.rate, -1);
  call.keyRequests = givenBack(call.keyRequests, bucket.rate);
}

/** keyRequestsOf returns the bucket of the key's requests: one of its own for an RPC with a rate of its own. */
function keyRequestsOf({ account: { key }, access, method }: LimitedCall) {
  const rate = key && requestsOf(key.limits);
  if (!rate) return undefined;
  return { id: access?.ownRate ? apartId(key.id, method as DescMethod) : key.id, rate };
}

function isAllowedSoFar({ own, tokens, keyTokens, keyRequests }: LimitedCall): boolean {
  return (
    (own?.allowed ?? true) &&
    (tokens?.allowed ?? true) &&
    (keyTokens?.allowed ?? true) &&
    (keyRequests?.allowed ?? true)
  );
}

/** takeRequest takes one of the tier's requests, unless another limit refuses the call. */
function takeRequest(call: LimitedCall, limiter: Limiter): MaybePromise<Decision> {
  const { id, tier } = countedAccount(call);
  return limiter.take(id, perMinute(tier.requestsPerMinute), isAllowedSoFar(call) ? 1 : 0);
}

function limitedOrRefusal(call: LimitedCall, requests: Decision, clock: () => number): Limited {
  const { account, family, creditRemaining, tokens, keyRequests, keyTokens } = call;
  // Only Anthropic's headers have moments.
  const now = family === Family.ANTHROPIC ? clock() : 0;
  const left = { requests: tighter(requests, keyRequests), tokens: tokens ? tighter(tokens, keyTokens) : keyTokens };
  const headers = rateHeaders(family, { ...left, creditRemaining }, now);
  const nearest = account.key && nearestLimit(call, requests);
  refuseBeyond(call, requests, nearest ? { ...headers, ...nearestHeader(nearest) } : headers);
  return nearest ? { headers: { ...headers, ...nearestHeader(nearest) }, nearest } : { headers, nearest };
}

/** tighter returns the one of which less is left. */
function tighter(one: Decision, other: Decision | undefined): Decision {
  if (!other || one.remaining < other.remaining) return one;
  return one.remaining === other.remaining && one.limit <= other.limit ? one : other;
}

/** Of limits that are equally near, the key's. */
function nearestLimit({ tokens, keyRequests, keyTokens }: LimitedCall, requests: Decision): NearestLimit | undefined {
  const of = (name: LimitName, decision: Decision | undefined) => decision && nearestOf({ name, decision });
  const ofKey = nearer(of("key-requests", keyRequests), of("key-tokens", keyTokens));
  return nearer(ofKey, nearer(of("account-requests", requests), of("account-tokens", tokens)));
}

/** countedAccount returns the account whose tier counts the call: one of its own for an RPC with a rate of its own. */
function countedAccount({ account, method, access }: LimitedCall): LimitedAccount {
  if (!access?.ownRate) return account;
  const { id, tier } = account;
  return { id: apartId(id, method as DescMethod), tier: { ...tier, tokensPerMinute: undefined } };
}

function refuseBeyond(call: LimitedCall, requests: Decision, headers: AnswerHeaders): void {
  const { own, tokens, keyTokens, keyRequests } = call;
  if (own?.allowed === false) throw ownRefusal(own, headers);
  if (tokens?.allowed === false) throw rateRefusal(tokens, "token", "the account", headers);
  if (keyTokens?.allowed === false) throw rateRefusal(keyTokens, "token", "the API key", headers);
  if (keyRequests?.allowed === false) throw rateRefusal(keyRequests, "request", "the API key", headers);
  if (!requests.allowed) throw rateRefusal(requests, "request", "the account", headers);
}

function ownRefusal({ limit, retryAfterMs }: Decision, headers: AnswerHeaders): Refusal {
  return rateLimited(`${counted(limit, "call")} of this RPC a second`, retryAfterMs, headers);
}

export type RateUnit = "request" | "token";

/** rateRefusal returns the refusal of a call for a rate that is used up. */
export function rateRefusal(
  { limit, retryAfterMs }: Decision,
  unit: RateUnit,
  whose: "the account" | "the API key",
  headers: AnswerHeaders = {},
): Refusal {
  return rateLimited(`${counted(limit, unit)} a minute`, retryAfterMs, headers, whose);
}
