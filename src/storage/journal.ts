/**
 * The journal of the ledger: what has come of calls, noted in one cheap row for many, before it is written where it belongs
 * (`posting.ts`). What is noted survives the death of the process as any row does; who writes it where it belongs takes
 * the row away in the same transaction, so that it is written once, by whichever process.
 */
import type { Connection } from "./database.ts";
import type { Settlement } from "./ledger.ts";

/** Money is in millionths of the unit. */
export type Entry = HoldEntry | FreeEntry | SettleEntry;

/** A call has reserved a part of a lease. */
export interface HoldEntry {
  readonly kind: "hold";
  readonly requestId: string;
  readonly leaseId: string;
  /** Whether the lease is the key's own, and not the whole account's. */
  readonly isOfKey: boolean;
  readonly accountId: string;
  readonly keyId: string;
  readonly operation: string;
  readonly model: string;
  readonly amount: number;
  readonly createdAt: number;
}

/** It has given back what it reserved. */
interface FreeEntry {
  readonly kind: "free";
  readonly requestId: string;
}

/** It is over, and has what is told of it to pay. */
export interface SettleEntry {
  readonly kind: "settle";
  readonly entryId: string;
  /** Its cost is covered by what it has reserved. */
  readonly call: Settlement;
  /** Whether it has reserved anything. */
  readonly isHeld: boolean;
}

/** Entries that are noted together. */
export interface Note {
  readonly node: string;
  /** Which of that process's notes it is. */
  readonly seq: number;
  readonly entries: readonly Entry[];
  /** When it was noted, in milliseconds since 1970. */
  readonly at: number;
}

export interface JournalStore {
  add(note: Note): void;
  /** Takes a note away. Returns false where another process has done so, and written what it says. */
  remove(node: string, seq: number): boolean;
  /** Keeps entries that cannot be written for somebody to look at: nobody tries them again, and `reconcile.ts` tells of them. */
  setAside(note: Omit<Note, "at">): void;
  /** Takes away all notes of a process. Returns which they were. */
  removeAll(node: string): ReadonlySet<number>;
  /** Returns some of what was noted before this moment, by whichever process. */
  leftBehind(before: number): readonly Note[];
}

/** How many notes are looked at together. */
const batch = 50;

/** A moment that never comes: when what is set aside is looked at again. */
export const never = Number.MAX_SAFE_INTEGER;

export function journalStore(books: Connection): JournalStore {
  const insert = books.prepare<[node: string, seq: number, at: number, body: string]>(
    "INSERT INTO journal (node, seq, created_at, body) VALUES (?, ?, ?, ?)",
  );
  const remove = books.prepare<[node: string, seq: number]>("DELETE FROM journal WHERE node = ? AND seq = ?");
  const removeAll = books.prepare<[node: string], { seq: number }>(
    `DELETE FROM journal WHERE node = ? AND created_at < ${never} RETURNING seq`,
  );
  const leave = books.prepare<[node: string, seq: number]>(
    `UPDATE journal SET created_at = ${never} WHERE node = ? AND seq = ?`,
  );
  /** What is no JSON is nobody's to write. */
  const read = ({ body, ...note }: Omit<Note, "entries"> & { body: string }): readonly Note[] => {
    try {
      return [{ ...note, entries: JSON.parse(body) as Entry[] }];
    } catch {
      leave.run(note.node, note.seq);
      return [];
    }
  };
  const old = books.prepare<[before: number], Omit<Note, "entries"> & { body: string }>(
    `SELECT node, seq, created_at AS at, body FROM journal WHERE created_at <= ? ORDER BY node, seq LIMIT ${batch}`,
  );
  return {
    add: ({ node, seq, at, entries }) => void insert.run(node, seq, at, JSON.stringify(entries)),
    remove: (node, seq) => remove.run(node, seq) === 1,
    setAside: ({ node, seq, entries }) => void insert.run(node, seq, never, JSON.stringify(entries)),
    removeAll: (node) => new Set(removeAll.all(node).map(({ seq }) => seq)),
    leftBehind: (before) => old.all(before).flatMap(read),
  };
}
