/**
 * The contract of the ledger: a call holds what it may cost before it is sent, and is charged (captured) when it has ended.
 *
 * What `capture` and `release` give survives this process. Money is in millionths of the unit.
 */
import type { MaybePromise } from "../runtime/maybe-promise.ts";
import type { Slotted } from "../runtime/slot-set.ts";
import type { Capture, Captured, Held, HoldInit, LedgerStore } from "../storage/money/contract.ts";
import type { Credit } from "./credit.ts";
import type { Lease, Payer } from "./leases/leases.ts";

export type { Capture, Captured } from "../storage/money/contract.ts";

/** HoldRequest is what a call asks to be held, and of whom. */
export type HoldRequest = Omit<HoldInit, "node" | "expiresAt"> & Payer;

/** Hold is what a call has reserved. Its owner captures the call or releases the hold, once. */
export interface Hold extends Slotted {
  readonly kind: "held";
  readonly request: HoldRequest;
  readonly amount: number;
  /** The lease that it was taken from; undefined once it has a row of its own. */
  lease: Lease | undefined;
  /** Says that the database decided on the hold: then it decides on the charge, too. */
  isExact: boolean;
}

/** Short says that nothing was held, and what is left of what. */
export type Short = Extract<Held, { kind: "short" }>;

/** The most that can be held for one call, in millionths of the unit. */
export const maxHold = 4e15;
/** How long a hold outlives its process, in milliseconds. */
export const holdMs = 90_000;
/** How often the deadlines of holds are moved on. */
export const sweepMs = 20_000;
/** How long closing waits for calls to be captured, all of which were aborted before. */
export const closeMs = 10_000;

export interface LedgerOptions {
  readonly store: LedgerStore;
  /** Milliseconds since 1970. */
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
  /**
   * Posts all that is journaled if any of it is of a call of this account that has ended, unless another process is writing.
   * Returns whether it did.
   */
  flushCallsOf(accountId: string): boolean;
  /** What is left of accounts and keys, as far as this process knows. */
  readonly credit: Credit;
  /** Moves on the deadlines of this process's holds, and expires those of processes that died. */
  sweep(): Promise<void>;
  /** Waits for running calls to be captured, all of which were aborted before, and posts everything. */
  close(): Promise<void>;
}
