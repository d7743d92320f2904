/**
 * Keeps what came of calls and is not known to be written: entries of this turn of the event loop, and records that are sealed. A record is
 * sealed once and keeps its number, so that whoever writes it, and however often, it counts once.
 */
import type { Entry, JournalRecord } from "../storage/money/books.ts";

export interface Unwritten {
  add(entry: Entry): void;
  /** Takes back an entry that is in no record. Returns false where it is in one. */
  withdraw(entry: Entry): boolean;
  /** Makes a record of the entries so far, and returns all records that are not written, oldest first. */
  seal(): readonly JournalRecord[];
  /** written says that all records up to this number are written. */
  written(seq: number): void;
  /** Makes entries of all records again, since they could not be written. */
  unseal(): void;
  isAny(): boolean;
  /** Returns the ids of the calls of all entries. */
  calls(): string[];
  /** Returns the highest number of a record that has any of the entries so far. */
  lastSeq(): number;
}

/** createUnwritten keeps what could not be written yet. `clock` returns milliseconds since 1970. */
export function createUnwritten(clock: () => number): Unwritten {
  let added: Entry[] = [];
  let sealed: JournalRecord[] = [];
  let seq = 0;
  return {
    add: (entry) => void added.push(entry),
    withdraw(entry) {
      const at = added.lastIndexOf(entry);
      if (at === -1) return false;
      added.splice(at, 1);
      return true;
    },
    seal() {
      if (added.length > 0) {
        sealed.push({ seq: ++seq, entries: added, at: clock() });
        added = [];
      }
      return [...sealed];
    },
    written(upTo) {
      sealed = sealed.filter((record) => record.seq > upTo);
    },
    unseal() {
      added = [...sealed.flatMap(({ entries }) => entries), ...added];
      sealed = [];
    },
    lastSeq: () => (added.length > 0 ? seq + 1 : seq),
    isAny: () => added.length > 0 || sealed.length > 0,
    calls: () => [...sealed.flatMap(({ entries }) => entries), ...added].map(callOf),
  };
}

function callOf(entry: Entry): string {
  return entry.kind === "settle" ? entry.call.id : entry.requestId;
}
