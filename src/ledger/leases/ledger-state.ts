/** The parts of a ledger, and what it knows of calls that run. */
import type { Deferred } from "../../runtime/maybe-promise.ts";
import type { SlotSet } from "../../runtime/slot-set.ts";
import { type Books, type Entry, holdMs } from "../../storage/money/books.ts";
import type { Hold } from "../contract.ts";
import type { Credit } from "../credit.ts";
import type { GroupCommit } from "../group-commit.ts";
import type { Leases } from "./leases.ts";

/**
 * LedgerState. A hold was taken from a lease (`lease` is set), and its entry is written at the end of its turn; or the books decided on
 * it (`isExact`).
 */
export interface LedgerState {
  readonly books: Books;
  /** clock returns milliseconds since 1970. */
  readonly clock: () => number;
  /** Receives errors that no caller waits for. */
  readonly onError: (error: unknown) => void;
  readonly credit: Credit;
  readonly leases: Leases;
  readonly groupCommit: GroupCommit;
  /** Holds of calls that run. */
  readonly holds: SlotSet<Hold>;
  /** Calls whose charge the books decide at this moment. */
  readonly capturing: Set<string>;
  /** renewedAt is when the deadlines of this process's holds were last moved on. */
  renewedAt: number;
  /** Fires when leases are looked at for being idle. */
  releasing: NodeJS.Timeout | undefined;
  /** Fires when leases are looked at for whether their accounts have changed. */
  watching: NodeJS.Timeout | undefined;
}

/**
 * isAwake reports whether this process has renewed its holds in time. One that stood still for long has lost its leases, and one whose clock
 * was set does not know for how long it stood still, whichever way that was.
 */
export function isAwake({ clock, renewedAt }: LedgerState): boolean {
  return Math.abs(clock() - renewedAt) < holdMs;
}

/** record writes an entry. Resolves once it is durable. */
export function record({ groupCommit }: LedgerState, entry: Entry): Deferred<void> {
  groupCommit.add(entry);
  return groupCommit.written();
}

/** releaseEntry releases what was held of a call: nothing was written of it yet, or it is written that it holds nothing any more. */
export function releaseEntry({ groupCommit }: LedgerState, { request, entry }: Hold): void {
  if (entry && groupCommit.withdraw(entry)) return;
  groupCommit.add({ kind: "free", requestId: request.requestId, taken: entry?.taken });
}

/** adjust counts that a call has more, or less where the amount is below 0, of its account's credit than it holds. */
export function adjust({ leases, credit }: LedgerState, { request, lease }: Hold, amount: number): void {
  if (lease) leases.use(lease, amount);
  else credit.held(request.accountId, request.keyId, amount);
}
