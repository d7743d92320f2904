/**
 * Holds an account to the rate of its tier, and an RPC to its own, and tells the caller where it stands.
 *
 * A refusal takes nothing that lasts. The RPC's own bound is asked first and the tier's requests last: a call that is
 * refused costs no request, and a place under the RPC's own bound is back within a second. Tokens are only looked at
 * beforehand, for nobody knows how many a call needs: it may go while they are not in debt, and they are drawn after it. An RPC
 * with a rate of its own has a bucket of its own, as large as the tier's; one that counts what it makes is only looked at
 * beforehand, and takes when it makes.
 */
import type { DescMethod } from "@bufbuild/protobuf";
import { Family } from "../../../gen/modelgateway/v1/access_pb.ts";
import type { AnswerHeaders, Caller } from "../../call/call.ts";
import { internal, type Refusal, rateLimited } from "../../call/refusals.ts";
import type { Tier } from "../../call/tiers.ts";
import type { Decision, Limiter, Rate } from "../../limits/limiter.ts";
import { formatDecimal } from "../../runtime/decimal.ts";
import { andThen, isPromise, type MaybePromise } from "../../runtime/maybe-promise.ts";
import { accessOf } from "./authorize.ts";

/** Who is limited. */
export interface LimitedAccount {
  readonly id: string;
  readonly tier: Tier;
}

/** Where an account stands with its rate. */
export interface AccountRate {
  readonly tier: Tier;
  readonly requestsRemaining: number;
}

export interface Limit {
  /**
   * Takes a request from the account's rate, and returns the headers of the answer. `creditRemaining` is in millionths
   * of the unit, undefined where nothing bounds it. A call that goes no further names no method. Throws a Refusal with the
   * same headers, now or later.
   */
  limit(
    account: LimitedAccount,
    method: DescMethod | undefined,
    family: Family,
    creditRemaining: number | undefined,
  ): MaybePromise<AnswerHeaders>;
  /**
   * Takes one from what an RPC may make a second, and returns what gives it back where nothing was made. Throws a Refusal, now or
   * later.
   */
  making(accountId: string, method: DescMethod): MaybePromise<() => void>;
  /** Tells where a caller stands, and takes nothing. */
  standing(caller: Caller): Promise<AccountRate>;
  /** Draws the tokens that a call of this caller took, in and out. */
  used(caller: Caller, tokens: number): Promise<void>;
}

export interface LimitOptions {
  readonly limiter: Limiter;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
}

export function createLimit({ limiter, clock }: LimitOptions): Limit {
  // One after another: who is refused by one must not use up the next. What goes on is made only where one has to be waited for.
  const takeTokens = (asker: Asker, own: Decision | undefined): MaybePromise<AnswerHeaders> => {
    const { id, tier } = asker.account;
    const rate = tokensOf(tier);
    const tokens = rate && limiter.take(tokensId(id), rate, 0);
    return isPromise(tokens) ? tokens.then((there) => takeRequest(asker, own, there)) : takeRequest(asker, own, tokens);
  };
  const takeRequest = (
    asker: Asker,
    own: Decision | undefined,
    tokens: Decision | undefined,
  ): MaybePromise<AnswerHeaders> => {
    const { id, tier } = asker.account;
    const mayAsk = (own?.allowed ?? true) && (tokens?.allowed ?? true);
    const requests = limiter.take(id, perMinute(tier.requestsPerMinute), mayAsk ? 1 : 0);
    return isPromise(requests)
      ? requests.then((there) => tell(asker, own, tokens, there))
      : tell(asker, own, tokens, requests);
  };
  const tell = (asker: Asker, own: Decision | undefined, tokens: Decision | undefined, requests: Decision) => {
    const { family, creditRemaining } = asker;
    // Only Anthropic tells moments.
    const now = family === Family.ANTHROPIC ? clock() : 0;
    const headers = rateHeaders(family, { requests, tokens, creditRemaining }, now);
    refuseBeyond(own, requests, tokens, headers);
    return headers;
  };
  return {
    limit(account, method, family, creditRemaining) {
      const access = method && accessOf(method);
      const asker = {
        account: access?.ownRate ? apart(account, method as DescMethod) : account,
        family,
        creditRemaining,
      };
      const rate = access && perSecond(access.perSecond);
      const own = rate && limiter.take(ownId(account.id, method as DescMethod), rate, access.countsMade ? 0 : 1);
      const goOn = (there: Decision | undefined) =>
        takeTokens(asker, rate && there && access.countsMade ? wholeOne(there, rate) : there);
      return isPromise(own) ? own.then(goOn) : goOn(own);
    },
    making(accountId, method) {
      const rate = perSecond(accessOf(method).perSecond);
      if (!rate) throw internal(new Error(`${method} has no bound a second`));
      const id = ownId(accountId, method);
      return andThen(limiter.take(id, rate, 1), (own) => {
        if (!own.allowed) throw refusalOf(own, "call", "of this RPC a second", {});
        return () => void limiter.draw(id, rate, -1);
      });
    },
    async standing({ accountId, tier }) {
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

/** Who asks, and what is told of it. */
interface Asker {
  readonly account: LimitedAccount;
  readonly family: Family;
  readonly creditRemaining: number | undefined;
}

/** Says of a bucket that was looked at whether it holds one. */
function wholeOne(looked: Decision, { capacity, windowMs }: Rate): Decision {
  if (looked.remaining > 0) return looked;
  return { ...looked, allowed: false, retryAfterMs: Math.ceil(looked.resetMs - windowMs + windowMs / capacity) };
}

function ownId(accountId: string, method: DescMethod): string {
  return `${accountId} ${method.name}`;
}

/** Who is counted by a rate of an RPC's own. */
function apart({ id, tier }: LimitedAccount, method: DescMethod): LimitedAccount {
  return { id: `${ownId(id, method)} apart`, tier: { ...tier, tokensPerMinute: undefined } };
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

/** Where a caller stands. */
export interface Standing {
  readonly requests: Decision;
  /** Undefined where the tier does not bound tokens. */
  readonly tokens: Decision | undefined;
  /** In millionths of the unit; undefined where nothing bounds it. */
  readonly creditRemaining: number | undefined;
}

/** Tells a caller where it stands, in its family's words. `now` is in milliseconds since 1970. */
export function rateHeaders(family: Family, standing: Standing, now: number): AnswerHeaders {
  const { creditRemaining } = standing;
  const headers = family === Family.ANTHROPIC ? anthropicHeaders(standing, now) : openaiHeaders(standing);
  if (creditRemaining !== undefined) headers["x-gateway-credit-remaining"] = formatDecimal(creditRemaining);
  return headers;
}

function anthropicHeaders({ requests, tokens }: Standing, now: number): Record<string, string> {
  const headers: Record<string, string> = {
    "anthropic-ratelimit-requests-limit": String(requests.limit),
    "anthropic-ratelimit-requests-remaining": String(requests.remaining),
    "anthropic-ratelimit-requests-reset": moment(now + requests.resetMs),
  };
  if (!tokens) return headers;
  headers["anthropic-ratelimit-tokens-limit"] = String(tokens.limit);
  headers["anthropic-ratelimit-tokens-remaining"] = String(tokens.remaining);
  headers["anthropic-ratelimit-tokens-reset"] = moment(now + tokens.resetMs);
  return headers;
}

function openaiHeaders({ requests, tokens }: Standing): Record<string, string> {
  const headers: Record<string, string> = {
    "x-ratelimit-limit-requests": String(requests.limit),
    "x-ratelimit-remaining-requests": String(requests.remaining),
    "x-ratelimit-reset-requests": duration(requests.resetMs),
  };
  if (!tokens) return headers;
  headers["x-ratelimit-limit-tokens"] = String(tokens.limit);
  headers["x-ratelimit-remaining-tokens"] = String(tokens.remaining);
  headers["x-ratelimit-reset-tokens"] = duration(tokens.resetMs);
  return headers;
}

/** The day that was written last, in days since 1970: `Date` takes a microsecond, and most moments are today. */
let day = 0;
let dayText = "1970-01-01";
const twoDigits = Array.from({ length: 60 }, (_, number) => String(number).padStart(2, "0"));

/** Writes RFC 3339 to the second, as Anthropic does, and never too early. */
function moment(ms: number): string {
  const seconds = Math.ceil(ms / 1_000);
  const today = Math.floor(seconds / 86_400);
  if (today !== day) {
    dayText = new Date(today * 86_400_000).toISOString().slice(0, 10);
    day = today;
  }
  const hour = twoDigits[Math.floor(seconds / 3_600) % 24];
  return `${dayText}T${hour}:${twoDigits[Math.floor(seconds / 60) % 60]}:${twoDigits[seconds % 60]}Z`;
}

/** With their point, and no zero at the end. */
const thousandths = Array.from({ length: 1_000 }, (_, number) => String(number / 1_000).slice(1));

/** Writes whole milliseconds as Go does: `0s`, `12ms`, `1.5s`, `6m0s`, `1h0m0s`. */
function duration(ms: number): string {
  if (ms > 0 && ms < 1_000) return `${ms}ms`;
  const minutes = Math.floor(ms / 60_000);
  const rest = ms - minutes * 60_000;
  const whole = Math.floor(rest / 1_000);
  const seconds = `${whole}${thousandths[rest - whole * 1_000]}s`;
  if (minutes === 0) return seconds;
  return minutes < 60 ? `${minutes}m${seconds}` : `${Math.floor(minutes / 60)}h${minutes % 60}m${seconds}`;
}
