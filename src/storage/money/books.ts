/**
 * The contract of money in a database: what the ledger asks of an engine, many at a time.
 *
 * Each function is one transaction, which the engine repeats by itself where another process holds a lock or a connection broke: a hold
 * counts once by its call's id, a capture once by its call's id, a record once by its node and number, and a lease grows once a turn. An
 * engine that cannot write for `maxWaitMs` rejects with a LockedError, and nothing is written then. Functions take effect in the order in
 * which they are called. What an engine keeps for later (pending sums, a journal) it sees to itself.
 *
 * Money is in millionths of the unit, times are milliseconds since 1970.
 */
import type { MaybePromise } from "../../runtime/maybe-promise.ts";
import type { Capture } from "../columns.ts";
import type { BudgetTerms } from "./budgets.ts";
import type { Captured, Held, HoldInit } from "./contract.ts";

export { limitOf } from "./bounds.ts";
export { lacksCredit } from "./contract.ts";

/** holdMs is how long a hold or a lease outlives its process, in milliseconds. */
export const holdMs = 90_000;
/** sweepMs is how often the deadlines of what outlives its process so are moved on, in milliseconds. */
export const sweepMs = 20_000;
/** maxWaitMs is how long a function waits for another process's lock, in milliseconds. */
export const maxWaitMs = 5_000;

/** OpenBooks opens the books for a process, or for one ledger of it. */
export type OpenBooks = (options: BooksOptions) => Books;

export interface BooksOptions {
  /** Names the process. No other ever has the name, nor does this one when it starts again. */
  readonly node: string;
  /** The process's clock; an engine with a clock of its own measures deadlines by that. */
  readonly clock: () => number;
  /** Receives errors that no caller waits for. */
  readonly onError: (error: unknown) => void;
  /**
   * Gives back what the ledger keeps in memory, at once: before anybody else reads or changes sums, and before a call of another
   * process is refused for want of credit. The ledger counts the leases as gone. An empty id stands for all accounts.
   */
  readonly recall: (accountId: string) => Recalled;
  /** Returns the ids of the calls that have holds, or whose charge is being decided, or is not known to be written. */
  readonly holding?: (() => readonly string[]) | undefined;
  /** isElsewhere says that the ledger is in another process, which is asked for its leases before: `recall` gives nothing back. */
  readonly isElsewhere?: boolean;
  /** Says that no hold is taken by these books: they release what others have left, and nobody need know whether their process lives. */
  readonly takesNoHolds?: boolean;
}

/** Recalled is what a ledger gives back. */
export interface Recalled {
  /** All records that are not known to be written, oldest first: they are applied before the leases are released. */
  readonly records: readonly JournalRecord[];
  /** The ids of leases. What they have left is released. */
  readonly leases: readonly string[];
}

/** Changes tells of changes to keys, limits and accounts. */
export interface Changes {
  /** Returns another number within a second of any change to keys, limits and accounts, by whatever process. It never falls. */
  version(): number;
  /** Reports whether a key, or its account, may have changed since the version `asOf`. */
  changedSince(asOf: number, accountId: string, keyId: string): boolean;
}

export interface Books extends Changes {
  /** Reports whether calls of a key may draw on a lease: the key is not revoked, and has no limit unless `isOfKey`. */
  mayLease(keyId: string, isOfKey: boolean): MaybePromise<boolean>;
  /**
   * Decides a turn of the ledger: applies its records, releases its leases, then captures, releases and holds, each in its order.
   * `next` is called once, when the transaction has begun: what is asked while it has to wait becomes part of it.
   */
  decide(next: () => Turn): MaybePromise<Decisions>;
  /**
   * Writes what came of calls that leases or holds of this node cover. It is durable when this resolves, and others see it within
   * moments. The numbers of records rise; one that was written before, by whatever function, changes nothing.
   */
  write(record: JournalRecord): MaybePromise<void>;
  /**
   * Notes, at once and on this machine, that calls run whose holds are in a record that is to be written, with a number up to `seq`: so
   * that they are known as lost if this process dies before. It never throws. Undefined where `write` itself writes at once.
   */
  readonly note?: ((holds: readonly HoldEntry[], seq: number) => void) | undefined;
  /**
   * For how long the entry of a hold may wait before it is written, in milliseconds, so that it goes with others: nobody waits for it. A
   * call that ends meanwhile is written once. One whose process dies meanwhile is known by `note` alone. Unset where a write costs little.
   */
  readonly holdDelayMs?: number;
  /**
   * writeEveryMs is how long after the beginning of a write the next one begins at the earliest, in milliseconds: under load many calls are
   * one write, and one that comes alone waits for nothing. Unset where a write costs little.
   */
  readonly writeEveryMs?: number;
  /**
   * Says that the process ends: what cannot be written within some seconds is kept on its machine for another, and counts as written.
   * Undefined where a write does not wait for another process.
   */
  readonly ending?: (() => void) | undefined;
  /** Applies what is written and not applied where any of it is of a call of this account that has ended. Returns whether it did. */
  apply(accountId: string): MaybePromise<boolean>;
  /** Records when a key was used last, within moments. */
  touch(keyId: string, now: number): void;
  /** Releases what is left of leases that nobody draws on. Nothing happens to one that has expired. */
  releaseLeases(ids: readonly string[]): MaybePromise<void>;
  /** Moves on the deadlines of this node's holds and leases. */
  renew(): MaybePromise<void>;
  /**
   * Releases some holds and leases that have expired, of any node, and records their calls as lost. What such nodes have written is
   * applied first. Returns how many; the caller repeats it until there are none.
   */
  expire(): MaybePromise<number>;
  /** Applies and merges everything, releases this node's leases, and ends its traces. It never rejects. */
  close(): Promise<void>;
}

/** Turn is what the ledger asks at once. */
export interface Turn extends Recalled {
  readonly captures: readonly DecidedCapture[];
  /** The calls whose holds end without a charge. */
  readonly releases: readonly string[];
  readonly holds: readonly DecidedHold[];
}

/** DecidedCapture is a call that no lease or hold is sure to cover. */
export interface DecidedCapture {
  readonly call: Capture;
  /** The most that it may be charged: what its hold does not cover is taken from what is available. */
  readonly most: number;
  /** The budgets that its hold was decided by, where there are any: what the hold does not cover is bounded by them, too. */
  readonly budgets?: BudgetTerms | undefined;
  /** isCovered says that it has a hold that covers it, as far as the ledger knows: nothing of others is needed for it. */
  readonly isCovered?: boolean | undefined;
}

export interface DecidedHold extends Omit<HoldInit, "node" | "expiresAt"> {
  /** The budgets of its account and key, as the caller knows them; an engine goes by those that are stored. */
  readonly budgets?: BudgetTerms | undefined;
  /** The lease that is to grow where credit is ample (`lease-size.ts`) and the key may draw on it; undefined for none. */
  readonly lease: LeaseName | undefined;
}

/** LeaseName names the lease of a node: of a key's limit, or of a whole account. */
export interface LeaseName {
  readonly id: string;
  readonly isOfKey: boolean;
}

/** Decisions are in the order of what was asked. */
export interface Decisions {
  /** Undefined for a call that was captured before. */
  readonly captures: readonly Decision<Captured | undefined>[];
  readonly releases: readonly Decision<undefined>[];
  readonly holds: readonly Decision<Granted>[];
}

/**
 * Decision is what was decided of one item; `failed` where its own values cannot be written, which fails no other; `later` where it is
 * still to be decided, as what other nodes have must come back first, which holds up no other.
 */
export type Decision<T> = KnownDecision<T> | { readonly kind: "later"; readonly decision: Promise<Decision<T>> };

/** KnownDecision is a decision that does not come later. */
export type KnownDecision<T> =
  | { readonly kind: "decided"; readonly value: T }
  | { readonly kind: "failed"; readonly error: unknown };

/** whenKnown waits for a decision that comes later. */
export async function whenKnown<T>(decision: Decision<T>): Promise<KnownDecision<T>> {
  return decision.kind === "later" ? whenKnown(await decision.decision) : decision;
}

/** Granted says that the lease grew by so much (perhaps by nothing) and covers the call, or how the call's own hold went. */
export type Granted = { readonly kind: "leased"; readonly grown: number } | Held;

/**
 * JournalRecord is what came of calls in one turn of the event loop. Its entries are in order. `hold` and `settle` of a call in one batch
 * of records cancel out: the call never has a hold of its own.
 */
export interface JournalRecord {
  /** Numbers the records of its node, rising from 1 on. */
  readonly seq: number;
  readonly entries: readonly Entry[];
  readonly at: number;
}

/** Entry is one thing that happened to a call. The kinds are words of the journal's file format. */
export type Entry = HoldEntry | ReleaseEntry | CaptureEntry;

/** Taken names the lease that a call took its hold from. */
export interface Taken {
  readonly leaseId: string;
  /** isOfKey says that the lease is of the key alone, and not of the whole account. */
  readonly isOfKey: boolean;
}

/**
 * HoldEntry says that a call runs, and has taken its hold from a lease; one that costs nothing holds nothing, of no lease. Where nothing
 * more comes of the call, it is lost with its process.
 */
export interface HoldEntry {
  readonly kind: "hold";
  readonly requestId: string;
  readonly taken: Taken | undefined;
  readonly accountId: string;
  readonly keyId: string;
  readonly operation: string;
  readonly model: string;
  readonly amount: number;
  readonly createdAt: number;
}

/** ReleaseEntry says that a call holds nothing any more. */
export interface ReleaseEntry {
  readonly kind: "free";
  readonly requestId: string;
  /** The lease that gets back what was held, if it is still there; else the account does. */
  readonly taken?: Taken | undefined;
}

/** callIdOf returns the id of the call that an entry is of. */
export function callIdOf(entry: Entry): string {
  return entry.kind === "settle" ? entry.call.id : entry.requestId;
}

/** CaptureEntry says that a call has ended, and what it is charged. */
export interface CaptureEntry {
  readonly kind: "settle";
  /** call has a cost that the hold covers: what it cost beyond the hold is in `waived`. */
  readonly call: Capture;
  /** isHeld says whether the call had a hold. */
  readonly isHeld: boolean;
  /** isLimited says whether its key has, or may have, a credit limit. Unset in records of older versions: it may. */
  readonly isLimited?: boolean;
  /** The lease that its hold was taken from, which gets the rest of it back, if it is still there; else the account does. */
  readonly taken?: Taken | undefined;
}
