/**
 * The journal of the ledger: what has come of calls, noted in one line for many (`records.ts`, `segments.ts`), before
 * it is written where it belongs (`apply.ts`). Who writes it there says so in the same transaction: so it is written once,
 * by whichever process.
 */
import type { Connection } from "../engines/sqlite/database.ts";
import type { Capture } from "../money/ledger.ts";
import { lineOf, readLine } from "./records.ts";
import type { NoteFiles, NumberedLine } from "./segments.ts";

/** Money is in millionths of the unit. */
export type Entry = HoldEntry | FreeEntry | SettleEntry;

/** Which lease a call has taken its hold from, and not got one of its own since. */
export interface Taken {
  readonly leaseId: string;
  /** Whether the lease is the key's own, and not the whole account's. */
  readonly isOfKey: boolean;
}

/** A call has reserved a part of a lease, and still runs. */
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

/** It has given back its own hold. */
interface FreeEntry {
  readonly kind: "free";
  readonly requestId: string;
}

/** It is over, and has what is told of it to pay. */
export interface SettleEntry {
  readonly kind: "settle";
  /** Its cost is covered by what it has reserved. */
  readonly call: Capture;
  /** Whether it has reserved anything. */
  readonly isHeld: boolean;
  /** Whether its key has, or may have, a limit of its own; unset in notes of older versions, where it may. */
  readonly isLimited?: boolean;
  /** Unset for one with a hold of its own. */
  readonly taken?: Taken | undefined;
}

/** Entries that are noted together. */
export interface Note {
  /** Which of its process's notes it is, from 1 on. */
  readonly seq: number;
  readonly entries: readonly Entry[];
  /** When it was noted, in milliseconds since 1970. */
  readonly at: number;
}

/** A line that is no note, and why. */
export interface Rejected {
  readonly line: number;
  readonly reason: string;
  readonly text: string;
  /** Which note it says that it is; undefined where it says nothing of the kind. */
  readonly seq: number | undefined;
}

/** What a process has noted. */
export interface Notes {
  /** In their order. */
  readonly notes: readonly Note[];
  /** The lines between them that are none. */
  readonly rejected: readonly Rejected[];
}

export interface JournalStore {
  /** Notes. Throws where the disk is full, and has noted nothing then. */
  add(node: string, note: Note): void;
  /** Returns up to which of a process's notes all are written where they belong. */
  posted(node: string): number;
  /** Says that all notes of a process up to one are written where they belong. Returns up to which they were before. */
  advance(node: string, seq: number): number;
  /** May let go of what this process has noted: all of it is written. */
  forget(node: string): void;
  /** Returns the processes that have noted anything. */
  nodes(): readonly string[];
  /** Returns the notes of any process. */
  notesOf(node: string): Notes;
  /**
   * Puts lines into a file beside the process's own, for somebody to look at, where `reconcile-journal.ts` finds them. Returns how
   * many are new there.
   */
  reject(node: string, lines: readonly Rejected[]): number;
  /** Returns lines that were put there, by processes that need not have notes any more. */
  rejected(): readonly { readonly node: string; readonly lines: readonly Rejected[] }[];
  /** How many this process has put there. */
  rejectedLines(): number;
  /** Shows that this process lives. */
  renew(node: string): void;
  /** Removes the traces of a process that ends, and whose notes are all written. */
  remove(node: string): void;
  /** Removes those of one that has not lived for very long. */
  removeAbandoned(node: string): void;
  /** Keeps what cannot be written for somebody to look at: nobody tries it again, and `reconcile.ts` tells of it. */
  setAside(node: string, seq: number, at: number, entries: readonly Entry[]): void;
}

export function journalStore(books: Connection, files: NoteFiles): JournalStore {
  const selectPosted = books.prepare<[node: string], { posted: number }>("SELECT posted FROM journals WHERE node = ?");
  const setPosted = books.prepare<[node: string, posted: number]>(
    `INSERT INTO journals (node, posted) VALUES (?, ?)
     ON CONFLICT (node) DO UPDATE SET posted = max(posted, excluded.posted)`,
  );
  const deleteJournal = books.prepare<[node: string]>("DELETE FROM journals WHERE node = ?");
  const insertAside = books.prepare<[node: string, seq: number, at: number, body: string]>(
    "INSERT INTO set_aside (node, seq, created_at, body) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
  );
  const remove = (node: string) => {
    files.remove(node);
    deleteJournal.run(node);
  };
  const postedOf = (node: string) => selectPosted.get(node)?.posted ?? 0;
  let rejectedLines = 0;
  return {
    posted: postedOf,
    add: (node, note) => files.append(node, lineOf(note)),
    advance(node, seq) {
      const before = postedOf(node);
      if (seq > before) setPosted.run(node, seq);
      return before;
    },
    forget: (node) => files.trim(node),
    nodes: () => files.nodes(),
    notesOf: (node) => notesIn(files.lines(node)),
    reject(node, lines) {
      const count = files.reject(
        node,
        lines.map(({ line, reason, text }) => JSON.stringify({ line, reason, text })),
      );
      rejectedLines += count;
      return count;
    },
    rejected: () => files.nodesRejected().map((node) => ({ node, lines: files.rejected(node).map(asRejected) })),
    rejectedLines: () => rejectedLines,
    renew: (node) => files.renew(node),
    remove,
    removeAbandoned(node) {
      if (files.isAbandoned(node)) remove(node);
    },
    setAside: (node, seq, at, entries) => void insertAside.run(node, seq, at, JSON.stringify(entries)),
  };
}

function notesIn(lines: readonly NumberedLine[]): Notes {
  const notes: Note[] = [];
  const rejected: Rejected[] = [];
  for (const [i, { number: line, text }] of lines.entries()) {
    const read = readLine(text);
    if (read.kind === "note") notes.push(read.note);
    else if (read.kind === "other") rejected.push({ line, text, reason: read.reason, seq: read.seq });
    // What is torn at the end was never told to anybody.
    else if (i < lines.length - 1) rejected.push({ line, text, reason: "it is torn", seq: undefined });
  }
  return { notes, rejected };
}

/** Somebody may have written into the file. */
function asRejected(line: string): Rejected {
  const whole = { line: 0, reason: "it was changed by hand", text: line, seq: undefined };
  try {
    return { ...whole, ...(JSON.parse(line) as object) };
  } catch {
    return whole;
  }
}
