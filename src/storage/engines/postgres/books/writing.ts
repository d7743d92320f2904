/**
 * Writes records, all that wait in one statement, in the order of their numbers.
 *
 * While the database is away, records go to the spool, and are durable with that.
 */

import type { JournalRecord } from "../../../money/books.ts";
import type { Counts } from "../counts.ts";
import { AwayError } from "../errors.ts";
import type { Session } from "../session.ts";
import type { Lane } from "./lane.ts";
import { createPosting, type Post } from "./posting.ts";
import type { Spool } from "./spool.ts";

export interface WriterOptions {
  readonly lane: Lane;
  readonly node: string;
  readonly spool: Spool;
  readonly onError: (error: unknown) => void;
  /** Runs after records were written. */
  readonly onWritten: () => void;
  readonly counts: Counts;
}

export interface Writer {
  /** Resolves when the record is durable. */
  write(record: JournalRecord): Promise<void>;
  /** Writes records within other work of the lane. */
  writeNow(session: Session, records: readonly JournalRecord[]): Promise<void>;
  /** Returns the number of the last record that is written, or spooled. */
  written(): number;
  /** Writes all that is spooled, as far as the database answers. */
  close(): Promise<void>;
}

interface Waiting {
  readonly record: JournalRecord;
  readonly done: () => void;
  readonly failed: (error: unknown) => void;
}

/** maxRecords is how many records one statement writes at most. */
const maxRecords = 512;
/** againMs is how often what is spooled is tried again, in milliseconds. */
const againMs = 250;

export function createWriter(options: WriterOptions): Writer {
  const { lane, node, onWritten, counts } = options;
  const posting = createPosting(node);
  const post: Post = (session, records) =>
    records.length === 0
      ? Promise.resolve()
      : counts.batch("write", records.length, () => posting.post(session, records));
  const backlog = createBacklog(options, post);
  let written = 0;
  /** gathered is what waits for its statement; undefined once that is on its way. */
  let gathered: Waiting[] | undefined;

  async function send(session: Session, records: readonly JournalRecord[]): Promise<void> {
    // What is spooled is older than all that comes now.
    await backlog.write(session);
    for (let from = 0; from < records.length; from += maxRecords)
      await post(session, records.slice(from, from + maxRecords));
    written = Math.max(written, records.at(-1)?.seq ?? 0);
    onWritten();
  }

  async function run(waiting: Waiting[]): Promise<void> {
    const isSent = () => {
      if (gathered === waiting) gathered = undefined;
    };
    try {
      await lane.run((session) => {
        isSent();
        return send(
          session,
          waiting.map((one) => one.record),
        );
      });
      for (const { done } of waiting) done();
    } catch (error) {
      isSent();
      if (error instanceof AwayError) for (const one of waiting) backlog.keep(one);
      else for (const { failed } of waiting) failed(error);
    }
  }

  return {
    write(record) {
      return new Promise<void>((done, failed) => {
        const waiting = { record, done, failed };
        if (lane.isAway()) backlog.keep(waiting);
        else if (gathered) gathered.push(waiting);
        else {
          gathered = [waiting];
          void run(gathered);
        }
      });
    },
    async writeNow(session, records) {
      if (records.length > 0 || backlog.hasAny()) await send(session, records);
    },
    written: () => Math.max(written, backlog.kept()),
    close: backlog.close,
  };
}

/**
 * createBacklog keeps records in the spool, and writes them as soon as the database is back, whether anything else is to be written or not.
 */
function createBacklog({ lane, spool, onError, counts }: WriterOptions, post: Post) {
  let records: JournalRecord[] = [];
  let kept = 0;
  let again: NodeJS.Timeout | undefined;

  async function write(session: Session): Promise<void> {
    while (records.length > 0) {
      const some = records.slice(0, maxRecords);
      await post(session, some);
      records = records.slice(some.length);
      counts.keep(-some.length);
    }
    if (spool.hasAny()) spool.clear();
  }

  function tryLater(): void {
    again ??= setTimeout(() => {
      again = undefined;
      lane.run(write).catch((error: unknown) => {
        if (!(error instanceof AwayError)) onError(error);
        tryLater();
      });
    }, againMs).unref();
  }

  return {
    write,
    hasAny: () => records.length > 0,
    /** The number of the last record that was kept. */
    kept: () => kept,
    keep({ record, done, failed }: Waiting): void {
      try {
        spool.append(record);
      } catch (error) {
        failed(error);
        return;
      }
      records.push(record);
      kept = record.seq;
      counts.keep(1);
      done();
      tryLater();
    },
    async close(): Promise<void> {
      clearTimeout(again);
      if (records.length > 0) await lane.run(write).catch(onError);
      await lane.idle();
    },
  };
}
