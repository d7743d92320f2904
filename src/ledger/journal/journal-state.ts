/** What the journal has of calls, from when it is added until it is posted. */
import type { Entry, HoldEntry, JournalRecord } from "../../storage/journal/contract.ts";
import type { LedgerStore } from "../../storage/money/contract.ts";
import type { Credit } from "../credit.ts";
import type { Leases } from "../leases/leases.ts";

export interface JournalOptions {
  readonly store: LedgerStore;
  readonly node: string;
  readonly leases: Leases;
  readonly credit: Credit;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  /** Returns the holds of running calls that have drawn on leases: a flush gives each a row of its own. */
  readonly unpostedHolds: () => readonly HoldEntry[];
  /** Called when a flush has. */
  readonly onFlushed: () => void;
  /** Receives errors that no caller waits for. */
  readonly onError: (error: unknown) => void;
}

/**
 * JournalState. An entry is added; at the end of the turn it is appended, with others, as a record; a flush posts it. A flush may
 * come first: then the entry is posted without ever having been in the journal.
 */
export interface JournalState {
  readonly options: JournalOptions;
  /** Entries that are in no record yet. */
  added: Entry[];
  /** Records that are not posted. */
  records: JournalRecord[];
  /** The number of the last record. */
  seq: number;
  /** How many entries are not posted, in records or not. */
  unposted: number;
  /** The version of the database at the last flush. */
  version: number;
  /** When keys were used last that no flush has written. */
  touched: Map<string, number>;
  /** Accounts that have unposted entries, and the last of them. */
  readonly accounts: Set<string>;
  lastAccount: string;
}

export function newJournalState(options: JournalOptions): JournalState {
  return {
    options,
    added: [],
    records: [],
    seq: 0,
    unposted: 0,
    version: options.store.version(),
    touched: new Map(),
    accounts: new Set(),
    lastAccount: "",
  };
}

/** Adds an entry of an account's call. */
export function addEntry(state: JournalState, entry: Entry, accountId: string): void {
  state.added.push(entry);
  state.unposted++;
  // Most entries are of the same account as the one before.
  if (accountId === state.lastAccount) return;
  state.accounts.add(accountId);
  state.lastAccount = accountId;
}

/** Takes back an entry that could not be appended. Returns false where it is appended or posted. */
export function withdrawEntry(state: JournalState, entry: Entry): boolean {
  const at = state.added.indexOf(entry);
  if (at === -1) return false;
  state.added.splice(at, 1);
  state.unposted--;
  return true;
}

/** Appends what was added as a record. Throws, with nothing appended, where the disk is full. */
export function appendRecord(state: JournalState): void {
  if (state.added.length === 0) return;
  const { store, node, clock } = state.options;
  const record = { seq: state.seq + 1, entries: state.added, at: clock() };
  store.journal.append(node, record);
  state.seq++;
  state.records.push(record);
  state.added = [];
}

/** Says that everything is posted. `version` is that of the database as the flush found it. */
export function markPosted(state: JournalState, version: number): void {
  state.added = [];
  state.records = [];
  state.unposted = 0;
  state.version = version;
  state.accounts.clear();
  state.lastAccount = "";
  if (state.touched.size > 0) state.touched = new Map();
}
