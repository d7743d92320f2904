/**
 * The contract of the ledger's journal: a write-ahead log of what comes of calls. A record is durable once it is appended; it is
 * posted once it has been applied to the tables, in the transaction that also says so. So each record is applied once, by
 * whichever process.
 *
 * The kinds of entries (`hold`, `free`, `settle`) are words of the file format, which older versions wrote too.
 */
import type { Capture } from "../columns.ts";

/** Entry is one thing that happened to a call. Money is in millionths of the unit. */
export type Entry = HoldEntry | ReleaseEntry | CaptureEntry;

/** Taken names the lease that a call took its hold from. A call that has got a hold of its own since has none. */
export interface Taken {
  readonly leaseId: string;
  /** Says that the lease is of the key alone, and not of the whole account. */
  readonly isOfKey: boolean;
}

/** HoldEntry says that a call has taken its hold from a lease and still runs. */
export interface HoldEntry {
  readonly kind: "hold";
  readonly requestId: string;
  readonly taken: Taken;
  readonly accountId: string;
  readonly keyId: string;
  readonly operation: string;
  readonly model: string;
  readonly amount: number;
  readonly createdAt: number;
}

/** ReleaseEntry says that a call has released a hold of its own. */
export interface ReleaseEntry {
  readonly kind: "free";
  readonly requestId: string;
}

/** CaptureEntry says that a call has ended, and what it is charged. */
export interface CaptureEntry {
  readonly kind: "settle";
  /** The cost is covered by the hold. */
  readonly call: Capture;
  /** Says whether the call had a hold. */
  readonly isHeld: boolean;
  /** Says whether its key has, or may have, a credit limit. Unset in records of older versions: it may. */
  readonly isLimited?: boolean;
  /** Unset where the call has a hold of its own. */
  readonly taken?: Taken | undefined;
}

/** JournalRecord is one line of the journal: the entries of one turn of the event loop. */
export interface JournalRecord {
  /** Counts the records of its process, from 1 on. */
  readonly seq: number;
  readonly entries: readonly Entry[];
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** RejectedLine is a line of a journal file that is no record. */
export interface RejectedLine {
  readonly line: number;
  readonly reason: string;
  readonly text: string;
  /** The record that it claims to be; undefined where it names none. */
  readonly seq: number | undefined;
}

/** JournalRecords is the content of a process's journal file. */
export interface JournalRecords {
  /** In the order in which they were appended. */
  readonly records: readonly JournalRecord[];
  /** Lines between them that are no records. */
  readonly rejected: readonly RejectedLine[];
}

export interface JournalStore {
  /** Appends a record. Throws, with nothing appended, where the disk is full. */
  append(node: string, record: JournalRecord): void;
  /** Returns the last record of a process that is posted; 0 for none. */
  posted(node: string): number;
  /** Marks all records of a process up to `seq` as posted. Returns the mark before that. */
  advance(node: string, seq: number): number;
  /** May drop this process's records, all of which are posted. */
  trim(node: string): void;
  /** Returns the processes that have a journal. */
  nodes(): readonly string[];
  /** Returns the records of any process. */
  recordsOf(node: string): JournalRecords;
  /**
   * Moves lines into a file beside the process's journal, for an operator to look at; `reconcile-journal.ts` reports them.
   * Returns how many of them were not there before.
   */
  reject(node: string, lines: readonly RejectedLine[]): number;
  /** Returns the rejected lines of all processes, also of those that have no journal any more. */
  rejected(): readonly { readonly node: string; readonly lines: readonly RejectedLine[] }[];
  /** Counts the lines that this process has rejected. */
  rejectedLines(): number;
  /** Shows other processes that this one lives. */
  renew(node: string): void;
  /** Removes the journal of a process that ends, all of whose records are posted. */
  remove(node: string): void;
  /** Removes the journal of a process that has shown no life for a day. */
  removeAbandoned(node: string): void;
  /** Keeps entries that cannot be written for an operator to look at. They are not tried again; `reconcile.ts` reports them. */
  setAside(node: string, seq: number, at: number, entries: readonly Entry[]): void;
}
