/** The contract of money in the database: what the ledger asks of storage. Money is in millionths of the unit. */
import type { Capture } from "../columns.ts";
import type { Engine } from "../engines/engine.ts";
import type { WhenFree } from "../engines/lock-retry.ts";
import type { Entry, JournalStore } from "../journal/contract.ts";

export type { Capture } from "../columns.ts";

export interface HoldInit {
  readonly requestId: string;
  /** The process that makes it. */
  readonly node: string;
  readonly accountId: string;
  readonly keyId: string;
  readonly operation: string;
  readonly model: string;
  /** The most that the call may cost. */
  readonly max: number;
  /** The least that is of use to the call. */
  readonly min: number;
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly expiresAt: number;
}

export type Held =
  | { readonly kind: "held"; readonly amount: number }
  /** `available` is what is left of the balance or of the limit, whichever is too little. */
  | { readonly kind: "short"; readonly of: "balance" | "limit"; readonly available: number };

/** Captured is what a call was charged. */
export interface Captured {
  readonly cost: number;
  /** What it cost beyond that, and nobody pays: more than was held for it, or than was left. */
  readonly waived: number;
}

/** Available is what may still be spent, and whether the key's limit or the account's balance bounds it. */
export interface Available {
  readonly of: "limit" | "balance";
  /** Infinite where neither bounds it. */
  readonly available: number;
}

export interface LeaseInit {
  readonly id: string;
  readonly node: string;
  readonly accountId: string;
  /** Empty for a lease of the whole account. */
  readonly keyId: string;
  readonly amount: number;
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly expiresAt: number;
}

export interface LeaseStore {
  /** Reserves credit and adds it to the lease. Returns false where the credit does not reach. */
  grow(init: LeaseInit): boolean;
  /** Reports whether calls of a key may draw on a lease: the key is not revoked, and has no limit unless `isLimited`. */
  mayLease(keyId: string, isLimited: boolean): boolean;
  /** Releases all that the lease has; nothing where it has expired before. */
  release(id: string): void;
}

/** PendingOfKey is what is pending of one key. */
export interface PendingOfKey {
  readonly spent: number;
  /** What is no longer held; below 0 where more is held. */
  readonly freed: number;
}

/**
 * Apply writes entries of the journal to the tables, in the caller's transaction. `mayStayPending` says that no key has been
 * given a limit since its calls drew on a lease: then sums of keys and hours may be merged later.
 */
export type Apply = (entries: readonly Entry[], node: string, expiresAt: number, mayStayPending?: boolean) => void;

/** PendingMerge merges what is pending of the sums of keys and hours, partition by partition. */
export interface PendingMerge {
  /** How many partitions there are. None takes long to merge. */
  readonly parts: number;
  /** Merges what is pending of a partition, in the caller's transaction. */
  merge(part: number): void;
  /** Reports whether anything is pending. */
  isAny(): boolean;
}

/** LedgerStore reads and writes money. Every function but `transact` is a step of a transaction that the caller opens. */
export interface LedgerStore
  extends Pick<Engine, "transact" | "isFault" | "version" | "withoutWaiting" | "beforeAccess"> {
  readonly whenFree: WhenFree;
  readonly leases: LeaseStore;
  readonly journal: JournalStore;
  readonly pendingTotals: PendingMerge;
  readonly apply: Apply;
  /** Holds `max`, or all that is available if that is at least `min`. */
  hold(init: HoldInit): Held;
  /** Returns what a key may still spend: the lesser of its limit and its account's balance, less all holds. */
  available(keyId: string): Available;
  /** Releases a call's hold, if it has one. */
  release(requestId: string): void;
  /**
   * Charges a call, at most `most`, and ends its hold. What the hold does not cover, because it has expired or there was none,
   * is taken from what is available. Returns undefined, and changes nothing, for a call that was captured before.
   */
  capture(call: Capture, most?: number): Captured | undefined;
  /** Moves on the deadlines of this process's holds. */
  renew(node: string, expiresAt: number): void;
  /**
   * Releases holds whose deadline has passed, up to 500 at a time and none of the processes in `except`, and records their calls
   * as lost. Returns how many.
   */
  expire(now: number, except?: readonly string[]): number;
  /** Records when a key was used last. */
  touch(keyId: string, now: number): void;
}
