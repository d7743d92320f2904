/** Posts the journal: applies everything that is not posted, and releases leases, in one transaction. */
import type { Entry } from "../../storage/journal/contract.ts";
import type { Apply } from "../../storage/money/contract.ts";
import { holdMs } from "../contract.ts";
import type { Lease } from "../leases/leases.ts";
import { type JournalOptions, type JournalState, markPosted } from "./journal-state.ts";

/** Posts everything, and releases what is not used of the leases that are chosen. Does nothing where there is nothing to do. */
export function flush(state: JournalState, isReleased: (lease: Lease) => boolean = () => false): void {
  const { store, node, leases, credit, unpostedHolds, onFlushed } = state.options;
  const released = leases.count() === 0 ? [] : leases.chosen(isReleased);
  const holds = unpostedHolds();
  if (state.unposted === 0 && holds.length === 0 && released.length === 0 && state.touched.size === 0) return;
  let version = state.version;
  const post = (apply: Apply) => {
    store.transact(() => {
      version = store.version(true);
      apply([...unpostedEntries(state), ...holds], node, state.options.clock() + holdMs, version === state.version);
      for (const lease of released) store.leases.release(lease.id);
      for (const [keyId, at] of state.touched) store.touch(keyId, at);
    });
  };
  // All at once: a savepoint for each call would cost more than its rows. Only where an entry is at fault, call by call.
  try {
    post(store.apply);
  } catch (error) {
    if (!store.isFault(error)) throw error;
    post((entries, owner, expiresAt) => applyEach(state, entries, owner, expiresAt));
  }
  markPosted(state, version);
  leases.flushed();
  onFlushed();
  for (const lease of released) {
    credit.leased(lease, -lease.amount);
    leases.drop(lease);
  }
  store.journal.trim(node);
}

/** Marks all records as posted. Returns the entries of those that were not, and entries that are in no record. */
function unpostedEntries({ options, records, added, seq }: JournalState): Entry[] {
  const { store, node } = options;
  const posted = records.length === 0 ? seq : store.journal.advance(node, seq);
  return [...records.flatMap((record) => (record.seq > posted ? record.entries : [])), ...added];
}

/**
 * Applies entries call by call, in the caller's transaction. Entries of a call that cannot be written keep no other call from
 * being written: they are set aside.
 */
export function applyEach(state: JournalState, entries: readonly Entry[], owner: string, expiresAt: number): void {
  const { store, node, clock, onError }: JournalOptions = state.options;
  const calls = Map.groupBy(entries, (entry) => (entry.kind === "settle" ? entry.call.id : entry.requestId));
  const rejected: Entry[] = [];
  for (const own of calls.values()) {
    try {
      store.transact(() => store.apply(own, owner, expiresAt));
    } catch (error) {
      if (!store.isFault(error)) throw error;
      onError(error);
      rejected.push(...own);
    }
  }
  if (rejected.length > 0) store.journal.setAside(node, ++state.seq, clock(), rejected);
}
