/**
 * Notes what comes of calls, many in one line, and writes it where it belongs a little later, many in one transaction.
 *
 * What is noted survives this process; if it dies, another writes it (`recover`). Whoever else looks at the database through
 * this process finds all written (`store.beforeAccess`).
 */
import type { Entry, HoldEntry, LedgerStore, Note, Post, Rejected } from "../storage/money/ledger.ts";
import type { Credit } from "./credit.ts";
import type { Lease, Leases } from "./leases.ts";

export interface JournalOptions {
  readonly store: LedgerStore;
  readonly node: string;
  readonly leases: Leases;
  readonly credit: Credit;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  /** How long the hold of a call outlives its process, in milliseconds. */
  readonly holdMs: number;
  /** Returns the holds of calls that run and have taken from leases: they get holds of their own when all is written. */
  readonly openHolds: () => readonly HoldEntry[];
  /** Told when they have. */
  readonly onWritten: () => void;
  /** Told of what went wrong where nobody waits. */
  readonly onError: (error: unknown) => void;
}

export interface Journal {
  /** Adds an entry of an account's call, which is noted by the next `save`. */
  add(entry: Entry, accountId: string): void;
  /** Takes back an entry that could not be noted. Returns false where it was. */
  withdraw(entry: Entry): boolean;
  /** Notes that a key was used, when next something is written. */
  touch(keyId: string, now: number): void;
  /** Notes what was added, or has all written where much has come together. */
  save(): void;
  /** Sees to it that all is written soon. */
  writeLater(): void;
  /** Writes all where it belongs, and gives back what is not used of these leases. */
  write(isGivenBack?: (lease: Lease) => boolean): void;
  /** Writes all where anything is not written of this account's calls that are over, unless another process writes. Returns whether it did. */
  writeCallsOf(accountId: string): boolean;
  /** Shows other processes that this one lives, and writes what those that died have noted. Returns whose notes cannot be read. */
  recover(): readonly string[];
  close(): void;
}

/** How long what is noted may wait, and how much of it. */
const writeMs = 100;
const mostEntries = 1024;
/** How long a lease that nobody uses is kept. */
const idleMs = 5_000;
/** What is older than this was left behind: who lives writes what it noted long before. */
const leftBehindMs = 5_000;

export function createJournal(options: JournalOptions): Journal {
  const { store, node, leases, credit, clock, holdMs, openHolds, onWritten, onError } = options;
  let added: Entry[] = [];
  let noted: Note[] = [];
  let seq = 0;
  let count = 0;
  /** The database's version when all was last written. */
  let version = store.version();
  let touched = new Map<string, number>();
  /** Accounts of whose calls that are over something is not written, and the last of them. */
  const unwritten = new Set<string>();
  let lastUnwritten = "";
  let writing: NodeJS.Timeout | undefined;
  let idling: NodeJS.Timeout | undefined;

  function write(isGivenBack: (lease: Lease) => boolean = () => false): void {
    const givenBack = leases.count() === 0 ? [] : leases.chosen(isGivenBack);
    const holds = openHolds();
    if (count === 0 && holds.length === 0 && givenBack.length === 0 && touched.size === 0) return;
    let found = version;
    const writeBy = (post: Post) => {
      store.transact(() => {
        found = store.version(true);
        const posted = noted.length === 0 ? seq : store.journal.advance(node, seq);
        const entries = noted.flatMap((note) => (note.seq > posted ? note.entries : []));
        // By what was changed since, a key may have been given a limit.
        post([...entries, ...added, ...holds], node, clock() + holdMs, found === version);
        for (const lease of givenBack) store.leases.giveBack(lease.id);
        for (const [keyId, at] of touched) store.touch(keyId, at);
      });
    };
    // All at once: a savepoint for each call would cost more than its rows. Only where an entry is at fault, call by call.
    try {
      writeBy(store.post);
    } catch (error) {
      if (!store.isFault(error)) throw error;
      writeBy(postEach);
    }
    [added, noted, count, version] = [[], [], 0, found];
    unwritten.clear();
    lastUnwritten = "";
    if (touched.size > 0) touched = new Map();
    leases.written();
    onWritten();
    for (const lease of givenBack) {
      credit.leased(lease, -lease.amount);
      leases.drop(lease);
    }
    store.journal.forget(node);
  }

  /** Writes entries call by call: what one has noted, and cannot be written, keeps no other from it. */
  function postEach(entries: readonly Entry[], owner: string, expiresAt: number): void {
    const calls = Map.groupBy(entries, (entry) => (entry.kind === "settle" ? entry.call.id : entry.requestId));
    const bad: Entry[] = [];
    for (const own of calls.values()) {
      try {
        store.transact(() => store.post(own, owner, expiresAt));
      } catch (error) {
        if (!store.isFault(error)) throw error;
        onError(error);
        bad.push(...own);
      }
    }
    if (bad.length > 0) store.journal.setAside(node, ++seq, clock(), bad);
  }

  /** Writes what another process has noted, if that was long ago. */
  function recoverFrom(owner: string): void {
    store.transact(() => {
      const { notes, rejected } = store.journal.notesOf(owner);
      const last = notes.at(-1);
      if (last && last.at > clock() - leftBehindMs) return;
      const posted = last ? store.journal.advance(owner, last.seq) : store.journal.posted(owner);
      reject(owner, rejected, posted);
      const entries = notes.flatMap((note) => (note.seq > posted ? note.entries : []));
      // It is rare: what cannot be written is found out from the start.
      if (last && entries.length > 0) postEach(entries, owner, last.at + holdMs);
    });
    store.journal.removeAbandoned(owner);
  }

  /** A line of another shape keeps no other from being written: it is put where somebody finds it. */
  function reject(owner: string, rejected: readonly Rejected[], posted: number): void {
    const lost = rejected.filter(({ seq = posted + 1 }) => seq > posted);
    const count = lost.length > 0 ? store.journal.reject(owner, lost) : 0;
    if (count > 0) onError(new Error(`${count} lines of the notes of ${owner} are no notes, and were set aside`));
  }

  function note(): void {
    if (added.length === 0) return;
    const made = { seq: seq + 1, entries: added, at: clock() };
    store.journal.add(node, made);
    seq++;
    noted.push(made);
    added = [];
  }

  /** Where nobody waits, nobody is waited for. Returns false where it cannot be written now. */
  function tryWrite(isGivenBack?: (lease: Lease) => boolean): boolean {
    try {
      return store.withoutWaiting(() => write(isGivenBack));
    } catch (error) {
      onError(error);
      return false;
    }
  }

  function writeLater(): void {
    writing ??= setTimeout(() => {
      writing = undefined;
      if (!tryWrite()) writeLater();
    }, writeMs).unref();
  }

  function giveBackIdle(): void {
    idling ??= setTimeout(() => {
      idling = undefined;
      tryWrite(({ wasUsed }) => !wasUsed);
      for (const lease of leases.chosen(() => true)) lease.wasUsed = false;
      if (leases.count() > 0) giveBackIdle();
    }, idleMs).unref();
  }

  /** Returns false where it failed. */
  function quietly(work: () => void): boolean {
    try {
      work();
      return true;
    } catch (error) {
      onError(error);
      return false;
    }
  }

  const writeAll = () => write(() => true);
  const isBehind = () => count > 0 || touched.size > 0 || leases.count() > 0;
  const stop = store.beforeAccess({ isBehind, writeUp: writeAll });
  return {
    add(entry, accountId) {
      added.push(entry);
      if (accountId !== lastUnwritten) {
        unwritten.add(accountId);
        lastUnwritten = accountId;
      }
      count++;
    },
    withdraw(entry) {
      const at = added.indexOf(entry);
      if (at === -1) return false;
      added.splice(at, 1);
      count--;
      return true;
    },
    touch: (keyId, now) => {
      touched.set(keyId, now);
      writeLater();
    },
    save() {
      if (leases.count() > 0) giveBackIdle();
      if (count > 0) writeLater();
      note();
      if (count >= mostEntries) tryWrite();
    },
    write,
    writeCallsOf: (accountId) => unwritten.has(accountId) && store.withoutWaiting(() => write()),
    writeLater,
    recover() {
      quietly(() => store.journal.renew(node));
      const others = store.journal.nodes().filter((owner) => owner !== node);
      return others.filter((owner) => !quietly(() => recoverFrom(owner)));
    },
    close() {
      clearTimeout(writing);
      clearTimeout(idling);
      stop();
      quietly(() => {
        writeAll();
        store.journal.remove(node);
      });
    },
  };
}
