/**
 * Writes records, all that wait in one statement, in the order of their numbers.
 *
 * While the database is away, records go to the spool, and are durable with that.
 */

import type { JournalRecord } from "../../../money/books.ts";
import { AwayError } from "../errors.ts";
import type { Session } from "../session.ts";
import type { Lane } from "./lane.ts";
import { createPosting } from "./posting.ts";
import type { Spool } from "./spool.ts";

export interface WriterOptions {
  readonly lane: Lane;
  readonly node: string;
  readonly spool: Spool;
  readonly onError: (error: unknown) => void;
  /** Runs after records were written. */
  readonly onWritten: () => void;
}

export interface Writer {
  /** Resolves when the record is durable. */
  write(record: JournalRecord): Promise<void>;
  /** Writes records within other work of the lane. */
  writeNow(session: Session, records: readonly JournalRecord[]): Promise<void>;
  /** Writes all that is spooled, as far as the database answers. */
  close(): Promise<void>;
}

interface Waiting {
  readonly record: JournalRecord;
  readonly done: () => void;
  readonly failed: (error: unknown) => void;
}

/** So many records are one statement at most. */
const maxRecords = 512;
/** How often what is spooled is tried again, in milliseconds. */
const againMs = 250;

export function createWriter({ lane, node, spool, onError, onWritten }: WriterOptions): Writer {
  const posting = createPosting(node);
  /** What waits for its statement; undefined once that is on its way. */
  let gathered: Waiting[] | undefined;
  /** Records that are in the spool, and not known to be in the database. */
  let spooled: JournalRecord[] = [];
  let again: NodeJS.Timeout | undefined;

  async function send(session: Session, records: readonly JournalRecord[]): Promise<void> {
    await unspool(session);
    for (let from = 0; from < records.length; from += maxRecords) {
      await posting.post(session, records.slice(from, from + maxRecords));
    }
    onWritten();
  }

  /** What is spooled is older than all that comes now. */
  async function unspool(session: Session): Promise<void> {
    while (spooled.length > 0) {
      const some = spooled.slice(0, maxRecords);
      await posting.post(session, some);
      spooled = spooled.slice(some.length);
    }
    if (spool.hasAny()) spool.clear();
  }

  function keep(waiting: readonly Waiting[]): void {
    for (const { record, done, failed } of waiting) {
      try {
        spool.append(record);
        spooled.push(record);
        done();
      } catch (error) {
        failed(error);
      }
    }
    again ??= setTimeout(tryAgain, againMs).unref();
  }

  function tryAgain(): void {
    again = undefined;
    lane
      .run((session) => send(session, []))
      .catch((error: unknown) => {
        if (!(error instanceof AwayError)) onError(error);
        again ??= setTimeout(tryAgain, againMs).unref();
      });
  }

  async function run(waiting: Waiting[]): Promise<void> {
    try {
      await lane.run((session) => {
        if (gathered === waiting) gathered = undefined;
        return send(
          session,
          waiting.map(({ record }) => record),
        );
      });
      for (const { done } of waiting) done();
    } catch (error) {
      if (gathered === waiting) gathered = undefined;
      if (error instanceof AwayError) keep(waiting);
      else for (const { failed } of waiting) failed(error);
    }
  }

  return {
    write(record) {
      return new Promise<void>((done, failed) => {
        const waiting = { record, done, failed };
        if (lane.isAway()) keep([waiting]);
        else if (gathered) gathered.push(waiting);
        else {
          gathered = [waiting];
          void run(gathered);
        }
      });
    },
    writeNow: (session, records) =>
      records.length === 0 && spooled.length === 0 ? Promise.resolve() : send(session, records),
    async close() {
      clearTimeout(again);
      again = undefined;
      if (spooled.length > 0) await lane.run((session) => send(session, [])).catch(onError);
      await lane.idle();
    },
  };
}
