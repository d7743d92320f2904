/** Decides how much credit a node leases: where it is ample, so that a small part of it covers many calls, and else nothing. */

/** leaseShare says which part of what is left may be leased at once: one in so many. */
export const leaseShare = 32;
/** For how many calls like the one that asks: no fewer, and no more. */
export const [minLeaseCalls, maxLeaseCalls] = [16, 8192];
/** maxLeaseLeft is how much of what is left counts at most: no sum comes near what cannot be counted exactly. */
export const maxLeaseLeft = 1e13;

/** leaseFor returns how much to lease for a call that asks for `amount` of what is left; 0 where that is not ample. */
export function leaseFor(amount: number, left: number): number {
  const part = Math.floor(Math.min(left, maxLeaseLeft) / leaseShare);
  return amount > 0 && part >= amount * minLeaseCalls ? Math.min(part, amount * maxLeaseCalls) : 0;
}
