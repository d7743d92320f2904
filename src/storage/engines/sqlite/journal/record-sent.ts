/**
 * Has calls recorded as lost that a worker noted before it sent them (`journal/sent-log.ts`), and of which nobody was told before it
 * died, its owner with it perhaps. What the worker's owner was told of is known by its holds and its journal.
 */
import { checkJournal } from "../../../journal/check.ts";
import { removeSentLog, sentCalls, sentLogs } from "../../../journal/sent-log.ts";
import { type BooksOptions, callIdOf } from "../../../money/books.ts";
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

  /** Returns the calls that journals know of, posted or not: those of a process that died a moment ago are posted later. */
  function journaled(): ReadonlySet<string> {
    const known = new Set<string>();
    for (const node of engine.segments.nodes()) {
      const journal = checkJournal(node, rows.find(node), { segments: engine.segments, database: rows.database() });
      for (const { record } of journal?.records ?? []) for (const entry of record.entries) known.add(callIdOf(entry));
    }
    return known;
  }

  return {
    of(node) {
      const lock = locks.takeEnded(node);
      if (typeof lock === "string") return false;
      const log = { folder, node, database: rows.database() };
      try {
        const calls = sentCalls(log);
        const told = calls.length > 0 ? journaled() : undefined;
        const unknown = calls.filter(({ requestId }) => !told?.has(requestId));
        if (unknown.length > 0) engine.books.transact(() => steps.lose(unknown, clock()));
      } catch (error) {
        lock.leave();
        throw error;
      }
      removeSentLog(log);
      lock.end();
      return true;
    },
    nodes() {
      const ofDatabase = sentLogs(folder).filter(({ database }) => database === rows.database());
      return [...new Set(ofDatabase.map(({ node }) => node))];
    },
  };
}
