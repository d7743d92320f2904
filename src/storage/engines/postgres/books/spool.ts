/**
 * Where a node keeps records while the database is away: a file beside its other data, in the form of a journal. What a node that died
 * has left there is written by the next one that starts on the same machine.
 */

import type { JournalRecord as StoredRecord } from "../../../journal/contract.ts";
import { lineOf, readLine } from "../../../journal/records.ts";
import type { Segments } from "../../../journal/segments.ts";
import type { JournalRecord } from "../../../money/books.ts";
import type { Server } from "../session.ts";
import { createPosting } from "./posting.ts";

export interface Spool {
  /** Appends a record. Throws, with nothing appended, where the disk refuses it. */
  append(record: JournalRecord): void;
  /** Reports whether anything was appended since the spool was cleared. */
  hasAny(): boolean;
  /** Removes what was appended: all of it is in the database. */
  clear(): void;
}

export function openSpool(segments: Segments, node: string): Spool {
  let count = 0;
  return {
    append(record) {
      segments.append(node, lineOf(record as unknown as StoredRecord));
      count++;
    },
    hasAny: () => count > 0,
    clear() {
      segments.remove(node);
      count = 0;
    },
  };
}

/** LeftBehind is what nodes that died have left in their spools. */
export interface LeftBehind {
  readonly node: string;
  readonly records: readonly JournalRecord[];
  /** Removes it: all of it is in the database. */
  remove(): void;
}

export function leftBehind(segments: Segments, except: string): LeftBehind[] {
  return segments
    .nodes()
    .filter((node) => node !== except)
    .map((node) => ({
      node,
      records: segments.lines(node).flatMap(({ text }) => {
        const read = readLine(text);
        return read.kind === "record" ? [read.record as unknown as JournalRecord] : [];
      }),
      remove: () => segments.remove(node),
    }));
}

/** Writes what nodes that died have left on this machine. Returns of how many nodes that was. */
export async function writeLeftBehind(server: Server, segments: Segments, except: string): Promise<number> {
  const left = leftBehind(segments, except);
  if (left.length === 0) return 0;
  const session = await server.connect();
  try {
    for (const { node, records, remove } of left) {
      await createPosting(node).post(session, records);
      remove();
    }
  } finally {
    session.close();
  }
  return left.length;
}
