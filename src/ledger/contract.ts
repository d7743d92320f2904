/**
 * The contract of the ledger: a call holds what it may cost before it is sent, and is charged (captured) when it has ended.
 *
 * The results of `capture` and `release` survive this process. Money is in millionths of the unit.
 */
import type { MaybePromise } from "../runtime/maybe-promise.ts";
import type { Slotted } from "../runtime/slot-set.ts";
import type { Changes, HoldEntry, OpenBooks } from "../storage/money/books.ts";
import type { BudgetLeft, Capture, Captured, Held, HoldInit } from "../storage/money/contract.ts";
import type { Credit } from "./credit.ts";
import type { Lease, Payer } from "./leases/leases.ts";

export { holdMs, limitOf, sweepMs } from "../storage/money/books.ts";
export type { BudgetLeft, BudgetTerms, Capture, Captured } from "../storage/money/contract.ts";

/** HoldRequest is what a call asks to be held, and of whom. */
export type HoldRequest = Omit<HoldInit, "node" | "expiresAt"> & Payer;

/** Hold is what a call has reserved. Its owner captures the call or releases the hold, once. */
export interface Hold extends Slotted {
  readonly kind: "held";
  readonly request: HoldRequest;
  readonly amount: number;
  /** The lease that it was taken from, and what is written of that; undefined for one that the books decided on. */
  readonly lease: Lease | undefined;
  readonly entry: HoldEntry | undefined;
  /** isExact says that the books decided on the hold, or that it may have expired: then they decide on the charge, too. */
  isExact: boolean;
  /** The budget that the hold leaves least of, as the books decided; undefined for none. */
  readonly budget?: BudgetLeft | undefined;
}

/** Short says that nothing was held, and what is left of what. */
export type Short = Extract<Held, { kind: "short" }>;

/** maxHold is the most that can be held for one call, in millionths of the unit. */
export const maxHold = 3e15;
/** closeMs is how long closing waits for calls to be captured, all of which were aborted before. */
export const closeMs = 10_000;

export interface LedgerOptions {
  readonly openBooks: OpenBooks;
  /** clock returns milliseconds since 1970. */
  readonly clock: () => number;
  /** Receives errors that no caller waits for. */
  readonly onError: (error: unknown) => void;
}

export interface Ledger {
  /** Holds `max`, or what is available if that is at least `min`; never more than there is. */
  hold(request: HoldRequest): MaybePromise<Hold | Short>;
  /** Releases a hold. The call may hold anew. */
  release(hold: Hold): Promise<void>;
  /** Counts a call that runs and will be captured, so that `close` waits for it. Returns what ends that. */
  begin(): () => void;
  /**
   * Charges a call, at most what it holds, and ends the hold. It may be repeated: a call that was captured before is left as it
   * is, and the result is undefined. It is durable when it resolves.
   */
  capture(call: Capture, hold?: Hold): MaybePromise<Captured | undefined>;
  /** Records when a key was used last, within moments. */
  touch(keyId: string, now: number): void;
  /** Has what is written of calls of this account that have ended seen by whoever reads its sums. Returns whether there was any. */
  flushCallsOf(accountId: string): MaybePromise<boolean>;
  /** credit is what is left of accounts and keys, as far as this process knows. */
  readonly credit: Credit;
  /** Moves on the deadlines of this process's holds, and expires those of processes that died. */
  sweep(): Promise<void>;
  /**
   * Says that this process ends once its calls are over. What cannot be written within some seconds is kept on its machine from now on, so
   * that no caller waits in vain for the end of an answer.
   */
  ending(): void;
  /** Waits for running calls to be captured, all of which were aborted before, and posts everything. */
  close(): Promise<void>;
}

type KeyAsOf = Pick<Payer, "accountId" | "keyId" | "asOf">;

/**
 * isUnchanged reports whether nothing of a key and its account can have changed since it was read. `current` is the version, where it is
 * known.
 */
export function isUnchanged({ asOf, accountId, keyId }: KeyAsOf, changes: Changes, current?: number): boolean {
  if (asOf === undefined) return false;
  return asOf === (current ?? changes.version()) || !changes.changedSince(asOf, accountId, keyId);
}
