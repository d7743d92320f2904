/**
 * Keeps what a worker that ends could tell no owner: in a journal of its own beside the database. Whoever owns the database next posts it,
 * as that of a process that died.
 */
import { newId } from "../../../runtime/ids.ts";
import { lineOf } from "../../journal/records.ts";
import type { Segments } from "../../journal/segments.ts";
import { callIdOf, type JournalRecord } from "../../money/books.ts";

export interface LeftRecordsOptions {
  readonly segments: Pick<Segments, "open" | "append" | "fileOf">;
  /** Names the database. */
  readonly database: string;
  /** Is told once that anything is kept, and where. */
  readonly onError: (error: unknown) => void;
}

export interface LeftRecords {
  /** keep appends a record. Throws, with nothing appended, where the disk refuses it. */
  keep(record: JournalRecord): void;
}

export function createLeftRecords({ segments, database, onError }: LeftRecordsOptions): LeftRecords {
  // Owners have kept journals under the worker's own names.
  let node: string | undefined;
  return {
    keep(record) {
      const isFirst = node === undefined;
      node ??= newId("nod");
      segments.open(node, database, record.at);
      segments.append(node, lineOf(record), record.seq, record.at);
      if (!isFirst) return;
      const calls = new Set(record.entries.map(callIdOf)).size;
      onError(
        new Error(
          `no process owns the database: what calls cost, ${calls} at first, is kept in ${segments.fileOf(node)} and charged by the next one`,
        ),
      );
    },
  };
}
