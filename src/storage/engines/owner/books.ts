/**
 * The books of a worker: its owner decides and writes, and is asked over the link between them. What was answered is durable there.
 *
 * While there is no owner a write waits for the next, for as long as that takes: it is of a call that has ended, and counts once, whatever
 * became of it before. One that an owner cannot write is the ledger's to ask anew (`ledger/writes.ts`). Turns wait for some seconds after an
 * owner is gone, and are refused then, as while a database is away. A worker that ends keeps what no owner has come for in some seconds on
 * its machine (`left-records.ts`).
 */
import { ClosedError, errorOf } from "../../../runtime/ipc/channel.ts";
import type { Link } from "../../../runtime/ipc/link.ts";
import { catchError, type MaybePromise } from "../../../runtime/maybe-promise.ts";
import { mayPass } from "../../../runtime/write-trouble.ts";
import type { SentLog } from "../../journal/sent-log.ts";
import {
  type Books,
  type BooksOptions,
  type Decision,
  type Decisions,
  type Granted,
  type JournalRecord,
  maxWaitMs,
  type Turn,
} from "../../money/books.ts";
import type { Captured } from "../../money/contract.ts";
import type { BooksQuestions, LedgerQuestions, ToldDecision, ToldDecisions } from "./contract.ts";
import { type KeepOpenOptions, type KeptOpen, keepOpen } from "./keep-open.ts";
import type { LeftRecords } from "./left-records.ts";

export interface OwnedBooksOptions
  extends Omit<BooksOptions, "clock">,
    Pick<KeepOpenOptions, "keepLock">,
    Pick<Books, "version" | "changedSince" | "mayLease"> {
  readonly link: Link;
  readonly hasJournal: boolean;
  /** sentLog notes calls on this machine before they are sent. */
  readonly sentLog: SentLog;
  /** left keeps what could be told to no owner before the end. */
  readonly left: LeftRecords;
}

/** holdDelayMs is how long a hold is kept back, in milliseconds: a call that ends within this time is told to the owner once. */
const holdDelayMs = 5;
/** closeMs is how long after an owner is gone closing waits for another, in milliseconds. */
const closeMs = 20_000;
/** endMs is how long what is to be written waits for an owner once its process ends, in milliseconds. */
const endMs = 5_000;

export function openOwnedBooks(options: OwnedBooksOptions): Books {
  const { link, recall, version, changedSince, mayLease, onError, sentLog } = options;
  const { ask, tell } = link.by<BooksQuestions>();
  link.answer<Pick<LedgerQuestions, "ledger.recall">>({
    "ledger.recall"(accountIds) {
      const recalled = accountIds.map((id) => recall(id));
      // Each has all records.
      return { records: recalled[0]?.records ?? [], leases: recalled.flatMap(({ leases }) => leases) };
    },
  });
  const kept = keepOpen(options);
  const told = createTold();
  const writer = createWriter(link, kept, told, options.left);
  return {
    version,
    changedSince,
    mayLease,
    holdDelayMs,
    // Both processes may be killed before the owner has read what it is told.
    note: (holds, seq) => sentLog.note(holds, seq, told.last()),
    decide: createDecide(link, kept, told),
    write: writer.write,
    ending: writer.ending,
    // Its owner knows sooner than a read could tell.
    apply: () => false,
    touch: (keyId, at) => tell("books.touch", [keyId, at]),
    // All leases of before are released where the books are opened anew.
    releaseLeases: (ids) =>
      kept.isOpen()
        ? unlessClosed(
            () => ask("books.release", ids),
            () => undefined,
          )
        : undefined,
    async renew() {
      await kept.whenOpen(maxWaitMs);
      await ask("books.renew", null);
    },
    // The owner sees to that.
    expire: () => 0,
    async close() {
      writer.close();
      if (writer.hasLeft() && !kept.isOpen()) return kept.end();
      try {
        await kept.whenOpen(closeMs);
        kept.end();
        await ask("books.close", recall(""));
        sentLog.remove();
      } catch (error) {
        kept.end();
        onError(error);
      }
    },
  };
}

/** unlessClosed runs what asks an owner; where that is gone, `otherwise` goes on. */
function unlessClosed<T>(work: () => MaybePromise<T>, otherwise: () => MaybePromise<T>): MaybePromise<T> {
  return catchError(work, (error) => {
    if (error instanceof ClosedError) return otherwise();
    throw error;
  });
}

/** Told is how far the owner has written what it was told. */
interface Told {
  /** add says that these records are written, and all before them. */
  add(records: readonly JournalRecord[]): void;
  /** last returns the number of the last one. */
  last(): number;
}

function createTold(): Told {
  let last = 0;
  return {
    add(records) {
      last = Math.max(last, records.at(-1)?.seq ?? 0);
    },
    last: () => last,
  };
}

interface Writer extends Required<Pick<Books, "write" | "ending">> {
  /** Reports whether anything was kept that no owner was told of. */
  hasLeft(): boolean;
  close(): void;
}

function createWriter(link: Link, { isOpen, whenOpen }: KeptOpen, told: Told, left: LeftRecords): Writer {
  const { ask } = link.by<BooksQuestions>();
  const waited = Promise.withResolvers<void>();
  let late: NodeJS.Timeout | undefined;
  let isOver = false;
  let hasLeft = false;

  function stopWaiting(): void {
    isOver = true;
    waited.resolve();
  }

  async function writeLater(record: JournalRecord): Promise<void> {
    await Promise.race([whenOpen(), waited.promise]);
    if (isOpen() || !isOver) return write(record);
    left.keep(record);
    hasLeft = true;
  }

  function write(record: JournalRecord): MaybePromise<void> {
    if (!isOpen()) return writeLater(record);
    return unlessClosed(
      () => ask("books.write", record).then(() => told.add([record])),
      () => writeLater(record),
    );
  }

  return {
    write,
    ending() {
      late ??= setTimeout(stopWaiting, endMs);
    },
    hasLeft: () => hasLeft,
    close() {
      clearTimeout(late);
      stopWaiting();
    },
  };
}

function createDecide(link: Link, { isOpen, whenOpen }: KeptOpen, told: Told): Books["decide"] {
  const { ask } = link.by<BooksQuestions>();

  function decideNow(next: () => Turn): MaybePromise<Decisions> {
    const turn = plainTurn(next());
    return unlessClosed(
      () =>
        ask("books.decide", turn).then((decisions) => {
          told.add(turn.records);
          return decisionsOf(decisions);
        }),
      () => decideAgain({ ...turn, records: [], leases: [] }),
    );
  }

  /**
   * decideAgain asks the next owner: what the turn brought of records and leases, that one has had when the books were opened. Where that one
   * is in trouble, nobody knows what the one before has decided: as where there is none.
   */
  async function decideAgain(turn: Turn): Promise<Decisions> {
    await whenOpen(maxWaitMs);
    try {
      return await ask("books.decide", { ...turn, isRepeated: true }).then(decisionsOf);
    } catch (error) {
      if (error instanceof ClosedError) return decideAgain(turn);
      throw mayPass(error) ? new ClosedError() : error;
    }
  }

  return (next) => (isOpen() ? decideNow(next) : whenOpen(maxWaitMs).then(() => decideNow(next)));
}

/** plainTurn returns a turn with what its owner needs of it: leases and requests know more. */
function plainTurn({ records, leases, captures, releases, holds }: Turn): Turn {
  return {
    records,
    leases,
    captures,
    releases,
    holds: holds.map(({ requestId, accountId, keyId, operation, model, max, min, now, lease }) => ({
      ...{ requestId, accountId, keyId, operation, model, max, min, now },
      lease: lease && { id: lease.id, isOfKey: lease.isOfKey },
    })),
  };
}

function decisionsOf({ captures, releases, holds }: ToldDecisions): Decisions {
  return {
    captures: captures.map(decisionOf<Captured | undefined>),
    releases: releases.map(decisionOf<undefined>),
    holds: holds.map(decisionOf<Granted>),
  };
}

/** decisionOf restores a value that was undefined: it arrives as null. */
function decisionOf<T>(told: ToldDecision): Decision<T> {
  if (told[0] === 0) return { kind: "decided", value: (told[1] ?? undefined) as T };
  return { kind: "failed", error: errorOf({ message: told[1], code: told[2] }) };
}
