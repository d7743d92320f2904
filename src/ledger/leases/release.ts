/** Releases the hold of a call that was not answered, and may hold anew; and leases that nobody draws on. */
import { catchError } from "../../runtime/maybe-promise.ts";
import type { Hold } from "../contract.ts";
import { retry } from "../retry.ts";
import type { Lease } from "./leases.ts";
import { adjust, type LedgerState, releaseEntry } from "./ledger-state.ts";

/** idleMs is how long a lease is kept that no call draws on, in milliseconds. */
const idleMs = 5_000;
/** watchMs is how often it is looked whether accounts have changed, in milliseconds. */
const watchMs = 100;

export async function release(state: LedgerState, hold: Hold): Promise<void> {
  if (!state.holds.delete(hold)) return;
  if (hold.isExact) return releaseByBooks(state, hold);
  adjust(state, hold, -hold.amount);
  releaseEntry(state, hold);
}

async function releaseByBooks(state: LedgerState, hold: Hold): Promise<void> {
  const { groupCommit, credit, onError } = state;
  const { requestId: item, accountId, keyId } = hold.request;
  const released = retry(() => groupCommit.enlist("releases", { item, accountId, after: () => {} }), onError);
  released.catch(() => releaseEntry(state, hold));
  await released;
  credit.held(accountId, keyId, -hold.amount);
}

/** releaseIdleLater releases leases that no call has drawn on between two looks, as long as there are any. */
export function releaseIdleLater(state: LedgerState): void {
  const { leases, onError } = state;
  state.releasing ??= setTimeout(() => {
    state.releasing = undefined;
    // One that has not grown yet may do so at any moment, by a turn that is being decided.
    const idle = leases.giveBack(({ isGrown, wasUsed }) => isGrown && !wasUsed);
    if (idle.length > 0) void releaseLeases(state, idle).catch(onError);
    leases.lookAgain();
    if (leases.count() > 0) releaseIdleLater(state);
  }, idleMs).unref();
}

/**
 * releaseChangedLater releases leases of accounts that have changed since a version, and then since the look before the last, as long as there
 * are any: an account that pays in advance from now on has no credit beyond its balance, whatever it had before. By a change that
 * changes nothing other processes ask for leases, where they have no other way.
 */
export function releaseChangedLater(state: LedgerState, asOf: number): void {
  if (!state.watching) watch(state, asOf, asOf);
}

/** watch looks for what has changed since `asOf`. The look after that begins at `last`: a lease that was being granted now is here by then. */
function watch(state: LedgerState, asOf: number, last: number): void {
  const { leases, groupCommit, onError } = state;
  state.watching = setTimeout(() => {
    state.watching = undefined;
    if (leases.count() === 0) return;
    // No lease can be given back while the books cannot be written. The same changes are looked at the next time.
    if (groupCommit.trouble()) return watch(state, asOf, last);
    const looked = giveBackChanged(state, asOf);
    if (!looked) return;
    if (looked.changed.length > 0) void releaseLeases(state, looked.changed).catch(onError);
    watch(state, last, looked.version);
  }, watchMs).unref();
}

/**
 * giveBackChanged gives back the leases of accounts that have changed since a version. `version` is the one that was looked at. It returns
 * undefined where nothing can be read, as after the database was closed: then the next lease that is granted has it looked at again.
 */
function giveBackChanged({ leases, books }: LedgerState, asOf: number) {
  try {
    const version = books.version();
    const isChanged = ({ isGrown, accountId, keyId }: Lease) => isGrown && books.changedSince(asOf, accountId, keyId);
    return { version, changed: version === asOf ? [] : leases.giveBack(isChanged) };
  } catch {
    return undefined;
  }
}

/** releaseLeases releases leases behind what is written of calls that drew on them. A process that stood still may write that only now. */
export async function releaseLeases({ groupCommit, books }: LedgerState, ids: readonly string[]): Promise<void> {
  const drained = groupCommit.drained();
  // What cannot be written is told where it is written.
  if (drained)
    await catchError(
      () => drained,
      () => {},
    );
  await books.releaseLeases(ids);
}
