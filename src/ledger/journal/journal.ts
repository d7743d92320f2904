/**
 * The journal of this process: appends what comes of calls, many in one record, and posts it to the tables a little later, many
 * in one transaction.
 *
 * What is appended survives this process; if it dies, another posts it (`recover`). Whoever else reads or writes the database
 * through this process finds everything posted (`store.beforeAccess`).
 */
import type { Entry } from "../../storage/journal/contract.ts";
import type { Lease } from "../leases/leases.ts";
import { flush } from "./flush.ts";
import {
  addEntry,
  appendRecord,
  type JournalOptions,
  type JournalState,
  newJournalState,
  withdrawEntry,
} from "./journal-state.ts";
import { recoverFrom } from "./recover.ts";

export interface Journal {
  /** Adds an entry of an account's call, for the next `append`. */
  add(entry: Entry, accountId: string): void;
  /** Takes back an entry that could not be appended. Returns false where it is appended or posted. */
  withdraw(entry: Entry): boolean;
  /** Records when a key was used last, for the next flush. */
  touch(keyId: string, now: number): void;
  /** Appends what was added, and flushes where much is unposted. */
  append(): void;
  /** Flushes soon. */
  flushLater(): void;
  /** Posts everything, and releases what is not used of these leases. */
  flush(isReleased?: (lease: Lease) => boolean): void;
  /**
   * Posts everything if any of it is of a call of this account that has ended, unless another process is writing. Returns whether
   * it did.
   */
  flushCallsOf(accountId: string): boolean;
  /** Shows other processes that this one lives, and posts the journals of those that died. Returns those that cannot be read. */
  recover(): readonly string[];
  close(): void;
}

/** How long an entry may stay unposted, and how many may. */
const flushMs = 100;
const maxUnposted = 1024;
/** How long a lease is kept that no call draws on. */
const idleMs = 5_000;

export function createJournal(options: JournalOptions): Journal {
  const { store, node, leases } = options;
  const state = newJournalState(options);
  const timers = createTimers(state);
  const flushAll = () => flush(state, () => true);
  const hasUnposted = () => state.unposted > 0 || state.touched.size > 0 || leases.count() > 0;
  const stop = store.beforeAccess({ hasUnposted, flush: flushAll });
  return {
    add: (entry, accountId) => addEntry(state, entry, accountId),
    withdraw: (entry) => withdrawEntry(state, entry),
    touch(keyId, now) {
      state.touched.set(keyId, now);
      timers.flushLater();
    },
    append() {
      if (leases.count() > 0) timers.releaseIdleLater();
      if (state.unposted > 0) timers.flushLater();
      appendRecord(state);
      if (state.unposted >= maxUnposted) tryFlush(state);
    },
    flush: (isReleased) => flush(state, isReleased),
    flushCallsOf: (accountId) => state.accounts.has(accountId) && store.withoutWaiting(() => flush(state)),
    flushLater: timers.flushLater,
    recover() {
      tried(state, () => store.journal.renew(node));
      const others = store.journal.nodes().filter((owner) => owner !== node);
      return others.filter((owner) => !tried(state, () => recoverFrom(state, owner)));
    },
    close() {
      timers.clear();
      stop();
      tried(state, () => {
        flushAll();
        store.journal.remove(node);
      });
    },
  };
}

function createTimers(state: JournalState) {
  const { leases } = state.options;
  let flushing: NodeJS.Timeout | undefined;
  let releasing: NodeJS.Timeout | undefined;

  function flushLater(): void {
    flushing ??= setTimeout(() => {
      flushing = undefined;
      if (!tryFlush(state)) flushLater();
    }, flushMs).unref();
  }

  function releaseIdleLater(): void {
    releasing ??= setTimeout(() => {
      releasing = undefined;
      tryFlush(state, ({ wasUsed }) => !wasUsed);
      for (const lease of leases.chosen(() => true)) lease.wasUsed = false;
      if (leases.count() > 0) releaseIdleLater();
    }, idleMs).unref();
  }

  return {
    flushLater,
    releaseIdleLater,
    clear() {
      clearTimeout(flushing);
      clearTimeout(releasing);
    },
  };
}

/** Flushes without waiting for another process, for no caller waits for it. Returns false where that is not possible now. */
function tryFlush(state: JournalState, isReleased?: (lease: Lease) => boolean): boolean {
  const { store, onError } = state.options;
  try {
    return store.withoutWaiting(() => flush(state, isReleased));
  } catch (error) {
    onError(error);
    return false;
  }
}

/** Runs work whose errors no caller waits for. Returns false where it failed. */
function tried({ options }: JournalState, work: () => void): boolean {
  try {
    work();
    return true;
  } catch (error) {
    options.onError(error);
    return false;
  }
}
