/**
 * The books of a worker: its owner decides and writes, and is asked over the link between them. What was answered is durable there.
 *
 * While there is no owner a write waits for the next, for as long as that takes: it is of a call that has ended, and counts once, whatever
 * became of it before. Turns wait for some seconds after an owner is gone, and are refused then, as while a database is away.
 */
import { ClosedError, errorOf } from "../../../runtime/ipc/channel.ts";
import type { Link } from "../../../runtime/ipc/link.ts";
import { catchError, type MaybePromise } from "../../../runtime/maybe-promise.ts";
import {
  type Books,
  type BooksOptions,
  type Decision,
  type Decisions,
  type Granted,
  type HoldEntry,
  type JournalRecord,
  maxWaitMs,
  type Turn,
} from "../../money/books.ts";
import type { Captured } from "../../money/contract.ts";
import type { BooksQuestions, LedgerQuestions, NotedHold, ToldDecision, ToldDecisions } from "./contract.ts";
import { type KeptOpen, keepOpen } from "./keep-open.ts";

export interface OwnedBooksOptions
  extends Omit<BooksOptions, "clock">,
    Pick<Books, "version" | "changedSince" | "mayLease"> {
  readonly link: Link;
  readonly hasJournal: boolean;
}

/** A call that ends within this time is told to the owner once, but for a note. */
const holdDelayMs = 5;
/** closeMs is how long after an owner is gone closing waits for another, in milliseconds. */
const closeMs = 20_000;

export function openOwnedBooks(options: OwnedBooksOptions): Books {
  const { link, recall, version, changedSince, mayLease, onError } = options;
  const { ask, tell } = link.by<BooksQuestions>();
  link.answer<Pick<LedgerQuestions, "ledger.recall">>({
    "ledger.recall"(accountIds) {
      const recalled = accountIds.map((id) => recall(id));
      // Each has all records.
      return { records: recalled[0]?.records ?? [], leases: recalled.flatMap(({ leases }) => leases) };
    },
  });
  const kept = keepOpen(options);
  return {
    version,
    changedSince,
    mayLease,
    holdDelayMs,
    // It is with the owner before the calls are sent: the channel writes behind each step of the event loop.
    note: (holds, seq) => tell("books.note", { holds: holds.map(notedOf), seq }),
    decide: createDecide(link, kept),
    write: createWrite(link, kept),
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
      try {
        await kept.whenOpen(closeMs);
        kept.end();
        await ask("books.close", recall(""));
      } catch (error) {
        kept.end();
        onError(error);
      }
    },
  };
}

/** Runs what asks an owner; where that is gone, `otherwise` goes on. */
function unlessClosed<T>(work: () => MaybePromise<T>, otherwise: () => MaybePromise<T>): MaybePromise<T> {
  return catchError(work, (error) => {
    if (error instanceof ClosedError) return otherwise();
    throw error;
  });
}

function createWrite(link: Link, { isOpen, whenOpen }: KeptOpen): Books["write"] {
  const { ask } = link.by<BooksQuestions>();

  async function writeLater(record: JournalRecord): Promise<void> {
    await whenOpen();
    await write(record);
  }

  function write(record: JournalRecord): MaybePromise<void> {
    if (!isOpen()) return writeLater(record);
    return unlessClosed(
      () => ask("books.write", record),
      () => writeLater(record),
    );
  }
  return write;
}

function createDecide(link: Link, { isOpen, whenOpen }: KeptOpen): Books["decide"] {
  const { ask } = link.by<BooksQuestions>();

  function decideNow(next: () => Turn): MaybePromise<Decisions> {
    const turn = plainTurn(next());
    return unlessClosed(
      () => ask("books.decide", turn).then(decisionsOf),
      () => decideAgain({ ...turn, records: [], leases: [] }),
    );
  }

  /** Asks the next owner: what the turn brought of records and leases, that one has had when the books were opened. */
  async function decideAgain(turn: Turn): Promise<Decisions> {
    await whenOpen(maxWaitMs);
    return unlessClosed(
      () => ask("books.decide", { ...turn, isRepeated: true }).then(decisionsOf),
      () => decideAgain(turn),
    );
  }

  return (next) => (isOpen() ? decideNow(next) : whenOpen(maxWaitMs).then(() => decideNow(next)));
}

function notedOf({ requestId, accountId, keyId, operation, model, createdAt }: HoldEntry): NotedHold {
  return { requestId, accountId, keyId, operation, model, createdAt };
}

/** Returns a turn with what its owner needs of it: leases and requests know more. */
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

/** A value that is undefined does not pass: it arrives as null. */
function decisionOf<T>(told: ToldDecision): Decision<T> {
  if (told[0] === 0) return { kind: "decided", value: (told[1] ?? undefined) as T };
  return { kind: "failed", error: errorOf({ message: told[1], code: told[2] }) };
}
