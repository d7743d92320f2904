/** The parts of a ledger, and what it knows of calls that run. */
import type { Deferred } from "../../runtime/maybe-promise.ts";
import type { SlotSet } from "../../runtime/slot-set.ts";
import type { Entry, HoldEntry } from "../../storage/journal/contract.ts";
import type { LedgerStore } from "../../storage/money/contract.ts";
import { type Hold, holdMs } from "../contract.ts";
import type { Credit } from "../credit.ts";
import type { GroupCommit } from "../journal/group-commit.ts";
import type { Journal } from "../journal/journal.ts";
import type { Leases, Payer } from "./leases.ts";

/**
 * LedgerState. A hold is in one of three states: it draws on a lease (`lease` is set); it has a row of its own, which a flush gave
 * it; or the database decided on it (`isExact`), and it has a row from the start.
 */
export interface LedgerState {
  readonly store: LedgerStore;
  /** Names this process. */
  readonly node: string;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  /** Receives errors that no caller waits for. */
  readonly onError: (error: unknown) => void;
  readonly credit: Credit;
  readonly leases: Leases;
  readonly journal: Journal;
  readonly groupCommit: GroupCommit;
  /** Holds of calls that run. */
  readonly holds: SlotSet<Hold>;
  /** Calls whose charge the database decides at this moment. */
  readonly capturing: Set<string>;
  /** Holds that have drawn on leases since the last flush: none has a row of its own. */
  unposted: Hold[];
  /** When the deadlines of this process's holds were last moved on. */
  renewedAt: number;
}

/** Reports whether this process has renewed its holds in time. One that stood still for long has lost its leases. */
export function isAwake({ clock, renewedAt }: LedgerState): boolean {
  return clock() - renewedAt < holdMs;
}

/** Asks the database whether calls of the payer's key may draw on a lease. */
export function mayLease({ store }: Pick<LedgerState, "store">, { keyId, isLimited }: Payer): boolean {
  return store.leases.mayLease(keyId, isLimited);
}

/** Adds an entry to the journal. Resolves once it is durable. */
export function record({ journal, groupCommit }: LedgerState, entry: Entry, accountId: string): Deferred<void> {
  journal.add(entry, accountId);
  return groupCommit.appended();
}

/** Releases a hold by the journal, for a call whose caller was told that it failed. */
export function releaseLater({ journal }: LedgerState, requestId: string, accountId: string): void {
  journal.add({ kind: "free", requestId }, accountId);
  journal.flushLater();
}

/** Counts that a call has more, or less where the amount is below 0, of its account's credit than it holds. */
export function adjust({ leases, credit }: LedgerState, { request, lease }: Hold, amount: number): void {
  if (lease) {
    leases.use(lease, amount);
    credit.used(lease, amount);
  } else credit.held(request.accountId, request.keyId, amount);
}

/** Returns the holds that a flush is to give rows of their own. */
export function unpostedHolds({ unposted, holds }: LedgerState): HoldEntry[] {
  return unposted.filter((one) => holds.has(one)).flatMap((hold) => holdEntryOf(hold) ?? []);
}

/** Says that a flush has given unposted holds rows of their own. */
export function markHoldsPosted(state: LedgerState): void {
  for (const hold of state.unposted) hold.lease = undefined;
  if (state.unposted.length > 0) state.unposted = [];
}

function holdEntryOf({ request, amount, lease }: Hold): HoldEntry | undefined {
  if (!lease) return undefined;
  const { requestId, accountId, keyId, operation, model, now: createdAt } = request;
  return { kind: "hold", requestId, taken: lease.taken, accountId, keyId, operation, model, amount, createdAt };
}
