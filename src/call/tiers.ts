/**
 * Tiers are the rate limits of accounts, by their cumulative recharge.
 *
 * Lists of tiers are in ascending order, and the first tier begins at 0. Money is in millionths of the unit.
 */
export interface Tier {
  readonly name: string;
  /** The cumulative recharge at which the tier begins. */
  readonly recharge: number;
  readonly requestsPerMinute: number;
  /** Input and output tokens; undefined: unlimited. */
  readonly tokensPerMinute: number | undefined;
}

/** defaultTiers are the tiers where the configuration has none. Source: SPEC 2, "Account tier". */
export const defaultTiers: readonly Tier[] = [
  { name: "Free", recharge: 0, requestsPerMinute: 60, tokensPerMinute: undefined },
  { name: "VIP", recharge: 20_000_000, requestsPerMinute: 1_200, tokensPerMinute: undefined },
  { name: "Premium", recharge: 300_000_000, requestsPerMinute: 10_000, tokensPerMinute: undefined },
];

/** tierOf returns the tier of an account with this cumulative recharge. */
export function tierOf(tiers: readonly Tier[], recharged: number): Tier {
  return tiers.findLast(({ recharge }) => recharged >= recharge) ?? (tiers[0] as Tier);
}

/** nextTier returns the tier after that; undefined at the highest. */
export function nextTier(tiers: readonly Tier[], recharged: number): Tier | undefined {
  return tiers[tiers.indexOf(tierOf(tiers, recharged)) + 1];
}

/**
 * priorityOf returns the place of a tier's calls in a queue: 0 (first) for the highest tier, 9 for the lowest and for callers without one.
 */
export function priorityOf(tiers: readonly Tier[], tier: Tier | undefined): number {
  // A caller may come with a tier of the configuration before.
  const rank =
    tier === undefined
      ? 0
      : Math.max(
          0,
          tiers.indexOf(tier),
          tiers.findIndex(({ name }) => name === tier.name),
        );
  return lastPriority - Math.round((lastPriority * rank) / Math.max(1, tiers.length - 1));
}

const lastPriority = 9;
