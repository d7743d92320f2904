/**
 * Tiers: how fast an account may call, by all that was ever recharged to it.
 *
 * Lists of tiers are lowest first, and their first tier holds from 0. Money is in millionths of the unit.
 */
export interface Tier {
  readonly name: string;
  /** The cumulative recharge from which it holds. */
  readonly recharge: number;
  readonly requestsPerMinute: number;
  /** Tokens in and out; unset: without a bound. */
  readonly tokensPerMinute: number | undefined;
}

/** Source: SPEC 2, "Account tier". */
export const defaultTiers: readonly Tier[] = [
  { name: "Free", recharge: 0, requestsPerMinute: 60, tokensPerMinute: undefined },
  { name: "VIP", recharge: 20_000_000, requestsPerMinute: 1_200, tokensPerMinute: undefined },
  { name: "Premium", recharge: 300_000_000, requestsPerMinute: 10_000, tokensPerMinute: undefined },
];

/** Returns the tier that this recharge has reached. */
export function tierOf(tiers: readonly Tier[], recharged: number): Tier {
  return tiers.findLast(({ recharge }) => recharged >= recharge) ?? (tiers[0] as Tier);
}

/** Returns the first tier that it has not; none at the highest. */
export function nextTier(tiers: readonly Tier[], recharged: number): Tier | undefined {
  return tiers[tiers.indexOf(tierOf(tiers, recharged)) + 1];
}

/** Returns who goes first where calls wait: 0 for the highest tier, and up to 9 for the lowest and for who has none. */
export function priorityOf(tiers: readonly Tier[], tier: Tier | undefined): number {
  const rank = tier === undefined ? 0 : Math.max(0, tiers.indexOf(tier));
  return lastPriority - Math.round((lastPriority * rank) / Math.max(1, tiers.length - 1));
}

const lastPriority = 9;
