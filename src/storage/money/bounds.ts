/** Bounds of money that every engine keeps to. */

/** maxHeld is what may be held of an account before a call, and by one, at most: the sum of both is still exact. */
export const maxHeld = 3e15;

/**
 * maxSum is the most that any sum of money may come to: a double still holds it exactly. Holds of a key that has spent so much are refused.
 */
export const maxSum = 9e15;

/**
 * unreachedLimit is a credit limit that nobody can set or reach. A key has it before its first limit, so that all gateways hold by the key,
 * and keeps it where that limit was not set in the end: to people it is none.
 */
export const unreachedLimit = maxSum;

/** limitOf returns a key's credit limit as people know it: null for none. */
export function limitOf({ credit_limit }: { readonly credit_limit: number | null }): number | null {
  return credit_limit === unreachedLimit ? null : credit_limit;
}

/** maxOwed is the most that an account which is billed afterwards may owe: beyond it holds are refused. */
export const maxOwed = 3e15;

/**
 * maxCredited is the most that an account is credited in its life, refunds taken off: beyond it recharges and grants are refused. So all its
 * keys together, however many it has, never spend more than `maxSum`: what they have spent is what was credited and what is owed.
 */
export const maxCredited = maxSum - maxOwed;
