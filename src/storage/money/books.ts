/**
 * The contract of money in a database: what the ledger asks of an engine, many at a time.
 *
 * Each function is one transaction. The engine repeats it by itself where another process holds a lock or a connection broke, so a hold
 * counts once by its call's id, a capture once by its call's id, and a record once by its node and number. Each item is decided by itself: one
 * that cannot be written fails alone. Money is in millionths of the unit, times are milliseconds since 1970.
 */
import type { MaybePromise } from "../../runtime/maybe-promise.ts";
import type { JournalRecord } from "../journal/contract.ts";
import type { Available, Capture, Captured, Held, HoldInit } from "./contract.ts";

export interface Books {
  /** Decides the turn of one node: captures first, then releases, then holds, each in its order. */
  decide(turn: Turn): MaybePromise<Decisions>;
  /** Writes what came of calls that leases or holds of this node cover. It is durable when this resolves, and others see it within moments. */
  write(node: string, record: JournalRecord): MaybePromise<void>;
  /** Records when keys were used last, within moments. */
  touch(uses: ReadonlyMap<string, number>): MaybePromise<void>;
  /** Gives back what is left of leases. Nothing happens to one that has expired. */
  releaseLeases(ids: readonly string[]): MaybePromise<void>;
  /**
   * Has idle leases of all nodes given back, and all that is written applied: before a refusal for want of credit, before a refund, and
   * before anybody reads sums. An empty id stands for all accounts.
   */
  recall(accountId: string): MaybePromise<void>;
  /** Moves on the deadlines of a node's holds and leases. Returns false where they have expired meanwhile. */
  renew(node: string): MaybePromise<boolean>;
  /** Releases what has expired, of any node, and records its calls as lost. What such nodes have written is applied first. */
  expire(): MaybePromise<number>;
  /** Merges some pending sums. Returns whether any are left. */
  merge(): MaybePromise<boolean>;
  /** Applies all that this node has written, and ends its traces. */
  close(node: string): Promise<void>;
}

export interface Turn {
  readonly node: string;
  readonly captures: readonly DecidedCapture[];
  /** The calls whose holds end without a charge. */
  readonly releases: readonly string[];
  readonly holds: readonly DecidedHold[];
}

/** DecidedCapture is a call that no lease or hold is sure to cover. */
export interface DecidedCapture {
  readonly call: Capture;
  /** The most that it may be charged. */
  readonly most: number;
}

export interface DecidedHold extends Omit<HoldInit, "expiresAt"> {
  /** The lease that is to grow where credit is ample and the key may draw on it; undefined for none. */
  readonly lease: { readonly id: string; readonly isOfKey: boolean } | undefined;
}

export interface Decisions {
  /** Undefined for a call that was captured before. */
  readonly captures: readonly Decision<Captured | undefined>[];
  readonly releases: readonly Decision<void>[];
  readonly holds: readonly Decision<Granted>[];
}

/** Decision is what was decided of one item; `failed` where its own values cannot be written. */
export type Decision<T> =
  | { readonly kind: "decided"; readonly value: T }
  | { readonly kind: "failed"; readonly error: unknown };

/** Granted says that the lease grew by so much and covers the call, or how the call's own hold went. */
export type Granted = { readonly kind: "leased"; readonly grown: number } | Held;

export type { Available };
