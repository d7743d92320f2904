/**
 * Has calls recorded as lost that a worker noted before it sent them (`journal/sent-log.ts`), and of which nobody was told before it
 * died, its owner with it perhaps. What the worker's owner was told of is known by its holds and its journal.
 */
import { removeSentLog, sentCalls, sentLogs } from "../../../journal/sent-log.ts";
import type { BooksOptions } from "../../../money/books.ts";
import type { BooksParts } from "../books/parts.ts";
import { createNodeLocks } from "../node-lock.ts";

export interface RecordSent {
  /** of records those of one worker. Returns false where its process lives. Throws where another process is writing. */
  of(node: string): boolean;
  /** nodes returns the workers that have left a log, be they alive or not. */
  nodes(): readonly string[];
}

export function createRecordSent(
  { engine, rows, steps }: BooksParts,
  { clock, onError }: Pick<BooksOptions, "clock" | "onError">,
): RecordSent {
  const { folder } = engine.segments;
  const locks = createNodeLocks(folder, onError);
  return {
    of(node) {
      const endLock = locks.takeEnded(node);
      if (!endLock) return false;
      const log = { folder, node, database: rows.database() };
      try {
        const calls = sentCalls(log);
        if (calls.length > 0) engine.books.transact(() => steps.lose(calls, clock()));
      } catch (error) {
        endLock();
        throw error;
      }
      removeSentLog(log);
      endLock();
      return true;
    },
    nodes() {
      const ofDatabase = sentLogs(folder).filter(({ database }) => database === rows.database());
      return [...new Set(ofDatabase.map(({ node }) => node))];
    },
  };
}
