/** The buckets that an account and a key take from, and their rates. */
import type { DescMethod } from "@bufbuild/protobuf";
import type { KeyLimits } from "../../call/key-limits.ts";
import type { Tier } from "../../call/tiers.ts";
import { type Decision, perMinute, type Rate } from "../../limits/limiter.ts";

/** tokensId returns the id of the bucket of tokens of an account, or of a key: their ids are never the same. */
export function tokensId(id: string): string {
  return `${id} tokens`;
}

/** ownId returns the id of the bucket that an RPC's own limit takes from. */
export function ownId(id: string, method: DescMethod): string {
  return `${id} ${method.name}`;
}

/** apartId returns the id of the bucket of requests of an RPC with a rate of its own. */
export function apartId(id: string, method: DescMethod): string {
  return `${ownId(id, method)} apart`;
}

export function tokensOf({ tokensPerMinute }: Pick<Tier, "tokensPerMinute">): Rate | undefined {
  return tokensPerMinute === undefined ? undefined : perMinute(tokensPerMinute);
}

export function requestsOf({ requestsPerMinute }: Pick<KeyLimits, "requestsPerMinute">): Rate | undefined {
  return requestsPerMinute === undefined ? undefined : perMinute(requestsPerMinute);
}

export function perSecond(capacity: number): Rate | undefined {
  return capacity === 0 ? undefined : { capacity, windowMs: 1_000 };
}

/** wholeOne turns a look at a bucket into the decision whether it holds one. */
export function wholeOne(looked: Decision, { capacity, windowMs }: Rate): Decision {
  if (looked.remaining > 0) return looked;
  return { ...looked, allowed: false, retryAfterMs: Math.ceil(looked.resetMs - windowMs + windowMs / capacity) };
}

/** givenBack turns a decision that took one from a bucket into what it holds once that is back. */
export function givenBack(taken: Decision, { capacity, windowMs }: Rate): Decision {
  const remaining = Math.min(capacity, taken.remaining + 1);
  return { ...taken, remaining, resetMs: Math.max(0, taken.resetMs - Math.ceil(windowMs / capacity)) };
}
