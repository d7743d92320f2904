/**
 * Limits an account to the rate of its tier, and an RPC to its own limit.
 *
 * A refusal takes nothing that lasts. The RPC's own limit is taken first and the tier's request last: a refused call costs no
 * request, and a place under the RPC's own limit is back within a second. Tokens are only looked at here, because no one knows
 * beforehand how many a call needs: it may go while they are not in debt, and they are drawn after it. An RPC with a rate of its
 * own has a bucket of its own, as large as the tier's. An RPC that counts what it creates is only looked at here, and takes when it
 * creates.
 */
import type { DescMethod } from "@bufbuild/protobuf";
import { type Access, Family } from "../../../gen/modelgateway/v1/access_pb.ts";
import type { AnswerHeaders, Caller } from "../../call/call.ts";
import { internal, type Refusal, rateLimited } from "../../call/refusals.ts";
import type { Tier } from "../../call/tiers.ts";
import type { Decision, Limiter, Rate } from "../../limits/limiter.ts";
import { andThen, type MaybePromise } from "../../runtime/maybe-promise.ts";
import { sequence } from "../../runtime/sequence.ts";
import { accessOf } from "./authorize.ts";
import { rateHeaders } from "./rate-headers.ts";

/** The account, user or address that a limit counts. */
export interface LimitedAccount {
  readonly id: string;
  readonly tier: Tier;
}

/** What an account has left of its rate. */
export interface AccountRate {
  readonly tier: Tier;
  readonly requestsRemaining: number;
}

export interface Limit {
  /**
   * Takes a request from the account's rate, and returns the headers of the answer. `creditRemaining` is in millionths of the unit,
   * undefined where nothing limits it. `method` is omitted where only the account's rate counts. Throws a Refusal with the same
   * headers, now or later.
   */
  limit(
    account: LimitedAccount,
    method: DescMethod | undefined,
    family: Family,
    creditRemaining: number | undefined,
  ): MaybePromise<AnswerHeaders>;
  /**
   * Takes one from what an RPC may create in a second, and returns a function that gives it back where nothing was created. Throws
   * a Refusal, now or later.
   */
  making(accountId: string, method: DescMethod): MaybePromise<() => void>;
  /** Returns what a caller has left of its rate, and takes nothing. */
  accountRate(caller: Caller): Promise<AccountRate>;
  /** Draws the tokens that a call used, input and output together. */
  used(caller: Caller, tokens: number): Promise<void>;
}

export interface LimitOptions {
  readonly limiter: Limiter;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
}

export function createLimit({ limiter, clock }: LimitOptions): Limit {
  /** One limit after another: a call that is refused by one must not take from the next. */
  const takeAll = sequence([
    (call: LimitedCall) => takeOwn(call, limiter),
    (call: LimitedCall, own: Decision | undefined) => {
      noteOwn(call, own);
      return takeTokens(call, limiter);
    },
    (call: LimitedCall, tokens: Decision | undefined) => {
      call.tokens = tokens;
      return takeRequest(call, limiter);
    },
    (call: LimitedCall, requests: Decision) => headersOrRefusal(call, requests, clock),
  ]);
  return {
    limit(account, method, family, creditRemaining) {
      const access = method && accessOf(method);
      return takeAll({ account, method, access, family, creditRemaining, own: undefined, tokens: undefined });
    },
    making(accountId, method) {
      const rate = perSecond(accessOf(method).perSecond);
      if (!rate) throw internal(new Error(`${method} has no limit a second`));
      const id = ownId(accountId, method);
      return andThen(limiter.take(id, rate, 1), (own) => {
        if (!own.allowed) throw refusalOf(own, "call", "of this RPC a second", {});
        return () => void limiter.draw(id, rate, -1);
      });
    },
    async accountRate({ accountId, tier }) {
      if (!tier) throw internal(new Error("the operator has no rate"));
      const { remaining } = await limiter.take(accountId, perMinute(tier.requestsPerMinute), 0);
      return { tier, requestsRemaining: remaining };
    },
    async used({ accountId, tier }, tokens) {
      const rate = tier && tokensOf(tier);
      if (rate) await limiter.draw(tokensId(accountId), rate, tokens);
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
  /** Undefined where the RPC, or the tier, has no such limit. */
  own: Decision | undefined;
  tokens: Decision | undefined;
}

/** Takes from the RPC's own limit. */
function takeOwn({ account, method, access }: LimitedCall, limiter: Limiter): MaybePromise<Decision | undefined> {
  const rate = access && perSecond(access.perSecond);
  return rate && limiter.take(ownId(account.id, method as DescMethod), rate, access.countsMade ? 0 : 1);
}

function noteOwn(call: LimitedCall, own: Decision | undefined): void {
  const { access } = call;
  const rate = access && perSecond(access.perSecond);
  call.own = own && rate && access.countsMade ? wholeOne(own, rate) : own;
}

/** Looks at the tier's tokens. */
function takeTokens(call: LimitedCall, limiter: Limiter): MaybePromise<Decision | undefined> {
  const { id, tier } = countedAccount(call);
  const rate = tokensOf(tier);
  return rate && limiter.take(tokensId(id), rate, 0);
}

/** Takes one of the tier's requests, unless another limit refuses the call. */
function takeRequest(call: LimitedCall, limiter: Limiter): MaybePromise<Decision> {
  const { own, tokens } = call;
  const { id, tier } = countedAccount(call);
  const isAllowed = (own?.allowed ?? true) && (tokens?.allowed ?? true);
  return limiter.take(id, perMinute(tier.requestsPerMinute), isAllowed ? 1 : 0);
}

function headersOrRefusal(call: LimitedCall, requests: Decision, clock: () => number): AnswerHeaders {
  const { family, creditRemaining, own, tokens } = call;
  // Only Anthropic's headers have moments.
  const now = family === Family.ANTHROPIC ? clock() : 0;
  const headers = rateHeaders(family, { requests, tokens, creditRemaining }, now);
  refuseBeyond(own, requests, tokens, headers);
  return headers;
}

/** Returns the account whose tier counts the call: one of its own for an RPC with a rate of its own. */
function countedAccount({ account, method, access }: LimitedCall): LimitedAccount {
  if (!access?.ownRate) return account;
  const { id, tier } = account;
  return { id: `${ownId(id, method as DescMethod)} apart`, tier: { ...tier, tokensPerMinute: undefined } };
}

/** Turns a look at a bucket into the decision whether it holds one. */
function wholeOne(looked: Decision, { capacity, windowMs }: Rate): Decision {
  if (looked.remaining > 0) return looked;
  return { ...looked, allowed: false, retryAfterMs: Math.ceil(looked.resetMs - windowMs + windowMs / capacity) };
}

function ownId(accountId: string, method: DescMethod): string {
  return `${accountId} ${method.name}`;
}

function refuseBeyond(
  own: Decision | undefined,
  requests: Decision,
  tokens: Decision | undefined,
  headers: AnswerHeaders,
): void {
  if (own?.allowed === false) throw refusalOf(own, "call", "of this RPC a second", headers);
  if (tokens?.allowed === false) throw refusalOf(tokens, "token", "a minute", headers);
  if (!requests.allowed) throw refusalOf(requests, "request", "a minute", headers);
}

function refusalOf({ limit, retryAfterMs }: Decision, one: string, window: string, headers: AnswerHeaders): Refusal {
  return rateLimited(`${limit} ${limit === 1 ? one : `${one}s`} ${window}`, retryAfterMs, headers);
}

function tokensId(accountId: string): string {
  return `${accountId} tokens`;
}

function tokensOf({ tokensPerMinute }: Tier): Rate | undefined {
  return tokensPerMinute === undefined ? undefined : perMinute(tokensPerMinute);
}

function perMinute(capacity: number): Rate {
  return { capacity, windowMs: 60_000 };
}

function perSecond(capacity: number): Rate | undefined {
  return capacity === 0 ? undefined : { capacity, windowMs: 1_000 };
}
