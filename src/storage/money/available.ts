/** Computes what a key may still spend, by what an engine reads of the key and its account. */
import { maxOwed } from "./bounds.ts";
import type { Available } from "./contract.ts";

/** Room is what an engine reads: what is left by the key's limit and by its account's balance, or by what can be counted without one. */
export interface Room {
  readonly ofLimit: number;
  readonly isLimited: boolean;
  readonly ofBalance: number;
  readonly isPrepaid: boolean;
}

/**
 * availableOf returns what is available as an operator sees it: infinite where nobody bounded it, until it comes near what can be counted.
 */
export function availableOf(room: Room | undefined): Available {
  if (!room) return lesserOf(Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY);
  return lesserOf(boundedBy(room.ofLimit, room.isLimited), boundedBy(room.ofBalance, room.isPrepaid));
}

/** countableOf returns the same as it bounds a hold. */
export function countableOf(room: Room | undefined): Available {
  return lesserOf(room?.ofLimit ?? Number.POSITIVE_INFINITY, room?.ofBalance ?? Number.POSITIVE_INFINITY);
}

function boundedBy(amount: number, isBounded: boolean): number {
  return !isBounded && amount >= maxOwed / 2 ? Number.POSITIVE_INFINITY : amount;
}

function lesserOf(ofLimit: number, ofBalance: number): Available {
  return { of: ofLimit < ofBalance ? "limit" : "balance", available: Math.max(0, Math.min(ofLimit, ofBalance)) };
}
